package github

import (
	"context"
	"slices"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
)

// maxWithin is how many pull requests that were merged one into the other are looked through.
const maxWithin = 3

func ofFork(pull forge.PullRequest) bool { return pull.Head.RepositoryID != pull.Base.RepositoryID }

// readPushers reads who pushed the commits of a pull request to its branch, or proposed those that the forge merged into it. A
// branch can be moved any number of times after the merge, so that only moves that reach back over all its commits are all.
func (c *Client) readPushers(ctx context.Context, into *forge.Proposal, within int) error {
	pull := into.PullRequest
	if ofFork(pull) || within > maxWithin {
		return nil // the branch of a fork belongs to its owner, and to those whom they let push
	}
	line := forge.Line(into.Commits, pull.Head.SHA)
	whole := func(pushes []forge.Push) bool { return len(line) > 0 && len(forge.PushesOf(line, pushes)) == len(line) }
	pushes, told, err := c.pushes(ctx, pull.Head.Ref, whole)
	if err != nil {
		return err
	}
	into.PushersTold = told && whole(pushes)
	for _, push := range pushes {
		if !slices.ContainsFunc(into.Commits, func(c forge.Commit) bool { return c.SHA == push.After }) {
			continue
		}
		into.Pushers = append(into.Pushers, push.Actor)
		into.PushersTold = into.PushersTold && push.Actor.Known()
		if push.ByForge() {
			if err := c.readMergedInto(ctx, push.After, into, within); err != nil {
				return err
			}
		}
	}
	return nil
}

// readMergedInto adds who proposed and pushed what the forge merged into the branch of a pull request.
func (c *Client) readMergedInto(ctx context.Context, made string, into *forge.Proposal, within int) error {
	branch := into.PullRequest.Head.Ref
	closed, err := allCounted(func(page github.ListOptions) ([]*github.PullRequest, *github.Response, error) {
		return c.api.PullRequests.List(ctx, c.owner, c.name, &github.PullRequestListOptions{State: "closed", Base: branch, ListOptions: page})
	})
	if err != nil {
		return c.explain(err, "read pull requests into branch %s", branch)
	}
	found := false
	for _, pull := range convert(closed, pullRequest) {
		if !pull.Merged || pull.MergeCommit != made || pull.Number == into.PullRequest.Number {
			continue
		}
		inner, err := c.proposal(ctx, pull, within+1)
		if err != nil {
			return err
		}
		found = inner.PushersTold && pull.Author.Known()
		into.Pushers = append(append(into.Pushers, pull.Author), inner.Pushers...)
		for _, made := range inner.Commits {
			into.Pushers = append(into.Pushers, made.Author)
		}
	}
	into.PushersTold = into.PushersTold && found
	return nil
}
