package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// ErrNotFound says that a revision, a path or an object is not there.
var ErrNotFound = errors.New("not found")

// Zero is the object name that stands for "no object" where a ref comes or goes.
const Zero = "0000000000000000000000000000000000000000"

// Repository is one bare repository.
type Repository struct {
	dir    string
	runner *Runner
	memo   memo
}

// Open returns the repository in a folder. Nothing is read yet.
func Open(runner *Runner, dir string) *Repository { return &Repository{dir: dir, runner: runner} }

// stored opens the repository anew, since go-git lists the packs of a storage once. Only git moves
// refs: it and go-git don't respect each other's locks.
func (r *Repository) stored() *filesystem.Storage {
	return filesystem.NewStorage(osfs.New(r.dir), cache.NewObjectLRUDefault())
}

// Dir returns the folder of the repository.
func (r *Repository) Dir() string { return r.dir }

// call is one git command on the repository whose output is a value.
type call struct {
	args  []string
	env   []string
	stdin io.Reader
}

func (r *Repository) output(ctx context.Context, c call) (string, error) {
	var stdout bytes.Buffer
	err := r.runner.Run(ctx, Invocation{
		Args:   c.args,
		Env:    append([]string{"GIT_DIR=" + r.dir}, c.env...),
		Stdin:  c.stdin,
		Stdout: &stdout,
	})
	return stdout.String(), err
}

func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	out, err := r.output(ctx, call{args: args})
	return strings.TrimSpace(out), err
}

// revision is a branch, a tag, a full ref or an object name: no option, no range, no operator.
var revision = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./+@=-]*$`)

// Resolve returns the commit that a branch, a tag, a full ref or an object name stands for.
// A branch comes before a tag of the same name.
func (r *Repository) Resolve(ctx context.Context, rev string) (string, error) {
	if !revision.MatchString(rev) || strings.Contains(rev, "..") || strings.Contains(rev, "@{") {
		return "", fmt.Errorf("resolve %q: %w", rev, ErrNotFound)
	}
	if kind, err := r.TypeOf(rev); err == nil && kind == "commit" { // no branch is named like that
		return rev, nil
	}
	for _, prefix := range []string{"refs/heads/", ""} {
		if ref, err := r.stored().Reference(plumbing.ReferenceName(prefix + rev)); err == nil && strings.HasPrefix(prefix+rev, "refs/") {
			if kind, err := r.TypeOf(ref.Hash().String()); err == nil && kind == "commit" {
				return ref.Hash().String(), nil
			}
		}
		if sha, err := r.git(ctx, "rev-parse", "--verify", "--quiet", prefix+rev+"^{commit}"); err == nil {
			return sha, nil
		}
	}
	return "", fmt.Errorf("resolve %q: %w", rev, errors.Join(ErrNotFound, ctx.Err()))
}

var objectName = regexp.MustCompile(`^[0-9a-f]{40}$`)

// TypeOf returns what kind of object a full object name stands for: commit, tree, blob or tag.
func (r *Repository) TypeOf(sha string) (string, error) {
	if !objectName.MatchString(sha) {
		return "", fmt.Errorf("object %q: %w", sha, ErrNotFound)
	}
	found, err := r.stored().EncodedObject(plumbing.AnyObject, plumbing.NewHash(sha))
	if err != nil {
		return "", fmt.Errorf("object %s: %w: %w", sha, ErrNotFound, err)
	}
	return found.Type().String(), nil
}
