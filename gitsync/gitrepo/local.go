package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// Local is a repository on this machine, to read commits of. It is for one caller at a time.
type Local struct {
	store  store
	limits Limits
	// objects that were read before: commits share most of them. They have so many bytes.
	objects objects
	bytes   int64
}

// store reads the objects of a repository. Names of objects that are longer than a Hash are cut to
// its length.
type store interface {
	// resolve returns the commit that a revision names.
	resolve(revision string) (plumbing.Hash, error)
	// mergeBase returns the newest commit that both commits come from, the zero hash if there is none.
	mergeBase(one, other plumbing.Hash) (plumbing.Hash, error)
	// read returns an object; without its data where that is larger than the limit.
	read(hash plumbing.Hash, kind plumbing.ObjectType, limit int64) (*object, error)
	// extent says how much of the history and of the files a clone has.
	extent() extent
}

// extent tells whole clones from shallow and partial ones.
type extent int

const (
	whole extent = iota
	// shallow clones lack old commits.
	shallow
	// partial clones lack files that were never checked out.
	partial
)

// OpenLocal opens the repository that a folder belongs to. Of the limits those on files hold. The
// repository is read without running anything, unless it is of a kind that only the git command
// reads: then git runs until ctx ends, with what it may have of environ.
func OpenLocal(ctx context.Context, folder string, environ []string, limits Limits) (*Local, error) {
	root, err := rootOf(folder)
	if err != nil {
		return nil, err
	}
	limits = Options{Limits: limits}.withDefaults().Limits
	return &Local{store: newEither(ctx, root, environ), limits: limits, objects: objects{}}, nil
}

// rootOf finds the nearest folder, this one or one above, that has .git. Without any, the folder
// itself may be a bare repository.
func rootOf(folder string) (string, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return "", newError(Invalid, "find the folder %s: %v", folder, err)
	}
	for at := absolute; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, nil
		}
		if filepath.Dir(at) != at {
			continue
		}
		if isBare(absolute) {
			return absolute, nil
		}
		return "", newError(RepositoryNotFound, "there is no Git repository at %s or above it", folder)
	}
}

// isBare reports whether a folder is a repository without a work tree, by what git goes by.
func isBare(folder string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return false
		}
	}
	return true
}

// At reads the commit that a revision names, as git rev-parse knows them: HEAD~1, a branch, a tag,
// the first digits of a commit. Each file is read when the caller opens it.
func (l *Local) At(revision string) (*Snapshot, error) {
	hash, err := l.resolve(revision)
	if err != nil {
		return nil, err
	}
	return l.snapshot(hash)
}

// MergeBase reads the newest commit that two revisions have both come from.
func (l *Local) MergeBase(one, other string) (*Snapshot, error) {
	var commits [2]plumbing.Hash
	for i, revision := range []string{one, other} {
		var err error
		if commits[i], err = l.resolve(revision); err != nil {
			return nil, err
		}
	}
	base, err := l.store.mergeBase(commits[0], commits[1])
	switch {
	case err != nil:
		return nil, l.missing(fmt.Sprintf("the way back from %s and %s", one, other), err)
	case base.IsZero() && l.store.extent() == shallow:
		return nil, l.missing(fmt.Sprintf("what %s and %s have both come from", one, other), plumbing.ErrObjectNotFound)
	case base.IsZero():
		return nil, newError(Invalid, "%s and %s have no commit in common", one, other)
	}
	return l.snapshot(base)
}

// IsFirst reports whether a commit has no parent.
func (s *Snapshot) IsFirst() bool { return len(s.parents) == 0 }

// Parent reads the first parent of a commit; nil if it has none, or, in a shallow clone, if it is
// not there.
func (l *Local) Parent(of *Snapshot) (*Snapshot, error) {
	if len(of.parents) == 0 {
		return nil, nil
	}
	if _, err := l.load(of.parents[0], plumbing.CommitObject); err != nil {
		return nil, nil //nolint:nilerr // it is not there
	}
	return l.snapshot(of.parents[0])
}

func (l *Local) resolve(revision string) (plumbing.Hash, error) {
	hash, err := l.store.resolve(revision)
	switch {
	case errors.Is(err, plumbing.ErrObjectNotFound), err != nil && l.store.extent() == shallow:
		return plumbing.ZeroHash, l.missing("revision "+revision, plumbing.ErrObjectNotFound)
	case err != nil:
		return plumbing.ZeroHash, newError(BranchNotFound, "there is no revision %s: %s", revision, clean(err.Error()))
	}
	return hash, nil
}

// missing says what is not in the repository, and how it comes there.
func (l *Local) missing(what string, err error) error {
	extent := l.store.extent()
	switch {
	case !errors.Is(err, plumbing.ErrObjectNotFound):
		return newError(Protocol, "read %s: %s", what, clean(err.Error()))
	case extent == shallow:
		return newError(Invalid, "%s is not in this shallow clone: fetch more of it (git fetch --unshallow, or fetch-depth: 0 of actions/checkout)", what)
	case extent == partial:
		return newError(Invalid, "%s is not in this partial clone: fetch all files (git fetch --refetch --no-filter), or clone without --filter", what)
	}
	return newError(Invalid, "%s is not in this clone", what)
}

// snapshot reads the folders of a commit. Its files are read later.
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
	made, err := (&assembler{fresh: l.objects, absent: deferred, limits: l.limits}).snapshot(hash)
	if err != nil {
		return nil, err
	}
	made.later = &later{get: l.file}
	return made, nil
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
		if entry.mode != filemode.Dir {
			continue
		}
		if err := l.loadTree(entry.hash); err != nil {
			return err
		}
	}
	return nil
}

// load loads a commit or a tree, unless it was loaded before.
func (l *Local) load(hash plumbing.Hash, kind plumbing.ObjectType) (*object, error) {
	if known := l.objects[hash]; known != nil {
		return known, nil
	}
	what := fmt.Sprintf("%s %s", kind, hash)
	loaded, err := l.store.read(hash, kind, treeBytes)
	switch {
	case err != nil:
		return nil, l.missing(what, err)
	case loaded.data == nil:
		return nil, newError(LimitExceeded, "%s is larger than the limit of %s", what, bytesText(treeBytes))
	}
	return loaded, l.keep(hash, loaded)
}

// file reads a file, unless it was read before.
func (l *Local) file(name string, hash plumbing.Hash) (*object, error) {
	if known := l.objects[hash]; known != nil {
		return known, nil
	}
	read, err := l.store.read(hash, plumbing.BlobObject, l.limits.FileBytes)
	if err != nil {
		return nil, l.missing("file "+name, err)
	}
	return read, l.keep(hash, read)
}

// keep keeps an object that was read, within the limit on all.
func (l *Local) keep(hash plumbing.Hash, o *object) error {
	if l.bytes += int64(len(o.data)) + objectBytes; l.bytes > l.limits.InflatedBytes {
		return newError(LimitExceeded, "more than %s of the repository were read", bytesText(l.limits.InflatedBytes))
	}
	l.objects[hash] = o
	return nil
}
