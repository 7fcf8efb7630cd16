package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// rule is one of those that hold for a branch, with what is of use here: the library fails where it
// meets a type that it does not know.
type rule struct {
	Type       string          `json:"type"`
	Ruleset    int64           `json:"ruleset_id"`
	Parameters json.RawMessage `json:"parameters"`
}

// Protection returns what is asked of those who change a branch, by rules and by the protection
// that was there before them, of which few are shown more than that it is there.
func (c *Client) Protection(ctx context.Context, branch string) (forge.Protection, error) {
	if err := wire.CheckBranch(branch); err != nil {
		return forge.Protection{}, err
	}
	found, err := c.rules(ctx, branch)
	if err != nil {
		return forge.Protection{}, c.explain(err, "read the rules of branch %s", branch)
	}
	shape, _, err := get[github.Branch](ctx, c, "branches/"+url.PathEscape(branch))
	if err != nil {
		return forge.Protection{}, c.explain(err, "read branch %s", branch)
	}
	if !shape.GetProtected() || found.PullRequest { // rules count as protection, too
		return found, nil
	}
	found.Protected = true
	older, _, err := c.api.Repositories.GetBranchProtection(ctx, c.owner, c.name, branch)
	switch err = c.explain(err, "read the protection of branch %s", branch); forge.KindOf(err) {
	case forge.Forbidden, forge.NotFound:
		found.Hidden = true
		return found, nil
	}
	if err != nil {
		return forge.Protection{}, err
	}
	if reviews := older.GetRequiredPullRequestReviews(); reviews != nil {
		found.PullRequest, found.Approvals = true, reviews.RequiredApprovingReviewCount
		found.DismissesStale = reviews.DismissStaleReviews
	}
	found.AdminsBypass = older.EnforceAdmins == nil || !older.EnforceAdmins.Enabled
	return found, nil
}

// rules sums up the rules of a branch.
func (c *Client) rules(ctx context.Context, branch string) (forge.Protection, error) {
	var found forge.Protection
	rules, err := all(func(page github.ListOptions) ([]rule, *github.Response, error) {
		return get[[]rule](ctx, c, fmt.Sprintf("rules/branches/%s?page=%d&per_page=%d", url.PathEscape(branch), page.Page, page.PerPage))
	})
	if err != nil {
		return found, err
	}
	found.Protected = len(rules) > 0
	for _, rule := range rules {
		if rule.Type != "pull_request" {
			continue
		}
		var asks struct {
			Approvals int  `json:"required_approving_review_count"`
			Dismisses bool `json:"dismiss_stale_reviews_on_push"`
		}
		if err := json.Unmarshal(rule.Parameters, &asks); err != nil {
			return found, wire.Distrusted("the parameters of the rule can't be read")
		}
		found.PullRequest = true
		found.Approvals, found.DismissesStale = max(found.Approvals, asks.Approvals), found.DismissesStale || asks.Dismisses
		bypassed, err := c.bypass(ctx, rule.Ruleset)
		if err != nil {
			return found, err
		}
		found.WeBypass = found.WeBypass || bypassed
	}
	return found, nil
}

// bypass reports whether a set of rules does not hold us. Where the forge does not tell, it is not
// known.
func (c *Client) bypass(ctx context.Context, ruleset int64) (bool, error) {
	type rules struct {
		Bypass string `json:"current_user_can_bypass"`
	}
	set, _, err := get[rules](ctx, c, fmt.Sprintf("rulesets/%d", ruleset))
	switch err = c.explain(err, "read ruleset %d", ruleset); forge.KindOf(err) {
	case forge.Forbidden, forge.NotFound:
		return false, nil
	}
	return set.Bypass != "" && set.Bypass != "never", err
}

// get reads something of the repository for which the library has no call, or none that will do.
func get[T any](ctx context.Context, c *Client, path string) (T, *github.Response, error) {
	var found T
	request, err := c.api.NewRequest("GET", "repos/"+c.owner+"/"+c.name+"/"+path, nil)
	if err != nil {
		return found, nil, err
	}
	response, err := c.api.Do(ctx, request, &found)
	return found, response, err
}
