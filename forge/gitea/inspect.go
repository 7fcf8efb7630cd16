package gitea

import (
	"context"
	"net/http"
	"strings"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// noCommit is a name that no commit has.
const noCommit = "0000000000000000000000000000000000000000"

// May finds out whether we have a right, and changes nothing: for a right to write it asks for what
// can't be made, such as a status of a commit that there is not. Gitea checks the right first, and
// the rest of the request after that.
func (c *Client) May(ctx context.Context, right forge.Right, branch string) (bool, error) {
	if err := wire.CheckBranch(branch); err != nil {
		return false, err
	}
	var err error
	switch right {
	case forge.PushBranches:
		if _, err = c.readRepository(ctx); err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.repository.Permissions.Push, nil
		}
	case forge.OpenPullRequests: // of a branch into itself, and of a comment on none
		err = c.api.Send(ctx, http.MethodPost, "pulls", map[string]string{"title": "sluice check", "head": branch, "base": branch}, nil)
		if forge.KindOf(err) != forge.Forbidden {
			err = c.api.Send(ctx, http.MethodPost, "issues/0/comments", map[string]string{"body": "sluice check"}, nil)
		}
	case forge.PostStatuses:
		err = c.api.Send(ctx, http.MethodPost, at("statuses/%s", noCommit), map[string]string{"state": "pending", "context": "sluice/check"}, nil)
	case forge.ReadChecks, forge.MakeDeployments:
		return false, nil
	case forge.ReadContents:
		_, err = c.Tip(ctx, branch)
	}
	switch kind := forge.KindOf(err); {
	case err == nil, right.Writes() && (kind == forge.NotFound || kind == forge.Invalid || kind == forge.Conflict):
		return true, nil
	case kind == forge.Forbidden || kind == forge.NotFound:
		return false, nil
	}
	return false, c.api.Explain(err, "check the permission to %s", right)
}

// Lacking returns nothing: the scopes of a token can only be tried.
func (*Client) Lacking(context.Context) ([]string, error) { return nil, nil }

// Protection returns what is asked of those who change a branch, as far as people without the
// rights of an administrator are shown it.
func (c *Client) Protection(ctx context.Context, branch string) (forge.Protection, error) {
	if err := wire.CheckBranch(branch); err != nil {
		return forge.Protection{}, err
	}
	var found struct {
		Protected bool `json:"protected"`
		Approvals int  `json:"required_approvals"`
		WePush    bool `json:"user_can_push"`
	}
	err := c.api.Get(ctx, at("branches/%s", branch), nil, &found)
	return forge.Protection{
		Protected: found.Protected, Hidden: found.Protected, PullRequest: found.Protected && !found.WePush, Approvals: found.Approvals,
	}, c.api.Explain(err, "read branch %s", branch)
}

// Hooks returns the webhooks of the repository. They are shown to its administrators.
func (c *Client) Hooks(ctx context.Context) ([]forge.Hook, error) {
	type hook struct {
		Active bool     `json:"active"`
		Events []string `json:"events"`
		Config struct {
			URL         string `json:"url"`
			ContentType string `json:"content_type"`
		} `json:"config"`
	}
	found, err := wire.List[hook](ctx, c.api, "hooks", nil)
	hooks := make([]forge.Hook, 0, len(found))
	for _, h := range found { // Gitea shows no secret, and signs with an empty one, too
		hooks = append(hooks, forge.Hook{URL: h.Config.URL, ContentType: h.Config.ContentType, Events: eventsOf(h.Events), Active: h.Active, Signed: true})
	}
	return hooks, c.api.Explain(err, "list webhooks")
}

// eventsOf returns events by GitHub's names. Gitea tells kinds of reviews apart, and has no checks
// to tell of.
func eventsOf(events []string) []string {
	named := []string{"check_run", "check_suite"}
	for _, event := range events {
		if strings.HasPrefix(event, "pull_request_review_") {
			event = "pull_request_review"
		}
		named = append(named, event)
	}
	return named
}
