package gitea

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// moves lists moves of a branch, newest first. One need not follow on the next: Gitea's log leaves
// out moves that bring no commit, as back to an earlier one, and moves by people who keep their
// activity private. So it never shows that nobody else pushed. The actor of a move answers for the
// commits that it brought.
type moves struct {
	pushes []forge.Push
	// whole is set if there were none before the last one: it made the branch, or the log begins there.
	whole bool
}

// activity is an entry of the server's log.
type activity struct {
	ID      int64     `json:"id"`
	Type    string    `json:"op_type"`
	User    *user     `json:"act_user"`
	Ref     string    `json:"ref_name"`
	Content string    `json:"content"`
	At      time.Time `json:"created"`
}

// mostActivities limits the entries that are read.
const mostActivities = 1000

// compared is the address that the log gives to compare a branch before and after a push.
var compared = regexp.MustCompile(`/compare/([0-9a-f]{40}|[0-9a-f]{64})\.\.\.([0-9a-f]{40}|[0-9a-f]{64})$`)

// moves reads who moved a branch, until that is enough. The log has an entry for each push, and for
// each merge, which is a push by the one who merged. The entry of a push that makes a branch is
// followed by one with its commits.
func (c *Client) moves(ctx context.Context, branch string, enough func([]forge.Push) bool) (moves, error) {
	if err := wire.CheckBranch(branch); err != nil {
		return moves{}, err
	}
	var log []activity
	err := wire.Walk(ctx, c.api, "activities/feeds", url.Values{}, func(some []activity) bool {
		log = append(log, some...)
		return enough(movesOf(log, branch).pushes) || len(log) >= mostActivities
	})
	if err != nil {
		return moves{}, c.api.Explain(err, "read who pushed to branch %s", branch)
	}
	found := movesOf(log, branch)
	forge.MarkReturns(found.pushes)
	return found, c.markMerges(ctx, branch, found.pushes)
}

// movesOf returns the moves of a branch that the log tells, up to the one that made it.
func movesOf(log []activity, branch string) moves {
	log = slices.Clone(log)
	slices.SortStableFunc(log, func(a, b activity) int { return cmp.Compare(b.ID, a.ID) })
	var found moves
	for _, one := range log {
		if one.Type == "create_repo" { // nothing was before that
			found.whole = true
			return found
		}
		if one.Ref != "refs/heads/"+branch && one.Ref != branch {
			continue
		}
		switch {
		case one.Type == "delete_branch":
			return found
		case one.Type != "commit_repo" && one.Type != "mirror_sync_push":
			continue
		case one.Content == "": // it made the branch
			if last := len(found.pushes) - 1; last >= 0 {
				found.pushes[last].Kind, found.whole = forge.PushCreated, true
			}
			return found
		}
		push, told := one.push()
		if !told {
			return found
		}
		found.pushes = append(found.pushes, push)
	}
	return found
}

// push returns the move that an entry tells. The first one of a repository has nothing to compare.
func (a *activity) push() (forge.Push, bool) {
	var told struct {
		CompareURL string
		HeadCommit struct{ Sha1 string }
	}
	if json.Unmarshal([]byte(a.Content), &told) != nil {
		return forge.Push{}, false
	}
	made := forge.Push{After: told.HeadCommit.Sha1, Kind: forge.PushCreated, Actor: a.User.account(), At: a.At}
	if told.CompareURL == "" {
		return made, wire.CheckSHA(made.After) == nil
	}
	ends := compared.FindStringSubmatch(told.CompareURL)
	if ends == nil {
		return forge.Push{}, false
	}
	made.Before, made.After, made.Kind = ends[1], ends[2], forge.PushPlain
	return made, true
}

// markMerges marks the moves by which the forge itself merged pull requests into the branch. Where
// people can have a push pass for a merge, none is marked.
func (c *Client) markMerges(ctx context.Context, branch string, pushes []forge.Push) error {
	if _, err := c.Repository(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	spoofable := c.repository.ManualMerge || c.repository.Autodetect
	c.mu.Unlock()
	if spoofable {
		return nil
	}
	for i := range pushes {
		if pushes[i].Kind != forge.PushPlain {
			continue
		}
		merged, err := c.mergedAs(ctx, pushes[i].After)
		if err != nil {
			return err
		}
		if merged.Merged && merged.Base.Ref == branch && merged.MergedBy.Same(pushes[i].Actor) {
			pushes[i].Kind = forge.PushMerge
		}
	}
	return nil
}

// mergedAs returns the pull request whose merge ended at a commit; the zero value if there is none.
func (c *Client) mergedAs(ctx context.Context, sha string) (forge.PullRequest, error) {
	if err := wire.CheckSHA(sha); err != nil {
		return forge.PullRequest{}, err
	}
	return wire.Remembered(c.facts, "merged as "+sha, func(p forge.PullRequest) bool { return p.Merged }, func() (forge.PullRequest, error) {
		var found pull
		err := c.api.Explain(c.api.Get(ctx, at("commits/%s/pull", sha), nil, &found), "read pull request of commit %s", sha)
		switch one := found.pullRequest(); {
		case forge.KindOf(err) == forge.NotFound:
			return forge.PullRequest{}, nil
		case err != nil || !one.Merged || one.MergeCommit != sha:
			return forge.PullRequest{}, err
		default:
			return one, nil
		}
	})
}
