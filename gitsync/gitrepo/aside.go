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
// nothing outside of a folder: elsewhere they have the tree of their first parent. Beneath is the
// first commit on the way back from the head that changes more.
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
	found.Commits = map[string]bool{}
	is := func(name plumbing.Hash) (bool, plumbing.Hash, error) {
		first, tree, err := parentAndTree(all, name)
		if err != nil || first == plumbing.ZeroHash {
			return false, first, err
		}
		_, before, err := parentAndTree(all, first)
		if err != nil {
			return false, first, err
		}
		same, err := sameBeside(all, [2]plumbing.Hash{tree, before}, s.path)
		return same, first, err
	}
	for _, name := range s.among {
		same, _, err := is(name)
		if err != nil {
			return found, false, missingOnly(err)
		}
		found.Commits[name.String()] = same
	}
	for at := s.head; ; {
		same, first, err := is(at)
		if err != nil {
			return found, false, missingOnly(err)
		}
		if !same {
			found.Beneath = Commit{at.String(), all[at].data}
			return found, true, nil
		}
		found.Commits[at.String()], at = true, first
	}
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

// parentAndTree returns the first parent of a commit, zero for none, and its tree.
func parentAndTree(all objects, name plumbing.Hash) (first, tree plumbing.Hash, err error) {
	o := all[name]
	if o == nil || o.kind != plumbing.CommitObject || o.data == nil {
		return first, tree, errMissing
	}
	commit, err := decodeCommit(o)
	if err != nil {
		return first, tree, newError(Protocol, "read commit %s: %s", name, clean(err.Error()))
	}
	if len(commit.ParentHashes) > 0 {
		first = commit.ParentHashes[0]
	}
	return first, commit.TreeHash, nil
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
			case e.Mode != filemode.Dir || below[i] != plumbing.ZeroHash:
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
