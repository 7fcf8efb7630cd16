package gitrepo

import (
	"context"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// Commit is a commit object as the server has it.
type Commit struct {
	// Name is its object name.
	Name string
	Raw  []byte
}

// Object returns the commit object of the snapshot; without Raw if the snapshot has no content.
func (s *Snapshot) Object() Commit {
	if o := s.objects[s.hash]; o != nil {
		return Commit{s.Commit, o.data}
	}
	return Commit{Name: s.Commit}
}

// maxCommitBytes limits the commits that Commits returns.
const maxCommitBytes = 4 << 20

// Commits returns the commits that a head has and that no commit in known has: the head first, then
// back on all sides of merges. The head must have content. If there are more than most of them, or
// they lead back further than Limits.History, the error is of kind LimitExceeded.
func (r *Reader) Commits(ctx context.Context, src Source, head *Snapshot, known []string, most int) ([]Commit, error) {
	remote, err := r.remote(src)
	if err != nil {
		return nil, err
	}
	if err := remote.lock.acquire(ctx); err != nil {
		return nil, err
	}
	defer remote.lock.release()
	from := make([]plumbing.Hash, 0, len(known))
	for _, name := range known {
		from = append(from, plumbing.NewHash(name))
	}
	q := question{caller: src.Caller, host: src.Host(), timeout: src.timeout()}
	commits, err := remote.commits(ctx, head, from, most, q)
	if err != nil {
		return nil, src.Auth.explain(err)
	}
	return commits, nil
}

func (r *remote) commits(ctx context.Context, head *Snapshot, known []plumbing.Hash, most int, q question) ([]Commit, error) {
	defer r.history.trim(r.tip)
	r.history.add(head.hash, head.parents)
	raw := map[plumbing.Hash][]byte{head.hash: head.Object().Raw}
	for depth := firstDepth; ; depth *= depthFactor {
		names, whole := r.history.since(head.hash, known)
		if whole && len(names) <= most {
			if commits := collect(names, raw); commits != nil {
				return commits, nil
			}
		}
		if whole && len(names) > most || depth/depthFactor >= r.limits.History {
			return nil, newError(LimitExceeded, "there are more than %d commits to read, or they lead back more than %d generations", most, r.limits.History)
		}
		if r.tip != head.hash {
			return nil, newError(Protocol, "the branch has moved from %s to %s while its commits were read", head.hash, r.tip)
		}
		keep := func(fetched objects) error { return r.keepSince(fetched, head.hash, known, raw) }
		if err := r.deepen(ctx, min(depth, r.limits.History), q, keep); err != nil {
			return nil, err
		}
	}
}

// keepSince keeps the raw commits among what was fetched that known lacks.
func (r *remote) keepSince(fetched objects, head plumbing.Hash, known []plumbing.Hash, raw map[plumbing.Hash][]byte) error {
	size := 0
	names, _ := r.history.since(head, known)
	for _, name := range names {
		if o := fetched[name]; o != nil {
			raw[name] = o.data
		}
		if size += len(raw[name]); size > maxCommitBytes {
			return newError(LimitExceeded, "the commits to read have more than %s", bytesText(maxCommitBytes))
		}
	}
	return nil
}

// collect returns commits by their names; nil if one is missing.
func collect(names []plumbing.Hash, raw map[plumbing.Hash][]byte) []Commit {
	commits := make([]Commit, 0, len(names))
	for _, name := range names {
		if raw[name] == nil {
			return nil
		}
		commits = append(commits, Commit{name.String(), raw[name]})
	}
	return commits
}

// since returns the commits that a head has and no commit in known has. It is whole if what is not
// seen of the history can't change that.
func (h history) since(head plumbing.Hash, known []plumbing.Hash) (names []plumbing.Hash, whole bool) {
	older := map[plumbing.Hash]bool{}
	for _, commit := range known {
		maps.Copy(older, h.ancestors(commit))
	}
	whole = true
	seen, children := map[plumbing.Hash]bool{}, map[plumbing.Hash][]plumbing.Hash{}
	for ways := []plumbing.Hash{head}; len(ways) > 0; {
		at := ways[0]
		ways = ways[1:]
		if seen[at] || older[at] || slices.Contains(known, at) {
			continue
		}
		seen[at] = true
		names = append(names, at)
		parents, found := h[at]
		whole = whole && found
		ways = append(ways, parents...)
		for _, parent := range parents {
			children[parent] = append(children[parent], at)
		}
	}
	for _, commit := range known {
		whole = whole && (len(children[commit]) == 0 || h.closed(commit) || descendants(children, commit) == len(names))
	}
	return names, whole
}

// closed reports whether all ancestors of a commit are known.
func (h history) closed(commit plumbing.Hash) bool {
	if _, found := h[commit]; !found {
		return false
	}
	for older := range h.ancestors(commit) {
		if _, found := h[older]; !found {
			return false
		}
	}
	return true
}

// descendants counts the commits that descend from one.
func descendants(children map[plumbing.Hash][]plumbing.Hash, commit plumbing.Hash) int {
	found := map[plumbing.Hash]bool{}
	for ways := slices.Clone(children[commit]); len(ways) > 0; {
		at := ways[len(ways)-1]
		ways = ways[:len(ways)-1]
		if !found[at] {
			found[at] = true
			ways = append(ways, children[at]...)
		}
	}
	return len(found)
}
