package devforge

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// activity is one move of a branch, with who made it.
type activity struct {
	id     int64
	change refChange
	actor  *account
	at     time.Time
	// merged is set where the forge moved the branch for a pull request.
	merged bool
}

// record stores the move of a branch, from which the forge knows the pusher.
func (u update) record(change refChange) error {
	if change.branch() == "" {
		return nil
	}
	a := activity{id: u.forge.ids.next(), change: change, actor: u.by, at: u.forge.now()}
	a.merged = slices.ContainsFunc(u.repo.pulls, func(p *pull) bool {
		return p.merged() && p.base == change.branch() && p.mergeCommit == change.after && p.mergedFrom == change.before
	})
	u.repo.activities = append(u.repo.activities, a)
	return nil
}

// listActivities lists the moves of branches, newest first, in pages that begin behind an entry.
func (c *call) listActivities() (answer, error) {
	ref := c.query("ref")
	if ref != "" && !strings.HasPrefix(ref, "refs/") {
		ref = branchPrefix + ref
	}
	size := min(c.natural("per_page", defaultPerPage), maxPerPage)
	behind, err := strconv.ParseInt(c.query("after"), 10, 64)
	if err != nil && c.query("after") != "" {
		return answer{}, refuse(http.StatusUnprocessableEntity, "after is no cursor")
	}
	var found []activity
	more := false
	for _, a := range slices.Backward(c.repo.activities) {
		if ref != "" && a.change.ref != ref || behind != 0 && a.id >= behind {
			continue
		}
		if more = len(found) == size; more {
			break
		}
		found = append(found, a)
	}
	if more {
		query := c.req.URL.Query()
		query.Set("after", strconv.FormatInt(found[len(found)-1].id, 10))
		c.header.Set("Link", "<"+c.forge.url+c.req.URL.EscapedPath()+"?"+query.Encode()+`>; rel="next"`)
	}
	return ok(each(found, c.activity))
}

func (c *call) activity(a activity) object {
	return object{
		"id": a.id, "node_id": nodeID("PSH", a.id), "before": a.change.before, "after": a.change.after, "ref": a.change.ref,
		"timestamp": stamp(a.at), "activity_type": c.activityType(a), "actor": c.forge.shape.user(a.actor),
	}
}

func (c *call) activityType(a activity) string {
	switch {
	case a.merged:
		return "pr_merge"
	case a.change.before == gitcmd.Zero:
		return "branch_creation"
	case a.change.after == gitcmd.Zero:
		return "branch_deletion"
	case !c.repo.git.IsAncestor(a.change.before, a.change.after):
		return "force_push"
	}
	return "push"
}
