package gitea

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	found, err := c.compare(ctx, origin.Stable, origin.Head)
	if origin.Total = found.Total; err != nil || origin.Total > forge.MaxCommits {
		into.Release = *origin
		return err
	}
	origin.Commits = wire.Convert(found.Commits, (*commit).commit)
	slices.Reverse(origin.Commits)
	line := forge.Line(origin.Commits, origin.Head)
	pushed := forge.PushesOf(line, into.Pushes)
	slices.Reverse(line)
	for _, made := range line {
		if err := c.readBroughtBy(ctx, made.SHA, pushed[made.SHA], into, origin); err != nil {
			return err
		}
	}
	err = c.readAddresses(ctx, origin)
	into.Release = *origin
	return err
}

// readBroughtBy reads by which pull request a commit of the tracked branch came, and its commits.
// Gitea knows the last commit of a merge alone. The others of a rebase come with the same push.
func (c *Client) readBroughtBy(ctx context.Context, sha string, push forge.Push, into *forge.Approval, origin *forge.ReleaseOrigin) error {
	change := forge.Change{SHA: sha}
	last := sha
	if push.ByForge() {
		last = push.After
	}
	merged, err := c.mergedAs(ctx, last)
	if err != nil {
		return err
	}
	if !merged.Merged {
		origin.Changes = append(origin.Changes, change)
		return nil
	}
	change.PullRequests = []int{merged.Number}
	if merged.Author.Same(into.Self) {
		if change.Result, err = c.result(ctx, sha); err != nil {
			return err
		}
	}
	known := slices.ContainsFunc(origin.Proposals, func(p forge.Proposal) bool { return p.PullRequest.Number == merged.Number })
	if !known {
		proposal, err := c.proposal(ctx, merged)
		if err != nil {
			return err
		}
		origin.Proposals = append(origin.Proposals, proposal)
	}
	origin.Changes = append(origin.Changes, change)
	return nil
}

// proposal reads the commits of a merged pull request, and who pushed them. The branch of a fork
// belongs to its owner, and to those whom they let push.
func (c *Client) proposal(ctx context.Context, merged forge.PullRequest) (forge.Proposal, error) {
	final := func(p forge.Proposal) bool { return p.PushersTold }
	return wire.Remembered(c.facts, fmt.Sprintf("proposal %d", merged.Number), final, func() (forge.Proposal, error) {
		found := forge.Proposal{PullRequest: merged}
		var err error
		if found.Commits, err = c.commitsOf(ctx, merged.Number); err != nil || merged.Head.RepositoryID != merged.Base.RepositoryID {
			return found, err
		}
		line := forge.Line(found.Commits, merged.Head.SHA)
		covers := func(pushes []forge.Push) bool {
			from := slices.IndexFunc(pushes, func(p forge.Push) bool { return p.After == merged.Head.SHA })
			return from >= 0 && len(line) > 0 && len(forge.PushesOf(line, pushes[from:])) == len(line)
		}
		whole := func([]forge.Push) bool { return false }
		moved, err := c.moves(ctx, merged.Head.Ref, whole)
		found.PushersTold = moved.whole && covers(moved.pushes)
		for _, push := range moved.pushes {
			if !slices.ContainsFunc(found.Pushers, push.Actor.Same) {
				found.Pushers = append(found.Pushers, push.Actor)
			}
		}
		return found, err
	})
}

// readAddresses finds the accounts of co-authors.
func (c *Client) readAddresses(ctx context.Context, origin *forge.ReleaseOrigin) error {
	found, err := coauthors.Addresses(ctx, origin, byNumber, c.byAddress)
	origin.Addresses = found
	return err
}

// byNumber returns the account of an address of the forge's own that has its number in it. It is
// free text, and keeps an account from approving, no more.
func byNumber(address string) (forge.Account, bool) {
	name, host, _ := strings.Cut(address, "@")
	number, name, numbered := strings.Cut(name, "+")
	id, err := strconv.ParseInt(number, 10, 64)
	return forge.Account{ID: id, Login: name}, err == nil && numbered && id > 0 && strings.HasPrefix(host, "noreply.")
}
