package gitlab

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/coauthors"
	"github.com/sluice-dev/sluice/forge/wire"
)

// readRelease reads what a release consists of and who brought it.
func (c *Client) readRelease(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) error {
	if q.ReleaseCommit == "" {
		return nil
	}
	origin := &forge.ReleaseOrigin{Stable: q.StableCommit, Head: q.ReleaseCommit}
	into.Release = *origin
	if q.StableCommit == "" {
		return nil
	}
	var err error
	if origin.Commits, origin.Total, err = c.between(ctx, origin.Stable, origin.Head); err != nil || origin.Total > forge.MaxCommits {
		into.Release = *origin
		return err
	}
	line := forge.Line(origin.Commits, origin.Head)
	pushed := forge.PushesOf(line, into.Pushes)
	slices.Reverse(line)
	for _, made := range line {
		if err := c.readBroughtBy(ctx, made.SHA, pushed[made.SHA], into, origin); err != nil {
			return err
		}
	}
	origin.Addresses, err = coauthors.Addresses(ctx, origin, byNumber, c.byAddress)
	into.Release = *origin
	return err
}

// readBroughtBy reads by which merge request a commit of the tracked branch came, and what that is
// made of. GitLab knows the last commit of a merge: the others come with the same push.
func (c *Client) readBroughtBy(ctx context.Context, sha string, push forge.Push, into *forge.Approval, origin *forge.ReleaseOrigin) error {
	change := forge.Change{SHA: sha}
	last := sha
	if push.ByForge() {
		last = push.After
	}
	merged, err := c.mergedAs(ctx, into.PullRequest.Base.Ref, last)
	if err != nil {
		return err
	}
	if merged.Merged && merged.Author.Same(into.Self) {
		if change.Result, err = c.result(ctx, sha); err != nil {
			return err
		}
	}
	if merged.Merged {
		change.PullRequests = []int{merged.Number}
		if err := c.readLanding(ctx, merged, push, origin); err != nil {
			return err
		}
	}
	origin.Changes = append(origin.Changes, change)
	return nil
}

// readLanding reads the merge request that a push brought, unless it is known.
func (c *Client) readLanding(ctx context.Context, merged landing, push forge.Push, origin *forge.ReleaseOrigin) error {
	for i := range origin.Commits {
		// The forge names the one who merged as the committer of what it squashed.
		if push.ByForge() && origin.Commits[i].SHA == merged.Squashed {
			origin.Commits[i].Committer = forge.Account{}
		}
	}
	if slices.ContainsFunc(origin.Proposals, func(p forge.Proposal) bool { return p.PullRequest.Number == merged.Number }) {
		return nil
	}
	found, err := c.proposal(ctx, merged.PullRequest)
	origin.Proposals = append(origin.Proposals, found)
	return err
}

// proposal reads the commits of a merged merge request, and who pushed them. The branch of a fork
// belongs to its owner, and to those whom they let push.
func (c *Client) proposal(ctx context.Context, merged forge.PullRequest) (forge.Proposal, error) {
	final := func(p forge.Proposal) bool { return p.PushersTold }
	return wire.Remembered(c.facts, fmt.Sprintf("proposal %d", merged.Number), final, func() (forge.Proposal, error) {
		found := forge.Proposal{PullRequest: merged}
		whole, err := c.mergeRequest(ctx, merged.Number)
		if err != nil {
			return found, err
		}
		found.Commits, err = c.commitsOf(ctx, &whole)
		if err != nil || merged.Head.RepositoryID != merged.Base.RepositoryID {
			return found, err
		}
		line := forge.Line(found.Commits, merged.Head.SHA)
		covers := func(pushes []forge.Push) bool {
			from := slices.IndexFunc(pushes, func(p forge.Push) bool { return p.After == merged.Head.SHA })
			return from >= 0 && len(line) > 0 && len(forge.PushesOf(line, pushes[from:])) == len(line)
		}
		moved, err := c.moves(ctx, merged.Head.Ref, func([]forge.Push) bool { return false })
		found.PushersTold = moved.made && !moved.hidden && covers(moved.pushes)
		for _, push := range moved.pushes {
			if !slices.ContainsFunc(found.Pushers, push.Actor.Same) {
				found.Pushers = append(found.Pushers, push.Actor)
			}
		}
		return found, err
	})
}
