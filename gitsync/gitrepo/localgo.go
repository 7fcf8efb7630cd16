package gitrepo

import (
	"context"
	"errors"
	"io"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
)

// either reads with go-git, which runs nothing, and by the git command what go-git can't read:
// worktreeConfig and other extensions, alternates, object names of SHA-256, reftable.
type either struct {
	ctx  context.Context //nolint:containedctx // git runs no longer than it
	root string
	// environ is the environment of this process.
	environ []string
	// first is nil where go-git can't open the repository, for the reason refused.
	first   store
	refused error
	// second is nil until git is needed.
	second *command
}

func newEither(ctx context.Context, root string, environ []string) *either {
	e := &either{ctx: ctx, root: root, environ: environ}
	repository, err := git.PlainOpenWithOptions(root, &git.PlainOpenOptions{EnableDotGitCommonDir: true})
	if e.refused = err; err == nil {
		e.first = library{repository}
	}
	return e
}

// try asks go-git, and the git command if that fails. The answer of git counts then; without git,
// the answer of go-git.
func try[T any](e *either, ask func(store) (T, error)) (T, error) {
	var answer T
	err := e.refused
	if e.first != nil {
		if answer, err = ask(e.first); err == nil {
			return answer, nil
		}
	}
	if e.second == nil {
		started, unfit := newCommand(e.ctx, e.root, e.environ)
		if unfit != nil {
			return answer, errors.Join(err, unfit)
		}
		e.second = started
	}
	return ask(e.second)
}

func (e *either) resolve(revision string) (plumbing.Hash, error) {
	return try(e, func(s store) (plumbing.Hash, error) { return s.resolve(revision) })
}

func (e *either) mergeBase(one, other plumbing.Hash) (plumbing.Hash, error) {
	return try(e, func(s store) (plumbing.Hash, error) { return s.mergeBase(one, other) })
}

func (e *either) read(hash plumbing.Hash, kind plumbing.ObjectType, limit int64) (*object, error) {
	return try(e, func(s store) (*object, error) { return s.read(hash, kind, limit) })
}

func (e *either) extent() extent {
	if e.second != nil {
		return e.second.extent()
	}
	if e.first != nil {
		return e.first.extent()
	}
	return whole
}

// library is go-git.
type library struct{ *git.Repository }

func (l library) resolve(revision string) (plumbing.Hash, error) {
	hash, err := l.ResolveRevision(plumbing.Revision(revision))
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, gitobject.ErrParentNotFound):
		return plumbing.ZeroHash, plumbing.ErrObjectNotFound
	case err != nil:
		return plumbing.ZeroHash, err
	}
	return *hash, nil
}

func (l library) mergeBase(one, other plumbing.Hash) (plumbing.Hash, error) {
	var commits [2]*gitobject.Commit
	for i, hash := range []plumbing.Hash{one, other} {
		var err error
		if commits[i], err = l.CommitObject(hash); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	bases, err := commits[0].MergeBase(commits[1])
	if err != nil || len(bases) == 0 {
		return plumbing.ZeroHash, err
	}
	return bases[0].Hash, nil
}

func (l library) extent() extent {
	if commits, err := l.Storer.Shallow(); err == nil && len(commits) > 0 {
		return shallow
	}
	return whole
}

func (l library) read(hash plumbing.Hash, kind plumbing.ObjectType, limit int64) (*object, error) {
	size, err := l.Storer.EncodedObjectSize(hash)
	if err != nil || size > limit {
		return &object{kind: kind, size: size}, err
	}
	encoded, err := l.Storer.EncodedObject(kind, hash)
	if err != nil {
		return nil, err
	}
	reader, err := encoded.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	data, err := io.ReadAll(reader)
	return &object{kind: kind, size: size, data: data}, err
}
