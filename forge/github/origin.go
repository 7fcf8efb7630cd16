package github

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/coauthors"
	"github.com/sluice-dev/sluice/forge/wire"
)

// readRelease reads what a release consists of and who brought it.
func (c *Client) readRelease(ctx context.Context, q forge.ApprovalQuery, _ *github.PullRequest, into *forge.Approval) error {
	if q.ReleaseCommit == "" {
		return nil
	}
	origin := &forge.ReleaseOrigin{Stable: q.StableCommit, Head: q.ReleaseCommit}
	into.Release = *origin
	if q.StableCommit == "" {
		return nil
	}
	if err := c.readRange(ctx, origin); err != nil {
		return err
	}
	line := forge.Line(origin.Commits, origin.Head)
	slices.Reverse(line)
	for _, made := range line {
		if err := c.readBroughtBy(ctx, made.SHA, into, origin); err != nil {
			return err
		}
	}
	err := c.readAddresses(ctx, origin)
	into.Release = *origin
	return err
}

// readRange reads the commits that the head has and the stable commit has not.
func (c *Client) readRange(ctx context.Context, into *forge.ReleaseOrigin) error {
	for _, sha := range []string{into.Stable, into.Head} {
		if err := wire.CheckSHA(sha); err != nil {
			return err
		}
	}
	compared := func(page github.ListOptions) (*github.CommitsComparison, *github.Response, error) {
		found, resp, err := c.api.Repositories.CompareCommits(ctx, c.owner, c.name, into.Stable, into.Head, &page)
		into.Total = found.GetTotalCommits()
		return found, resp, err
	}
	first, resp, err := compared(github.ListOptions{Page: 1, PerPage: pageSize})
	if err != nil || into.Total > forge.MaxCommits {
		return c.explain(err, "compare %s with %s", into.Stable, into.Head)
	}
	commits, err := allOf(into.Total, forge.MaxCommits, func(page github.ListOptions) ([]*github.RepositoryCommit, *github.Response, error) {
		if page.Page == 1 {
			return first.Commits, resp, nil
		}
		next, resp, err := compared(page)
		if err != nil {
			return nil, nil, err
		}
		return next.Commits, resp, nil
	})
	into.Commits = convert(commits, commit)
	return c.explain(err, "compare %s with %s", into.Stable, into.Head)
}

// readBroughtBy reads by which pull requests a commit of the tracked branch came, and what those
// are made of.
func (c *Client) readBroughtBy(ctx context.Context, sha string, into *forge.Approval, origin *forge.ReleaseOrigin) error {
	pulls, err := wire.Remembered(c.facts, "pulls "+sha, func(found []forge.PullRequest) bool { return len(found) > 0 }, func() ([]forge.PullRequest, error) {
		found, err := allCounted(func(page github.ListOptions) ([]*github.PullRequest, *github.Response, error) {
			return c.api.PullRequests.ListPullRequestsWithCommit(ctx, c.owner, c.name, sha, &page)
		})
		return slices.DeleteFunc(convert(found, pullRequest), func(p forge.PullRequest) bool { return !p.Merged }), err
	})
	if err != nil {
		return c.explain(err, "read pull requests of commit %s", sha)
	}
	change := forge.Change{SHA: sha}
	for _, pull := range pulls {
		change.PullRequests = append(change.PullRequests, pull.Number)
		if pull.Author.Same(into.Self) && change.Result.Files == nil {
			made, err := wire.Remembered(c.facts, "result "+sha, wire.Always, func() (forge.Result, error) { return c.result(ctx, sha) })
			if err != nil {
				return err
			}
			change.Result = made
		}
		known := slices.ContainsFunc(origin.Proposals, func(p forge.Proposal) bool { return p.PullRequest.Number == pull.Number })
		if known {
			continue
		}
		proposal, err := c.proposal(ctx, pull, 0)
		if err != nil {
			return err
		}
		origin.Proposals = append(origin.Proposals, proposal)
	}
	origin.Changes = append(origin.Changes, change)
	return nil
}

// proposal reads the commits of a merged pull request, and who pushed them. Within is how many
// others it was merged into, one after the other.
func (c *Client) proposal(ctx context.Context, pull forge.PullRequest, within int) (forge.Proposal, error) {
	key := fmt.Sprintf("proposal %d within %d", pull.Number, within)
	final := func(p forge.Proposal) bool { return p.PushersTold || ofFork(p.PullRequest) } // who pushed may be told later
	return wire.Remembered(c.facts, key, final, func() (forge.Proposal, error) {
		found := forge.Proposal{PullRequest: pull}
		commits, err := allCounted(func(page github.ListOptions) ([]*github.RepositoryCommit, *github.Response, error) {
			return c.api.PullRequests.ListCommits(ctx, c.owner, c.name, pull.Number, &page)
		})
		if err == nil && len(commits) >= forge.MaxCommits {
			err = wire.Invalid("there are %d, and no more are shown", len(commits))
		}
		if err != nil {
			return found, c.explain(err, "read commits of pull request #%d", pull.Number)
		}
		found.Commits = convert(commits, commit)
		return found, c.readPushers(ctx, &found, within)
	})
}

// readAddresses finds the accounts of co-authors.
func (c *Client) readAddresses(ctx context.Context, origin *forge.ReleaseOrigin) error {
	found, err := coauthors.Addresses(ctx, origin, byNumber, func(ctx context.Context, address string) (forge.Account, error) {
		return wire.Remembered(c.facts, "address "+address, forge.Account.Known, func() (forge.Account, error) { return c.byAddress(ctx, address) })
	})
	origin.Addresses = found
	return err
}

// byNumber returns the account of an address of the forge's own that has its number in it.
func byNumber(address string) (forge.Account, bool) {
	name, host, _ := strings.Cut(address, "@")
	number, name, numbered := strings.Cut(name, "+")
	id, err := strconv.ParseInt(number, 10, 64)
	return forge.Account{ID: id, Login: name}, err == nil && numbered && strings.HasPrefix(host, "users.noreply.")
}

// byAddress returns the account of an address; one that is not Known if the forge tells of none.
func (c *Client) byAddress(ctx context.Context, address string) (forge.Account, error) {
	if name, host, _ := strings.Cut(address, "@"); strings.HasPrefix(host, "users.noreply.") {
		name, _, _ = strings.Cut(name, "+")
		return c.accountOf(ctx, name)
	}
	made, _, err := c.api.Repositories.ListCommits(ctx, c.owner, c.name, &github.CommitsListOptions{
		Author: address, ListOptions: github.ListOptions{PerPage: 1},
	})
	if err != nil || len(made) == 0 || !strings.EqualFold(made[0].GetCommit().GetAuthor().GetEmail(), address) {
		return forge.Account{}, c.explain(err, "look for commits of a co-author")
	}
	return account(made[0].GetAuthor()), nil
}

// Permissions asks what people may do with the repository, one request for each.
func (c *Client) Permissions(ctx context.Context, who ...forge.Account) ([]forge.Permission, error) {
	var found []forge.Permission
	for _, one := range who {
		if !login.MatchString(one.Login) {
			continue
		}
		level, _, err := c.api.Repositories.GetPermissionLevel(ctx, c.owner, c.name, one.Login)
		err = c.explain(err, "read what %s may do with the repository", one.Login)
		if forge.KindOf(err) == forge.NotFound {
			err = nil
		}
		if err != nil {
			return nil, err
		}
		write := slices.Contains([]string{"write", "maintain", "admin"}, level.GetPermission())
		// Whoever has the login now may be another than the one who reviewed.
		same := account(level.GetUser()).Same(one)
		found = append(found, forge.Permission{Account: one, Write: write && same})
	}
	return found, nil
}
