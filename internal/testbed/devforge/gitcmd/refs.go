package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// ErrMoved says that a ref was no longer where the caller had seen it.
var ErrMoved = errors.New("ref has moved")

// Refs returns the object names of all branches and tags, by full ref. While git moves a ref,
// go-git may find its empty lock beside it, and fail: then git lists the refs.
func (r *Repository) Refs(ctx context.Context) (map[string]string, error) {
	refs := map[string]string{}
	stored, err := r.stored().IterReferences()
	if err == nil {
		err = stored.ForEach(func(ref *plumbing.Reference) error {
			name := ref.Name()
			if (name.IsBranch() || name.IsTag()) && ref.Type() == plumbing.HashReference && !strings.HasSuffix(name.String(), ".lock") {
				refs[name.String()] = ref.Hash().String()
			}
			return nil
		})
	}
	if err == nil {
		return refs, nil
	}
	out, err := r.git(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags")
	if err != nil {
		return nil, fmt.Errorf("list refs: %w", err)
	}
	refs = map[string]string{}
	for line := range strings.Lines(out) {
		if sha, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			refs[ref] = sha
		}
	}
	return refs, nil
}

// ValidRef reports whether Git takes the name for a full ref.
func (r *Repository) ValidRef(ctx context.Context, ref string) bool {
	if strings.HasPrefix(ref, "-") {
		return false
	}
	_, err := r.git(ctx, "check-ref-format", ref)
	return err == nil
}

// UpdateRef moves a ref from old to sha. Zero as old makes it, Zero as sha deletes it.
func (r *Repository) UpdateRef(ctx context.Context, ref, sha, old string) error {
	args := []string{"update-ref", ref, sha, old}
	if sha == Zero {
		args = []string{"update-ref", "-d", ref, old}
	}
	if _, err := r.git(ctx, args...); err != nil {
		return fmt.Errorf("update %s: %w: %w", ref, ErrMoved, err)
	}
	return nil
}

// SetRef points a ref at a commit, wherever it was.
func (r *Repository) SetRef(ctx context.Context, ref, sha string) error {
	if _, err := r.git(ctx, "update-ref", ref, sha); err != nil {
		return fmt.Errorf("set %s: %w", ref, err)
	}
	return nil
}

// DefaultBranch returns the branch that HEAD names.
func (r *Repository) DefaultBranch() (string, error) {
	head, err := r.stored().Reference(plumbing.HEAD)
	if err != nil {
		return "", fmt.Errorf("read default branch: %w", err)
	}
	return head.Target().Short(), nil
}

// IsAncestor reports whether a commit is another's ancestor, or the other itself. Both are given by
// their object names.
func (r *Repository) IsAncestor(ancestor, descendant string) bool {
	stored := r.stored()
	older, err := object.GetCommit(stored, plumbing.NewHash(ancestor))
	if err != nil {
		return false
	}
	newer, err := object.GetCommit(stored, plumbing.NewHash(descendant))
	if err != nil {
		return false
	}
	found, err := older.IsAncestor(newer)
	return err == nil && found
}

// MergeBase returns the best common ancestor of two commits, given by their object names.
func (r *Repository) MergeBase(ctx context.Context, a, b string) (string, error) {
	switch {
	case r.IsAncestor(a, b):
		return a, nil
	case r.IsAncestor(b, a):
		return b, nil
	}
	sha, err := r.outputOf(ctx, []string{"merge-base"}, a, b)
	if err != nil {
		return "", fmt.Errorf("merge base of %s and %s: %w", a, b, errors.Join(ErrNotFound, ctx.Err()))
	}
	return strings.TrimSpace(sha), nil
}

// BranchesContaining returns the branches that hold the commit.
func (r *Repository) BranchesContaining(ctx context.Context, sha string) ([]string, error) {
	out, err := r.git(ctx, "for-each-ref", "--contains="+sha, "--format=%(refname:lstrip=2)", "refs/heads")
	if err != nil {
		return nil, fmt.Errorf("branches of %s: %w", sha, err)
	}
	return strings.Fields(out), nil
}
