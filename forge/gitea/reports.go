package gitea

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

// CommitStatuses returns the statuses of a commit in one context, newest first.
func (c *Client) CommitStatuses(ctx context.Context, sha, name string, creators ...forge.Account) ([]forge.Status, error) {
	if err := wire.CheckSHA(sha); err != nil {
		return nil, err
	}
	wanted := func(s forge.Status) bool { return len(creators) == 0 || slices.ContainsFunc(creators, s.Creator.Same) }
	var statuses []forge.Status
	query := url.Values{"sort": {"recentupdate"}}
	err := wire.Walk(ctx, c.api, at("statuses/%s", sha), query, func(some []status) bool {
		found := wire.Convert(some, func(s *status) forge.Status { return s.status(sha) })
		found = slices.DeleteFunc(found, func(s forge.Status) bool { return !strings.EqualFold(s.Context, name) })
		statuses = append(statuses, found...)
		return slices.ContainsFunc(found, wanted)
	})
	if err != nil {
		return nil, c.api.Explain(err, "read statuses of commit %s", sha)
	}
	slices.SortStableFunc(statuses, func(a, b forge.Status) int { return cmp.Compare(b.ID, a.ID) })
	return statuses, nil
}

// PostStatus posts a commit status.
func (c *Client) PostStatus(ctx context.Context, r forge.StatusRequest) (forge.Status, error) {
	if err := wire.CheckSHA(r.SHA); err != nil {
		return forge.Status{}, err
	}
	body := map[string]string{"state": string(r.State), "context": r.Context, "description": forge.Description(r.Description)}
	if r.TargetURL != "" {
		body["target_url"] = r.TargetURL
	}
	var posted status
	err := c.api.Send(ctx, http.MethodPost, at("statuses/%s", r.SHA), body, &posted)
	return posted.status(r.SHA), c.api.Explain(err, "post status %s on commit %s", r.Context, r.SHA)
}

// CheckRuns fails: Gitea has none.
func (*Client) CheckRuns(context.Context, string, string, string) ([]forge.CheckRun, error) {
	return nil, wire.Invalid("Gitea has no check runs: use a gate commitStatus")
}

// OpenDeployment fails: Gitea has none.
func (*Client) OpenDeployment(context.Context, forge.DeploymentRequest) (forge.Deployment, error) {
	return forge.Deployment{}, wire.Invalid("Gitea has no deployments: remove spec.forge.environment")
}

// PostDeploymentStatus fails: Gitea has none.
func (*Client) PostDeploymentStatus(context.Context, forge.DeploymentStatusRequest) error {
	return wire.Invalid("Gitea has no deployments: remove spec.forge.environment")
}

// Keep puts a file into a commit of its own on top of a ref, with Git.
func (c *Client) Keep(ctx context.Context, file forge.KeptFile) error {
	return c.api.Explain(c.branches.Keep(ctx, file), "write %s", file.Ref)
}
