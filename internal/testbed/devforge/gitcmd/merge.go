package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// ErrConflict says that two changes can't be merged without a person.
var ErrConflict = errors.New("merge conflict")

// MergeTrees stores the tree that a merge of two commits has.
func (r *Repository) MergeTrees(ctx context.Context, ours, theirs string) (string, error) {
	out, err := r.git(ctx, "merge-tree", "--write-tree", "--no-messages", ours, theirs)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
		return "", fmt.Errorf("merge %s into %s: %w", theirs, ours, ErrConflict)
	}
	if err != nil {
		// Histories that have nothing in common can't be merged either.
		if _, unrelated := r.MergeBase(ctx, ours, theirs); unrelated != nil {
			return "", fmt.Errorf("merge %s into %s: %w: %w", theirs, ours, ErrConflict, unrelated)
		}
		return "", fmt.Errorf("merge %s into %s: %w", theirs, ours, err)
	}
	return strings.TrimSpace(out), nil
}

// Rebase replays the commits that head has and onto has not, on top of onto, with the committer
// given. Merge commits are left out, as git rebase leaves them out. It gives the new tip.
func (r *Repository) Rebase(ctx context.Context, onto, head string, committer Signature) (string, error) {
	commits, err := r.Log(ctx, "--no-merges", "--topo-order", onto+".."+head)
	if err != nil {
		return "", err
	}
	slices.Reverse(commits)
	tip := onto
	for _, commit := range commits {
		if tip, err = r.pick(ctx, tip, commit, committer); err != nil {
			return "", err
		}
	}
	return tip, nil
}

// pick puts one commit's change on top of another commit.
func (r *Repository) pick(ctx context.Context, onto string, commit Commit, committer Signature) (string, error) {
	ours, err := r.Commit(onto)
	if err != nil {
		return "", err
	}
	if len(commit.Parents) == 0 {
		return "", fmt.Errorf("replay root commit %s: %w", commit.SHA, ErrConflict)
	}
	// A stand-in for onto whose only parent is the commit's makes that parent the merge base,
	// which is what a cherry-pick merges over. It is never referred to again.
	standIn, err := r.Write(ctx, Commit{
		Tree: ours.Tree, Parents: commit.Parents[:1], Author: committer, Committer: committer, Message: "merge base",
	})
	if err != nil {
		return "", err
	}
	tree, err := r.MergeTrees(ctx, standIn, commit.SHA)
	if err != nil {
		return "", err
	}
	return r.Write(ctx, Commit{
		Tree: tree, Parents: []string{onto}, Author: commit.Author, Committer: committer, Message: commit.Message,
	})
}
