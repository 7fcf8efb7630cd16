package gitlab

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// moves lists moves of a branch, newest first, each following on the next.
type moves struct {
	pushes []forge.Push
	// made is set if the last one made the branch, and begun if the log begins after it or with it.
	made, begun bool
	// lumped is set if the newest move may be one of a push of many branches: GitLab tells of such a
	// push that it was, and not of which branches. It may hide moves between others, too.
	lumped, hidden bool
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
	cut := false
	err := wire.Walk(ctx, c.api, "events", url.Values{"action": {"pushed"}}, func(some []event) bool {
		log = append(log, some...)
		cut = enough(movesOf(log, branch, enough).pushes) || len(log) >= mostEvents
		return cut
	})
	if err != nil {
		return moves{}, c.api.Explain(err, "read who pushed to branch %s", branch)
	}
	found := movesOf(log, branch, enough)
	found.begun = found.begun && !cut
	for i := range found.pushes {
		if found.pushes[i].Actor, err = c.typed(ctx, found.pushes[i].Actor); err != nil {
			return moves{}, err
		}
	}
	return found, nil
}

// movesOf returns the moves of a branch that the log tells, up to what is enough. All that the log
// has is looked at, since an older move can show that a newer one brought nothing.
func movesOf(log []event, branch string, enough func([]forge.Push) bool) moves {
	log = slices.Clone(log)
	slices.SortStableFunc(log, func(a, b event) int { return cmp.Compare(b.ID, a.ID) })
	found, lumps := chain(log, branch)
	forge.MarkReturns(found.pushes)
	for n := range found.pushes {
		if enough(found.pushes[:n]) {
			found.pushes, found.made = found.pushes[:n], false
			break
		}
	}
	found.lumped = slices.Contains(lumps, 0)
	found.hidden = slices.ContainsFunc(lumps, func(at int) bool { return at > 0 && at < len(found.pushes) })
	return found
}

// chain returns the moves of a branch, up to the first that does not follow on the one before it:
// older moves prove nothing. Lumps are how many of these are newer than each push of many branches.
func chain(log []event, branch string) (found moves, lumps []int) {
	for _, one := range log {
		of := one.Push
		switch {
		case of == nil || of.Type != "branch" || of.Ref != "" && of.Ref != branch:
			continue
		case of.Ref == "" || of.Refs > 1:
			lumps = append(lumps, len(found.pushes))
			continue
		case of.Action == "removed" && len(found.pushes) == 0:
			continue
		}
		push := forge.Push{Before: of.Before, After: of.After, Kind: forge.PushPlain, Actor: one.Author.account(), At: one.At}
		if last := len(found.pushes) - 1; of.After == "" || last >= 0 && found.pushes[last].Before != push.After {
			return found, lumps
		}
		if of.Action == "created" || of.Before == "" {
			push.Kind, found.made = forge.PushCreated, true
		}
		if found.pushes = append(found.pushes, push); found.made {
			return found, lumps
		}
	}
	found.begun = true
	return found, lumps
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
