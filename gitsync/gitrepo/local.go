package gitrepo

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
)

// Local is a repository on this machine, to read commits of. It is for one caller at a time.
type Local struct {
	// Root is the folder of its work tree.
	Root string

	repository *git.Repository
	limits     Limits
	// objects that were read before: commits share most of them.
	objects objects
}

// OpenLocal opens the repository that a folder belongs to. Of the limits those on files hold.
func OpenLocal(folder string, limits Limits) (*Local, error) {
	repository, err := git.PlainOpenWithOptions(folder, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	switch {
	case errors.Is(err, git.ErrRepositoryNotExists):
		return nil, newError(RepositoryNotFound, "there is no Git repository at %s or above it", folder)
	case err != nil:
		return nil, newError(Invalid, "open the Git repository at %s: %s", folder, clean(err.Error()))
	}
	tree, err := repository.Worktree()
	if err != nil {
		return nil, newError(Invalid, "the Git repository at %s has no work tree: %s", folder, clean(err.Error()))
	}
	limits = Options{Limits: limits}.withDefaults().Limits
	return &Local{Root: tree.Filesystem.Root(), repository: repository, limits: limits, objects: objects{}}, nil
}

// At reads the commit that a revision names, as git rev-parse knows them: HEAD~1, a branch, a tag, the first digits of
// a commit.
func (l *Local) At(revision string) (*Snapshot, error) {
	hash, err := l.resolve(revision)
	if err != nil {
		return nil, err
	}
	return l.snapshot(hash)
}

// MergeBase reads the newest commit that two revisions have both come from.
func (l *Local) MergeBase(one, other string) (*Snapshot, error) {
	var commits [2]*gitobject.Commit
	for i, revision := range []string{one, other} {
		hash, err := l.resolve(revision)
		if err != nil {
			return nil, err
		}
		if commits[i], err = l.repository.CommitObject(hash); err != nil {
			return nil, l.missing("commit "+hash.String(), err)
		}
	}
	bases, err := commits[0].MergeBase(commits[1])
	switch {
	case err != nil:
		return nil, l.missing(fmt.Sprintf("the way back from %s and %s", one, other), err)
	case len(bases) == 0 && l.isShallow():
		return nil, l.missing(fmt.Sprintf("what %s and %s have both come from", one, other), plumbing.ErrObjectNotFound)
	case len(bases) == 0:
		return nil, newError(Invalid, "%s and %s have no commit in common", one, other)
	}
	return l.snapshot(bases[0].Hash)
}

// IsFirst reports whether a commit has no parent.
func (s *Snapshot) IsFirst() bool { return len(s.parents) == 0 }

// Parent reads the first parent of a commit; nil if it has none, or, in a shallow clone, if it is not there.
func (l *Local) Parent(of *Snapshot) (*Snapshot, error) {
	if len(of.parents) == 0 || !l.has(of.parents[0]) {
		return nil, nil
	}
	return l.snapshot(of.parents[0])
}

func (l *Local) has(hash plumbing.Hash) bool {
	return l.repository.Storer.HasEncodedObject(hash) == nil
}

func (l *Local) resolve(revision string) (plumbing.Hash, error) {
	hash, err := l.repository.ResolveRevision(plumbing.Revision(revision))
	switch {
	case errors.Is(err, plumbing.ErrObjectNotFound), errors.Is(err, io.EOF), errors.Is(err, gitobject.ErrParentNotFound):
		return plumbing.ZeroHash, l.missing("revision "+revision, plumbing.ErrObjectNotFound)
	case err != nil && l.isShallow():
		return plumbing.ZeroHash, l.missing("revision "+revision, plumbing.ErrObjectNotFound)
	case err != nil:
		return plumbing.ZeroHash, newError(BranchNotFound, "there is no revision %s: %s", revision, clean(err.Error()))
	}
	return *hash, nil
}

func (l *Local) isShallow() bool {
	commits, err := l.repository.Storer.Shallow()
	return err == nil && len(commits) > 0
}

// missing says what is not in the repository, and how it comes there.
func (l *Local) missing(what string, err error) error {
	switch {
	case !errors.Is(err, plumbing.ErrObjectNotFound):
		return newError(Protocol, "read %s: %s", what, clean(err.Error()))
	case l.isShallow():
		return newError(Invalid, "%s is not in this shallow clone: fetch more of it (git fetch --unshallow, or fetch-depth: 0 of actions/checkout)", what)
	}
	return newError(Invalid, "%s is not in this clone", what)
}

// snapshot reads all files of a commit, except those that are too large.
func (l *Local) snapshot(hash plumbing.Hash) (*Snapshot, error) {
	commit, err := l.load(hash, plumbing.CommitObject)
	if err != nil {
		return nil, err
	}
	decoded, err := decodeCommit(commit)
	if err != nil {
		return nil, newError(Protocol, "read commit %s: %s", hash, clean(err.Error()))
	}
	if err := l.loadTree(decoded.TreeHash); err != nil {
		return nil, err
	}
	return (&assembler{fresh: l.objects, partial: true, limits: l.limits}).snapshot(hash)
}

// loadTree loads a tree and all below it that was not loaded before.
func (l *Local) loadTree(hash plumbing.Hash) error {
	if l.objects[hash] != nil {
		return nil
	}
	tree, err := l.load(hash, plumbing.TreeObject)
	if err != nil {
		return err
	}
	entries, err := decodeTree(tree)
	if err != nil {
		return newError(Protocol, "read tree %s: %s", hash, clean(err.Error()))
	}
	for _, entry := range entries {
		switch entry.mode {
		case filemode.Submodule:
		case filemode.Dir:
			err = l.loadTree(entry.hash)
		default:
			_, err = l.load(entry.hash, plumbing.BlobObject)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// load loads one object, unless it was loaded before or is a file that is too large.
func (l *Local) load(hash plumbing.Hash, kind plumbing.ObjectType) (*object, error) {
	if known := l.objects[hash]; known != nil {
		return known, nil
	}
	what := fmt.Sprintf("%s %s", kind, hash)
	size, err := l.repository.Storer.EncodedObjectSize(hash)
	if err != nil {
		return nil, l.missing(what, err)
	}
	if limit := cmp.Or(map[plumbing.ObjectType]int64{plumbing.BlobObject: l.limits.FileBytes}[kind], treeBytes); size > limit {
		if kind == plumbing.BlobObject {
			return nil, nil
		}
		return nil, newError(LimitExceeded, "%s is larger than the limit of %s", what, bytesText(limit))
	}
	data, err := l.content(hash, kind)
	if err != nil {
		return nil, l.missing(what, err)
	}
	loaded := &object{kind: kind, size: size, data: data}
	l.objects[hash] = loaded
	return loaded, nil
}

func (l *Local) content(hash plumbing.Hash, kind plumbing.ObjectType) ([]byte, error) {
	encoded, err := l.repository.Storer.EncodedObject(kind, hash)
	if err != nil {
		return nil, err
	}
	reader, err := encoded.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return io.ReadAll(reader)
}
