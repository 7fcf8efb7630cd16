package github

import (
	"context"
	"slices"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
)

// maxWithin is how many pull requests that were merged one into the other are looked through.
const maxWithin = 3

func ofFork(pull forge.PullRequest) bool { return pull.Head.RepositoryID != pull.Base.RepositoryID }

// readPushers reads who moved the branch of a pull request before the merge. Every move counts,
// whatever became of its commits: a rebase by somebody else makes new ones of them.
func (c *Client) readPushers(ctx context.Context, into *forge.Proposal, within int) error {
	pull := into.PullRequest
	if ofFork(pull) || within > maxWithin {
		return nil // the branch of a fork belongs to its owner, and to those whom they let push
	}
	var since time.Time
	if within == 0 {
		var err error
		if since, err = c.mergedBefore(ctx, pull); err != nil {
			return err
		}
	}
	line := forge.Line(into.Commits, pull.Head.SHA)
	known, err := c.moves(ctx, pull.Head.Ref, func(pushes []forge.Push) bool {
		_, reached := movesOf(line, since, pushes)
		return reached
	})
	if err != nil {
		return err
	}
	pushes, reached := movesOf(line, since, known.pushes)
	into.PushersTold = reached || known.whole && covers(line, pushes)
	return c.addPushers(ctx, into, pushes, within)
}

// movesOf returns the moves of a branch up to its head, the first commit of the line, and reports
// whether they go back far enough: they brought the whole line, and the next one was not after
// since. Without since no move is far enough.
func movesOf(line []forge.Commit, since time.Time, pushes []forge.Push) (of []forge.Push, reached bool) {
	if len(line) == 0 {
		return nil, false
	}
	from := slices.IndexFunc(pushes, func(p forge.Push) bool { return p.After == line[0].SHA })
	if from < 0 {
		return nil, false
	}
	of = pushes[from:]
	for i, push := range of {
		if !since.IsZero() && !push.At.After(since) && covers(line, of[:i]) {
			return of[:i], true
		}
	}
	return of, false
}

// covers reports whether moves brought all commits of a line.
func covers(line []forge.Commit, pushes []forge.Push) bool {
	return len(line) > 0 && len(forge.PushesOf(line, pushes)) == len(line)
}

// mergedBefore returns the last merge of an earlier pull request of the same two branches. That
// pull request proposed all moves until then. Zero means that there was none: then all moves count,
// even the moves of an earlier branch of that name.
func (c *Client) mergedBefore(ctx context.Context, pull forge.PullRequest) (last time.Time, err error) {
	listed, _, err := c.api.PullRequests.List(ctx, c.owner, c.name, &github.PullRequestListOptions{
		State: "closed", Head: c.owner + ":" + pull.Head.Ref, Base: pull.Base.Ref, ListOptions: github.ListOptions{PerPage: pageSize},
	})
	if err != nil {
		return last, c.explain(err, "read earlier pull requests of branch %s", pull.Head.Ref)
	}
	for _, other := range convert(listed, pullRequest) {
		same := other.Head.Ref == pull.Head.Ref && other.Base.Ref == pull.Base.Ref && !ofFork(other)
		if same && other.Number != pull.Number && !other.MergedAt.After(pull.MergedAt) && other.MergedAt.After(last) {
			last = other.MergedAt
		}
	}
	return last, nil
}

// addPushers adds the accounts that made some moves. The forge itself moves a branch when it merges
// a pull request: the contributors to that pull request count then.
func (c *Client) addPushers(ctx context.Context, into *forge.Proposal, pushes []forge.Push, within int) error {
	merged, err := c.mergedInto(ctx, into.PullRequest, pushes)
	if err != nil {
		return err
	}
	for _, push := range pushes {
		switch {
		case push.Kind == forge.PushDeleted:
		case !push.ByForge():
			into.Pushers = append(into.Pushers, push.Actor)
			into.PushersTold = into.PushersTold && push.Actor.Known()
		default:
			if err := c.addMerged(ctx, into, push, merged, within); err != nil {
				return err
			}
		}
	}
	return nil
}

// mergedInto reads the pull requests that were merged into the branch of another, if the forge made
// one of its moves.
func (c *Client) mergedInto(ctx context.Context, pull forge.PullRequest, pushes []forge.Push) ([]forge.PullRequest, error) {
	if !slices.ContainsFunc(pushes, forge.Push.ByForge) {
		return nil, nil
	}
	branch := pull.Head.Ref
	closed, err := allCounted(func(page github.ListOptions) ([]*github.PullRequest, *github.Response, error) {
		return c.api.PullRequests.List(ctx, c.owner, c.name, &github.PullRequestListOptions{State: "closed", Base: branch, ListOptions: page})
	})
	if err != nil {
		return nil, c.explain(err, "read pull requests into branch %s", branch)
	}
	other := func(p forge.PullRequest) bool { return !p.Merged || p.Number == pull.Number }
	return slices.DeleteFunc(convert(closed, pullRequest), other), nil
}

// addMerged adds who proposed and pushed what the forge merged into the branch of a pull request,
// and who had it merged.
func (c *Client) addMerged(ctx context.Context, into *forge.Proposal, push forge.Push, merged []forge.PullRequest, within int) error {
	if push.Actor.Type == forge.TypeUser { // a program that merges, such as a queue, brings nothing of its own
		into.Pushers = append(into.Pushers, push.Actor)
	}
	found, told := false, true
	for _, pull := range merged {
		if push.Kind == forge.PushMerge && pull.MergeCommit != push.After { // a queue may merge several with one move
			continue
		}
		inner, err := c.proposal(ctx, pull, within+1)
		if err != nil {
			return err
		}
		found, told = true, told && inner.PushersTold && pull.Author.Known()
		into.Pushers = append(append(into.Pushers, pull.Author), inner.Pushers...)
		into.Inner = append(into.Inner, inner.All()...)
	}
	into.PushersTold = into.PushersTold && found && told
	return nil
}
