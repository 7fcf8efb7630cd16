package gitrepo

import (
	"context"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// Aside tells which of some commits, and of the first parents that a head leads back to, change
// nothing outside of a folder: elsewhere they have the tree of their first parent, which has all
// that they merge. Beneath is the first commit on the way back from the head that changes more.
type Aside struct {
	Commits map[string]bool
	Beneath Commit
}

// Aside asks the server for the trees of commits down to a folder. The head must have content.
func (r *Reader) Aside(ctx context.Context, src Source, head *Snapshot, commits []Commit, folder string) (found Aside, err error) {
	remote, err := r.remote(src)
	if err != nil {
		return found, err
	}
	if err := remote.lock.acquire(ctx); err != nil {
		return found, err
	}
	defer remote.lock.release()
	q := question{caller: src.Caller, host: src.Host(), timeout: src.timeout()}
	s := asideSearch{head: head.hash, path: strings.Split(folder, "/")}
	for _, commit := range commits {
		s.among = append(s.among, plumbing.NewHash(commit.Name))
	}
	if found, err = remote.aside(ctx, s, q); err != nil {
		return found, src.Auth.explain(err)
	}
	return found, nil
}

// asideSearch says what is looked for.
type asideSearch struct {
	head  plumbing.Hash
	among []plumbing.Hash
	path  []string
}

func (r *remote) aside(ctx context.Context, s asideSearch, q question) (found Aside, err error) {
	for depth := firstDepth; ; depth *= depthFactor {
		if r.tip != s.head {
			return found, newError(Protocol, "the branch has moved from %s to %s while its commits were read", s.head, r.tip)
		}
		whole := false
		err = r.accounted(ctx, q, func(a *account, _ bool) error {
			defer a.close()
			trees, err := r.fetchTrees(ctx, min(depth, r.limits.History), len(s.path), q, a)
			if err != nil {
				return err
			}
			found, whole, err = s.in(trees)
			return err
		})
		switch {
		case err != nil, whole:
			return found, err
		case depth >= r.limits.History:
			return found, newError(LimitExceeded, "the commits lead back more than %d generations", r.limits.History)
		}
	}
}

// fetchTrees returns commits with their trees down to so many folders.
func (r *remote) fetchTrees(ctx context.Context, depth, folders int, q question, a *account) (objects, error) {
	x, err := r.openExchange(ctx, q.timeout)
	if err != nil {
		return nil, err
	}
	defer x.close()
	req := newRequest(x.refs.Capabilities, r.tip, depth)
	filter(req, x.refs.Capabilities, packp.FilterTreeDepth(uint64(folders)))
	nothing := func(plumbing.Hash) *object { return nil }
	return x.pack(ctx, req, &unpacker{limits: r.limits, account: a, base: nothing, withoutFiles: true})
}

// in looks through commits and trees. It is not whole if a commit is missing.
func (s asideSearch) in(all objects) (found Aside, whole bool, err error) {
	graph := history{}
	for name := range all {
		if commit, err := commitOf(all, name); err == nil {
			graph.add(name, commit.ParentHashes)
		}
	}
	seen := asides{all: all, graph: graph, path: s.path, known: map[plumbing.Hash]bool{}}
	found.Commits = map[string]bool{}
	for _, name := range s.among {
		aside, err := seen.is(name)
		if err != nil {
			return found, false, missingOnly(err)
		}
		found.Commits[name.String()] = aside
	}
	at := s.head
	for {
		aside, err := seen.is(at)
		if err != nil {
			return found, false, missingOnly(err)
		}
		if !aside {
			found.Beneath = Commit{at.String(), all[at].data}
			return found, true, nil
		}
		found.Commits[at.String()], at = true, graph[at][0]
	}
}

// maxAsides limits the commits that are looked at. It is more than one check reads.
const maxAsides = 4096

// asides tells commits that are aside from others.
type asides struct {
	all   objects
	graph history
	path  []string
	known map[plumbing.Hash]bool
}

// is reports whether a commit is aside. A merge is only if its first parent has all that the others
// have, records aside: one that leaves something out brings an older version back.
func (a asides) is(name plumbing.Hash) (bool, error) {
	aside, found := a.known[name]
	if found {
		return aside, nil
	}
	if len(a.known) >= maxAsides {
		return false, newError(LimitExceeded, "there are more than %d commits of approvals to read", maxAsides)
	}
	commit, err := commitOf(a.all, name)
	if err != nil || len(commit.ParentHashes) == 0 {
		return false, err
	}
	first := commit.ParentHashes[0]
	before, err := commitOf(a.all, first)
	if err != nil {
		return false, err
	}
	aside, err = sameBeside(a.all, [2]plumbing.Hash{commit.TreeHash, before.TreeHash}, a.path)
	for _, other := range commit.ParentHashes[1:] {
		if err != nil || !aside {
			break
		}
		aside, err = a.has(first, other)
	}
	if err == nil {
		a.known[name] = aside
	}
	return aside, err
}

// has reports whether a commit has another one, records aside.
func (a asides) has(commit, other plumbing.Hash) (bool, error) {
	aside, err := a.is(other)
	for aside && err == nil {
		other = a.graph[other][0]
		aside, err = a.is(other)
	}
	related := a.graph.relate(commit, other)
	if err == nil && related == unknown {
		err = errMissing
	}
	return related == descends, err
}

// errMissing says that an object is deeper than was asked for.
var errMissing = newError(Protocol, "an object is missing")

// missingOnly returns nil for an object that is missing.
func missingOnly(err error) error {
	if err == error(errMissing) { //nolint:errorlint // it is never wrapped
		return nil
	}
	return err
}

// commitOf returns one of the commits.
func commitOf(all objects, name plumbing.Hash) (*gitobject.Commit, error) {
	o := all[name]
	if o == nil || o.kind != plumbing.CommitObject || o.data == nil {
		return nil, errMissing
	}
	commit, err := decodeCommit(o)
	if err != nil {
		return nil, newError(Protocol, "read commit %s: %s", name, clean(err.Error()))
	}
	return commit, nil
}

// sameBeside reports whether two trees have the same beside a path, at which each may have a folder
// or nothing.
func sameBeside(all objects, trees [2]plumbing.Hash, path []string) (bool, error) {
	if trees[0] == trees[1] {
		return true, nil
	}
	var others [2][]gitobject.TreeEntry
	var below [2]plumbing.Hash
	for i, tree := range trees {
		entries, err := entriesOf(all, tree)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			switch {
			case e.Name != path[0]:
				others[i] = append(others[i], e)
			case e.Mode != filemode.Dir || below[i] != plumbing.ZeroHash || e.Hash == plumbing.ZeroHash:
				return false, nil
			default:
				below[i] = e.Hash
			}
		}
	}
	if !slices.Equal(others[0], others[1]) {
		return false, nil
	}
	if len(path) == 1 || below[0] == below[1] {
		return true, nil
	}
	return sameBeside(all, below, path[1:])
}

// entriesOf returns the entries of a tree; none of the zero hash.
func entriesOf(all objects, tree plumbing.Hash) ([]gitobject.TreeEntry, error) {
	if tree == plumbing.ZeroHash {
		return nil, nil
	}
	o := all[tree]
	if o == nil || o.kind != plumbing.TreeObject || o.data == nil {
		return nil, errMissing
	}
	var decoded gitobject.Tree
	if err := decoded.Decode(encoded(o)); err != nil {
		return nil, newError(Protocol, "read tree %s: %s", tree, clean(err.Error()))
	}
	return decoded.Entries, nil
}
