package devforge

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// maxStatuses is how many statuses a commit takes for one context.
	maxStatuses = 1000
	// maxDescription is how many characters a description may have.
	maxDescription = 140
)

// status is one reported status of a commit.
type status struct {
	id                                  int64
	creator                             *account
	state, context, description, target string
	created                             time.Time
}

func (s shapes) status(r *repository, sha string, v *status) object {
	return object{
		"id": v.id, "node_id": nodeID("SC", v.id), "state": v.state, "context": v.context, "description": textOrNull(v.description),
		"target_url": textOrNull(v.target), "url": s.api("/repos/%s/statuses/%s", r.fullName(), sha),
		"avatar_url": s.html("/avatars/%d", v.creator.id), "created_at": stamp(v.created), "updated_at": stamp(v.created),
	}
}

func (s shapes) statusWithCreator(r *repository, sha string, v *status) object {
	return with(s.status(r, sha, v), object{"creator": s.account(v.creator)})
}

type statusRequest struct {
	State       string `json:"state"`
	TargetURL   string `json:"target_url"`
	Description string `json:"description"`
	Context     string `json:"context"`
}

// problem says why GitHub would not take the status.
func (in statusRequest) problem() error {
	switch {
	case !slices.Contains([]string{"error", "failure", "pending", "success"}, in.State):
		return invalid("Status", "state", "inclusion", "State is not included in the list")
	case utf8.RuneCountInString(in.Description) > maxDescription:
		return invalid("Status", "description", "custom", "description is too long (maximum is 140 characters)")
	case fourBytes(in.Description) || fourBytes(in.Context):
		return invalid("Status", "description", "custom", "description doesn't accept 4-byte Unicode")
	case in.TargetURL != "" && !strings.HasPrefix(in.TargetURL, "http://") && !strings.HasPrefix(in.TargetURL, "https://"):
		return invalid("Status", "target_url", "custom", "target_url must use http(s) scheme")
	}
	return nil
}

// fourBytes reports whether a character of the text takes four bytes in UTF-8.
func fourBytes(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r > 0xFFFF })
}

func (c *call) createStatus() (answer, error) {
	sha := c.req.PathValue("sha")
	if err := c.knownCommit(sha); err != nil {
		return answer{}, refuse(http.StatusUnprocessableEntity, "No commit found for SHA: "+sha)
	}
	in, err := decode[statusRequest](c)
	if err != nil {
		return answer{}, err
	}
	if err := in.problem(); err != nil {
		return answer{}, err
	}
	v := &status{
		id: c.forge.ids.next(), creator: c.by.account, state: in.State, context: cmp.Or(in.Context, "default"),
		description: in.Description, target: in.TargetURL, created: c.forge.now(),
	}
	same := 0
	for _, other := range c.repo.statuses[sha] {
		if strings.EqualFold(other.context, v.context) {
			same++
		}
	}
	if same >= maxStatuses {
		return answer{}, invalid("Status", "base", "custom",
			"This SHA and context has reached the maximum number of statuses.")
	}
	c.repo.statuses[sha] = append(c.repo.statuses[sha], v)
	if err := c.emitStatus(sha, v); err != nil {
		return answer{}, err
	}
	return created(c.forge.shape.statusWithCreator(c.repo, sha, v))
}

// listStatuses gives them newest first.
func (c *call) listStatuses() (answer, error) {
	sha, err := c.repo.git.Resolve(c.ctx, c.req.PathValue("ref"))
	if err != nil {
		return answer{}, err
	}
	newest := slices.Clone(c.repo.statuses[sha])
	slices.Reverse(newest)
	return ok(each(pageOf(c, newest), func(v *status) object { return c.forge.shape.statusWithCreator(c.repo, sha, v) }))
}

// latestStatuses returns the last ones of each context, by context; contexts differ by more than
// case.
func latestStatuses(all []*status) []*status {
	latest := map[string]*status{}
	for _, v := range all {
		latest[strings.ToLower(v.context)] = v
	}
	return slices.SortedFunc(maps.Values(latest), func(a, b *status) int { return cmp.Compare(a.context, b.context) })
}

// combined returns a failure if one is, pending if one is or there is none, and else a success.
func combined(latest []*status) string {
	state := "success"
	if len(latest) == 0 {
		state = "pending"
	}
	for _, v := range latest {
		switch v.state {
		case "error", "failure":
			return "failure"
		case "pending":
			state = "pending"
		}
	}
	return state
}
