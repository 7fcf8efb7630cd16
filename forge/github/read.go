package github

import (
	"context"
	"slices"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// ReadApproval gathers what an approval is judged by. Before the merge that is the pull request
// alone: one request, which costs nothing while nothing changes; of one that was closed also who
// closed it, and who may. After the merge there are those for what the query asks for. If Git does
// not show what was merged, there are three more, for the files, the merge and who moved the
// branch, and one if the tracked branch has gone on since. A pull request that is not there is of
// kind NotFound.
func (c *Client) ReadApproval(ctx context.Context, q forge.ApprovalQuery) (forge.Approval, error) {
	approval := forge.Approval{}
	ctx = wire.WithAllowance(ctx)
	var err error
	if approval.Repository, err = c.Repository(ctx); err != nil {
		return forge.Approval{}, err
	}
	if approval.Self, err = c.Self(ctx); err != nil {
		return forge.Approval{}, err
	}
	pull, err := c.rawPull(ctx, q.Number)
	if err != nil {
		return forge.Approval{}, err
	}
	approval.PullRequest = pullRequest(pull)
	if approval.PullRequest.Base.RepositoryID != approval.Repository.ID { // it was made again under its name
		if approval.Repository, err = c.readRepository(ctx); err != nil {
			return forge.Approval{}, err
		}
	}
	if approval.PullRequest.Rejected() {
		return approval, c.readClosing(ctx, q, pull, &approval)
	}
	if !approval.PullRequest.Merged {
		return approval, nil
	}
	if approval.Alone, err = c.branches.ReadMerge(ctx, q, &approval); err != nil {
		return forge.Approval{}, err
	}
	for _, part := range []func(context.Context, forge.ApprovalQuery, *github.PullRequest, *forge.Approval) error{
		c.readChange, c.readCommits, c.readReviews, c.readResult, c.readRelease, c.readApprovers,
	} {
		if err := part(ctx, q, pull, &approval); err != nil {
			return forge.Approval{}, err
		}
	}
	return approval, nil
}

// readClosing reads who closed the pull request, and who may. GitHub says who only of the issue
// that each pull request is.
func (c *Client) readClosing(ctx context.Context, q forge.ApprovalQuery, pull *github.PullRequest, into *forge.Approval) error {
	issue, _, err := c.api.Issues.Get(ctx, c.owner, c.name, pull.GetNumber())
	if err == nil && issue.GetNumber() != pull.GetNumber() {
		err = wire.Distrusted("the answer is about another")
	}
	if err != nil {
		return c.explain(err, "read who closed pull request #%d", pull.GetNumber())
	}
	into.PullRequest.ClosedBy = account(issue.GetClosedBy())
	return c.readApprovers(ctx, q, pull, into)
}

func (c *Client) rawPull(ctx context.Context, number int) (*github.PullRequest, error) {
	pull, _, err := c.api.PullRequests.Get(ctx, c.owner, c.name, number)
	if err == nil && pull.GetNumber() != number {
		err = wire.Distrusted("the answer is about another")
	}
	return pull, c.explain(err, "read pull request #%d", number)
}

// PullRequest reads a pull request. One that is not there is of kind NotFound.
func (c *Client) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	return c.pull(ctx, number)
}

func (c *Client) pull(ctx context.Context, number int) (forge.PullRequest, error) {
	pull, err := c.rawPull(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	return pullRequest(pull), nil
}

// readChange reads all files that the pull request touches.
func (c *Client) readChange(ctx context.Context, _ forge.ApprovalQuery, pull *github.PullRequest, into *forge.Approval) error {
	if into.Alone {
		return nil
	}
	files, err := allOf(pull.GetChangedFiles(), maxFiles, func(page github.ListOptions) ([]*github.CommitFile, *github.Response, error) {
		return c.api.PullRequests.ListFiles(ctx, c.owner, c.name, pull.GetNumber(), &page)
	})
	into.Files = convert(files, changedFile)
	return c.explain(err, "read files of pull request #%d", pull.GetNumber())
}

// readResult reads what the merge changed, whether that is on the tracked branch, and how it came
// there.
func (c *Client) readResult(ctx context.Context, q forge.ApprovalQuery, pull *github.PullRequest, into *forge.Approval) error {
	if into.Alone {
		return nil
	}
	merged := pull.GetMergeCommitSHA()
	if err := wire.CheckSHA(merged); err != nil {
		return c.explain(wire.Distrusted("the answer names no commit"), "read merge of pull request #%d", pull.GetNumber())
	}
	var err error
	if into.Result, err = c.result(ctx, merged); err != nil {
		return err
	}
	if into.OnTracked, err = c.isAncestor(ctx, merged, q.Tip); err != nil {
		return err
	}
	known, err := c.moves(ctx, q.Branch, forge.Until(merged, q.StableCommit))
	into.Pushes, into.PushesTold, into.PushesCut = known.pushes, known.told, known.cut
	if err != nil || !into.PushesTold || !into.OnTracked {
		return err
	}
	// Git has seen the branch at the tip, so that some push has ended there.
	if !slices.ContainsFunc(into.Pushes, func(p forge.Push) bool { return p.After == q.Tip }) {
		return c.explain(wire.Distrusted("the push that ended at %s is not listed yet", q.Tip), "read who pushed to branch %s", q.Branch)
	}
	return nil
}

// result reads a commit and the files that it changes against its first parent: all, or that there
// are more.
func (c *Client) result(ctx context.Context, sha string) (forge.Result, error) {
	made, resp, err := c.api.Repositories.GetCommit(ctx, c.owner, c.name, sha, &github.ListOptions{PerPage: pageSize})
	if err == nil && made.GetSHA() != sha {
		err = wire.Distrusted("the answer is about another")
	}
	if err != nil {
		return forge.Result{}, c.explain(err, "read commit %s", sha)
	}
	more, lines := resp.NextPage != 0 || len(made.Files) >= pageSize, 0
	for _, file := range made.Files {
		lines += file.GetChanges()
	}
	if want := made.GetStats().GetTotal(); !more && lines != want {
		err := wire.Distrusted("its files have %d changed lines, and not the %d of the commit", lines, want)
		return forge.Result{}, c.explain(err, "read commit %s", sha)
	}
	return forge.Result{Commit: commit(made), Files: convert(made.Files, changedFile), More: more}, nil
}

// isAncestor reports whether a commit is tip or one of its ancestors.
func (c *Client) isAncestor(ctx context.Context, sha, tip string) (bool, error) {
	if err := wire.CheckSHA(tip); err != nil {
		return false, err
	}
	if sha == tip {
		return true, nil
	}
	between, _, err := c.api.Repositories.CompareCommits(ctx, c.owner, c.name, sha, tip, &github.ListOptions{PerPage: 1})
	if err != nil {
		return false, c.explain(err, "compare %s with %s", sha, tip)
	}
	return between.GetStatus() == "ahead" && between.GetMergeBaseCommit().GetSHA() == sha, nil
}

// Has reports whether a commit is on a branch.
func (c *Client) Has(ctx context.Context, branch, sha string) (bool, error) {
	if err := wire.CheckSHA(sha); err != nil {
		return false, err
	}
	itself := func(found bool) bool { return found } // a branch gets the others later
	return wire.Remembered(c.facts, "has/"+branch+"/"+sha, itself, func() (bool, error) {
		tip, err := c.Tip(ctx, branch)
		if err != nil {
			return false, err
		}
		found, err := c.isAncestor(ctx, sha, tip.Commit)
		if forge.KindOf(err) == forge.NotFound {
			return false, nil
		}
		return found, err
	})
}

// readReviews reads all reviews of the pull request.
func (c *Client) readReviews(ctx context.Context, q forge.ApprovalQuery, pull *github.PullRequest, into *forge.Approval) error {
	if !q.Reviews {
		return nil
	}
	reviews, err := allCounted(func(page github.ListOptions) ([]*github.PullRequestReview, *github.Response, error) {
		return c.api.PullRequests.ListReviews(ctx, c.owner, c.name, pull.GetNumber(), &page)
	})
	into.Reviews = convert(reviews, review)
	return c.explain(err, "read reviews of pull request #%d", pull.GetNumber())
}

// readCommits reads all commits of the pull request, if they are asked for, or if its head is not
// the commit that we wrote.
func (c *Client) readCommits(ctx context.Context, q forge.ApprovalQuery, pull *github.PullRequest, into *forge.Approval) error {
	if !q.Commits && (q.Written == "" || q.Written == pull.GetHead().GetSHA()) {
		return nil
	}
	commits, err := allOf(pull.GetCommits(), maxCommits, func(page github.ListOptions) ([]*github.RepositoryCommit, *github.Response, error) {
		return c.api.PullRequests.ListCommits(ctx, c.owner, c.name, pull.GetNumber(), &page)
	})
	into.Commits = convert(commits, commit)
	return c.explain(err, "read commits of pull request #%d", pull.GetNumber())
}

// readApprovers reads whose approval would count.
func (c *Client) readApprovers(ctx context.Context, q forge.ApprovalQuery, _ *github.PullRequest, into *forge.Approval) error {
	var err error
	if into.Approvers, err = c.Accounts(ctx, q.Approvers...); err != nil {
		return err
	}
	if into.Trusted, err = c.Accounts(ctx, q.Trusted...); err != nil {
		return err
	}
	for _, name := range q.Teams {
		team, err := c.Team(ctx, name)
		if err != nil {
			return err
		}
		into.Teams = append(into.Teams, team)
	}
	return nil
}
