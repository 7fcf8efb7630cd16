package github

import (
	"context"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// CloseApproval says why in a comment and closes the pull request of a branch. One that is closed
// or merged, or whose number is that of another branch, is left as it is.
func (c *Client) CloseApproval(ctx context.Context, number int, branch, comment string) error {
	known, err := c.pull(ctx, number)
	if err != nil || known.State != forge.PullOpen || known.Head.Ref != branch {
		return err
	}
	// The comment comes first: after a crash in between, the pull request that is still open
	// brings us here again, and the comment is not made twice.
	if err := c.Comment(ctx, number, comment); err != nil {
		return err
	}
	_, _, err = c.api.PullRequests.Edit(ctx, c.owner, c.name, number, &github.PullRequest{State: new("closed")})
	return c.explain(err, "close pull request #%d", number)
}

// Comment says something below a pull request, unless we have said the same there before.
func (c *Client) Comment(ctx context.Context, number int, text string) error {
	self, err := c.Self(ctx)
	if err != nil {
		return err
	}
	said, err := all(func(page github.ListOptions) ([]*github.IssueComment, *github.Response, error) {
		return c.api.Issues.ListComments(ctx, c.owner, c.name, number, &github.IssueListCommentsOptions{ListOptions: page})
	})
	if err != nil {
		return c.explain(err, "read comments of pull request #%d", number)
	}
	for _, comment := range said {
		if account(comment.GetUser()).Same(self) && wire.SameText(comment.GetBody(), text) {
			return nil
		}
	}
	_, _, err = c.api.Issues.CreateComment(ctx, c.owner, c.name, number, &github.IssueComment{Body: &text})
	return c.explain(err, "comment on pull request #%d", number)
}

// DeleteBranch removes the branch of an approval, if it is there. No other branch is removed.
func (c *Client) DeleteBranch(ctx context.Context, name string) error {
	if err := wire.CheckOwnBranch(name); err != nil {
		return err
	}
	if gone, err := c.byGit(ctx, func() error { return c.branches.Remove(ctx, name) }); gone || err != nil {
		return err
	}
	_, err := c.api.Git.DeleteRef(ctx, c.owner, c.name, "heads/"+name)
	err = c.explain(err, "delete branch %s", name)
	if kind := forge.KindOf(err); kind != forge.NotFound && kind != forge.Invalid {
		return err
	}
	return c.confirmGone(ctx, name, err)
}

// confirmGone tells a branch that is not there from one that can't be removed: GitHub answers
// both with 422.
func (c *Client) confirmGone(ctx context.Context, name string, refusal error) error {
	_, _, err := c.api.Git.GetRef(ctx, c.owner, c.name, "heads/"+name)
	switch err = c.explain(err, "read branch %s", name); {
	case err == nil:
		return refusal
	case forge.KindOf(err) == forge.NotFound:
		return nil
	}
	return err
}
