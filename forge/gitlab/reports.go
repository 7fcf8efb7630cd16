package gitlab

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// CommitStatuses returns the statuses of a commit in one context, newest first. Jobs of pipelines
// are among them, as by the one who started them.
func (c *Client) CommitStatuses(ctx context.Context, sha, name string, _ ...forge.Account) ([]forge.Status, error) {
	found, err := c.statuses(ctx, sha, "")
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(s status) bool { return !strings.EqualFold(s.Name, name) })
	return wire.Convert(found, (*status).status), nil
}

// statuses lists the statuses of a commit with a name, or all, newest first.
func (c *Client) statuses(ctx context.Context, sha, name string) ([]status, error) {
	if err := wire.CheckSHA(sha); err != nil {
		return nil, err
	}
	// Without "all", a status that somebody else posted later hides the one before.
	query := url.Values{"all": {"true"}}
	if name != "" {
		query.Set("name", name)
	}
	found, err := wire.List[status](ctx, c.api, at("repository/commits/%s/statuses", sha), query)
	if err != nil {
		return nil, c.api.Explain(err, "read statuses of commit %s", sha)
	}
	found = slices.DeleteFunc(found, func(s status) bool { return s.SHA != sha })
	slices.SortFunc(found, func(a, b status) int { return cmp.Compare(b.ID, a.ID) })
	return found, nil
}

// posted maps states to those that GitLab takes.
var posted = map[forge.State]string{
	forge.StatePending: "pending", forge.StateSuccess: "success", forge.StateFailure: "failed", forge.StateError: "failed",
}

// PostStatus posts a commit status, if the commit has not got it. GitLab refuses the state that a
// status has until it ends, and takes a text only with another state: a pending status gets one
// more text, as it begins to run.
func (c *Client) PostStatus(ctx context.Context, r forge.StatusRequest) (forge.Status, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return forge.Status{}, err
	}
	r.Description = forge.Description(r.Description)
	have, state, err := c.nextState(ctx, r, self)
	if err != nil || state == "" {
		return have, err
	}
	body := map[string]string{"state": state, "name": r.Context, "description": r.Description}
	if r.TargetURL != "" {
		body["target_url"] = r.TargetURL
	}
	var made status
	err = c.api.Explain(c.api.Send(ctx, http.MethodPost, at("statuses/%s", r.SHA), body, &made), "post status %s on commit %s", r.Context, r.SHA)
	if forge.KindOf(err) != forge.Invalid {
		return made.status(), err
	}
	// Another process may have just posted it.
	have, state, problem := c.nextState(ctx, r, self)
	if problem != nil || state == "" {
		return have, problem
	}
	return forge.Status{}, err
}

// nextState returns our own status and the state to post; empty for none.
func (c *Client) nextState(ctx context.Context, r forge.StatusRequest, self forge.Account) (forge.Status, string, error) {
	all, err := c.statuses(ctx, r.SHA, r.Context)
	if err != nil {
		return forge.Status{}, "", err
	}
	wanted := posted[r.State]
	i := slices.IndexFunc(all, func(s status) bool { return s.Name == r.Context && s.Author.account().Same(self) })
	if i < 0 {
		return forge.Status{}, wanted, nil
	}
	have := all[i]
	same := have.Description == r.Description && have.TargetURL == r.TargetURL
	switch {
	case have.Status == wanted && same, wanted == "pending" && have.Status == "running":
		wanted = ""
	case wanted == "pending" && have.Status == "pending":
		wanted = "running"
	}
	return have.status(), wanted, nil
}

// CheckRuns fails: GitLab has none.
func (*Client) CheckRuns(context.Context, string, string, string) ([]forge.CheckRun, error) {
	return nil, wire.Invalid("GitLab has no check runs: use a gate commitStatus with the name of the job")
}

// OpenDeployment fails: it is not built.
func (*Client) OpenDeployment(context.Context, forge.DeploymentRequest) (forge.Deployment, error) {
	return forge.Deployment{}, wire.Invalid("Sluice makes no deployments on GitLab: remove spec.forge.environment")
}

// PostDeploymentStatus fails: it is not built.
func (*Client) PostDeploymentStatus(context.Context, forge.DeploymentStatusRequest) error {
	return wire.Invalid("Sluice makes no deployments on GitLab: remove spec.forge.environment")
}

// Keep puts a file into a commit of its own on top of a ref, with Git.
func (c *Client) Keep(ctx context.Context, file forge.KeptFile) error {
	return c.api.Explain(c.branches.Keep(ctx, file), "write %s", file.Ref)
}
