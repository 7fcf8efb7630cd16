package gitlab

import (
	"context"
	"net/url"
	"slices"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// moves lists moves of a branch, newest first, each following on the next.
type moves struct {
	pushes []forge.Push
	// whole is set if the last one made the branch.
	whole bool
	// cut is set if there may be more than were read.
	cut bool
	// lumped is set if GitLab tells of some pushes only that there were, of how many branches.
	lumped bool
}

// mostEvents limits the events that are read.
const mostEvents = 1000

// moves reads who moved a branch, until that is enough. There is an event for each push, and for
// each merge, which is a push by the one who merged.
func (c *Client) moves(ctx context.Context, branch string, enough func([]forge.Push) bool) (moves, error) {
	if err := wire.CheckBranch(branch); err != nil {
		return moves{}, err
	}
	var log []event
	_, err := wire.Walk(ctx, c.api, "events", url.Values{"action": {"pushed"}}, func(some []event) bool {
		log = append(log, some...)
		return enough(movesOf(log, branch).pushes) || len(log) >= mostEvents
	})
	if err != nil {
		return moves{}, c.api.Explain(err, "read who pushed to branch %s", branch)
	}
	found := movesOf(log, branch)
	found.cut = len(log) >= mostEvents && !found.whole && !enough(found.pushes)
	for n := range found.pushes {
		if enough(found.pushes[:n]) {
			found.pushes = found.pushes[:n]
			break
		}
	}
	for i := range found.pushes {
		if found.pushes[i].Actor, err = c.typed(ctx, found.pushes[i].Actor); err != nil {
			return moves{}, err
		}
	}
	return found, nil
}

// movesOf returns the moves of a branch that the log tells, up to the first that does not follow on
// the one before it: older moves prove nothing.
func movesOf(log []event, branch string) moves {
	log = slices.Clone(log)
	slices.SortStableFunc(log, func(a, b event) int { return int(b.ID - a.ID) })
	var found moves
	for _, one := range log {
		of := one.Push
		if of == nil || of.Type != "branch" {
			continue
		}
		if of.Ref == "" || of.Refs > 1 {
			found.lumped = true
			continue
		}
		if of.Ref != branch || of.Action == "removed" && len(found.pushes) == 0 {
			continue
		}
		push := forge.Push{Before: of.Before, After: of.After, Kind: forge.PushPlain, Actor: one.Author.account(), At: one.At}
		if last := len(found.pushes) - 1; of.After == "" || last >= 0 && found.pushes[last].Before != push.After {
			break
		}
		found.pushes = append(found.pushes, push)
		if of.Action == "created" || of.Before == "" {
			found.pushes[len(found.pushes)-1].Kind, found.whole = forge.PushCreated, true
			break
		}
	}
	forge.MarkReturns(found.pushes)
	return found
}

// markMerge marks a move by which the forge itself merged a merge request. GitLab takes any push
// that has the head of one for its merge, by who pushed: a move counts as the forge's only if it
// brought the content of the head, and nothing that the one who merged could have added.
func (c *Client) markMerge(ctx context.Context, branch string, push *forge.Push) error {
	if push.Kind != forge.PushPlain {
		return nil
	}
	merged, err := c.mergedAs(ctx, branch, push.After)
	if err != nil || !merged.Merged || merged.Shared || !merged.MergedBy.Same(push.Actor) {
		return err
	}
	same, err := c.sameContent(ctx, merged.Head.SHA, push.After)
	if err != nil || !same {
		return err
	}
	result, err := c.result(ctx, push.After)
	if err != nil {
		return err
	}
	// A merge and a squash are one commit on top of what was there; a fast-forward is the head itself.
	if push.After == merged.Head.SHA || slices.Index(result.Commit.Parents, push.Before) == 0 {
		push.Kind = forge.PushMerge
	}
	return nil
}

// sameContent reports whether two commits have the same files.
func (c *Client) sameContent(ctx context.Context, one, other string) (bool, error) {
	if one == other {
		return true, nil
	}
	if err := wire.CheckSHA(one); err != nil {
		return false, err
	}
	return wire.Remembered(c.facts, "same "+one+" "+other, wire.Always, func() (bool, error) {
		var found struct {
			// TimedOut is set if there may be more files.
			TimedOut bool   `json:"compare_timeout"`
			Files    []file `json:"diffs"`
		}
		err := c.api.Get(ctx, "repository/compare", url.Values{"from": {one}, "to": {other}, "straight": {"true"}}, &found)
		return err == nil && !found.TimedOut && found.Files != nil && len(found.Files) == 0, c.api.Explain(err, "compare %s with %s", one, other)
	})
}

// landing is a merge request by whose merge a branch came to a commit.
type landing struct {
	forge.PullRequest

	// Squashed is the commit that GitLab made of those of the merge request; empty for none.
	Squashed string
	// Shared is set if there is another one. GitLab takes the merge of any that has the same head, or
	// has it inside, for the merge of all of them.
	Shared bool
}

// mergedAs returns the merge request into a branch whose merge ended at a commit; the zero value if
// there is none.
func (c *Client) mergedAs(ctx context.Context, branch, sha string) (landing, error) {
	if err := wire.CheckSHA(sha); err != nil {
		return landing{}, err
	}
	key := "merged as " + sha + " " + branch
	return wire.Remembered(c.facts, key, func(l landing) bool { return l.Merged }, func() (landing, error) {
		found, err := wire.List[mergeRequest](ctx, c.api, at("repository/commits/%s/merge_requests", sha), nil)
		if err != nil {
			return landing{}, c.api.Explain(err, "read merge requests of commit %s", sha)
		}
		found = slices.DeleteFunc(found, func(m mergeRequest) bool { return m.State != "merged" || m.Target != branch || m.result() != sha })
		if len(found) == 0 {
			return landing{}, nil
		}
		made := landing{PullRequest: found[0].pullRequest(), Squashed: found[0].SquashCommit, Shared: len(found) > 1}
		made.Author, err = c.typed(ctx, made.Author)
		return made, err
	})
}
