package gitlab

import (
	"context"
	"slices"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// May finds out whether we have a right, and changes nothing: a developer has all of them, if the
// token has the scope.
func (c *Client) May(ctx context.Context, right forge.Right, branch string) (bool, error) {
	if err := wire.CheckBranch(branch); err != nil {
		return false, err
	}
	switch right {
	case forge.ReadChecks, forge.MakeDeployments:
		return false, nil
	case forge.ReadContents:
		_, err := c.Tip(ctx, branch)
		if kind := forge.KindOf(err); kind == forge.Forbidden || kind == forge.NotFound {
			return false, nil
		}
		return err == nil, err
	case forge.PushBranches, forge.OpenPullRequests, forge.PostStatuses:
	}
	self, err := c.Self(ctx)
	if err != nil {
		return false, err
	}
	level, err := c.level(ctx, self)
	if err != nil || level < developer {
		return false, err
	}
	lacking, err := c.Lacking(ctx)
	return len(lacking) == 0, err
}

// Lacking returns the scope that the token needs and has not got.
func (c *Client) Lacking(ctx context.Context) ([]string, error) {
	var token struct {
		Scopes []string `json:"scopes"`
	}
	err := c.api.Explain(c.api.Get(ctx, root("personal_access_tokens/self"), nil, &token), "read the scopes of the token")
	if forge.KindOf(err) == forge.NotFound {
		return nil, nil // it is a token of another kind
	}
	if err != nil || slices.Contains(token.Scopes, "api") {
		return nil, err
	}
	return []string{"api"}, nil
}

// Protection returns what is asked of those who change a branch, as far as developers are shown it.
func (c *Client) Protection(ctx context.Context, branch string) (forge.Protection, error) {
	if err := wire.CheckBranch(branch); err != nil {
		return forge.Protection{}, err
	}
	var found struct {
		Protected      bool `json:"protected"`
		DevelopersPush bool `json:"developers_can_push"`
		WePush         bool `json:"can_push"`
	}
	err := c.api.Get(ctx, at("repository/branches/%s", branch), nil, &found)
	return forge.Protection{
		Protected: found.Protected, Hidden: found.Protected,
		PullRequest: found.Protected && !found.DevelopersPush, WeBypass: found.Protected && found.WePush,
	}, c.api.Explain(err, "read branch %s", branch)
}

// Hooks returns the webhooks of the project. They are shown to its maintainers.
func (c *Client) Hooks(ctx context.Context) ([]forge.Hook, error) {
	type hook struct {
		URL           string `json:"url"`
		Push          bool   `json:"push_events"`
		MergeRequests bool   `json:"merge_requests_events"`
		Pipelines     bool   `json:"pipeline_events"`
		Jobs          bool   `json:"job_events"`
		Status        string `json:"alert_status"`
		Token         *bool  `json:"token_present"`
		Signing       *bool  `json:"signing_token_present"`
	}
	found, err := wire.List[hook](ctx, c.api, "hooks", nil)
	hooks := make([]forge.Hook, 0, len(found))
	for _, h := range found { // older servers don't tell whether there is a secret
		made := forge.Hook{URL: h.URL, ContentType: "json", Active: h.Status == "" || h.Status == "executable", Signed: h.Token == nil || *h.Token || h.Signing != nil && *h.Signing}
		for _, of := range []struct {
			on     bool
			events []string
		}{
			{h.Push, []string{"push"}},
			{h.MergeRequests, []string{"pull_request", "pull_request_review"}},
			{h.Pipelines || h.Jobs, []string{"status", "check_run", "check_suite"}},
		} {
			if of.on {
				made.Events = append(made.Events, of.events...)
			}
		}
		hooks = append(hooks, made)
	}
	return hooks, c.api.Explain(err, "list webhooks")
}
