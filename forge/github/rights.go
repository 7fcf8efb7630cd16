package github

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// noCommit is a name that no commit has.
const noCommit = "0000000000000000000000000000000000000000"

// May finds out whether we have a right, and changes nothing: for a right to write it asks for what
// can't be made, such as a status of a commit that there is not. A forge checks the right first,
// and the rest of the request after that. The branch is the tracked one.
func (c *Client) May(ctx context.Context, right forge.Right, branch string) (bool, error) {
	if err := wire.CheckBranch(branch); err != nil {
		return false, err
	}
	err := c.try(ctx, right, branch)
	kind := forge.KindOf(err)
	switch {
	case err == nil, right.Writes() && (kind == forge.Invalid || kind == forge.Conflict):
		return true, nil
	case kind == forge.Forbidden || kind == forge.NotFound:
		return false, nil
	}
	return false, err
}

// try asks for the least that takes a right.
func (c *Client) try(ctx context.Context, right forge.Right, branch string) error {
	var err error
	switch right {
	case forge.PushBranches:
		_, _, err = c.api.Git.CreateRef(ctx, c.owner, c.name, &github.Reference{
			Ref: new("refs/heads/" + forge.BranchPrefix + "check"), Object: &github.GitObject{SHA: new(noCommit)},
		})
	case forge.OpenPullRequests: // of a branch into itself
		_, _, err = c.api.PullRequests.Create(ctx, c.owner, c.name, &github.NewPullRequest{
			Title: new("sluice check"), Head: new(branch), Base: new(branch),
		})
	case forge.PostStatuses:
		_, _, err = c.api.Repositories.CreateStatus(ctx, c.owner, c.name, noCommit, &github.RepoStatus{
			State: new(string(forge.StatePending)), Context: new("sluice/check"),
		})
	case forge.MakeDeployments:
		_, _, err = c.api.Repositories.CreateDeployment(ctx, c.owner, c.name, &github.DeploymentRequest{
			Ref: new(noCommit), AutoMerge: new(false),
		})
	case forge.ReadChecks:
		_, _, err = c.api.Checks.ListCheckRunsForRef(ctx, c.owner, c.name, branch, nil)
	default:
		_, err = c.Tip(ctx, branch)
		return err
	}
	return c.explain(err, "check the permission to %s", right)
}

// Lacking returns the permissions that we need and that the installation of the app was not given,
// as the forge names them. The permissions of a token can't be read, only tried.
func (c *Client) Lacking(ctx context.Context) ([]string, error) {
	as, isApp := c.credentials.(*installation)
	if !isApp {
		return nil, nil
	}
	found, _, err := as.api.Apps.FindRepositoryInstallation(ctx, c.owner, c.name)
	if err != nil {
		return nil, c.explain(err, "look up the app's installation in %s/%s", c.owner, c.name)
	}
	given, err := levels(found.GetPermissions())
	if err != nil {
		return nil, err
	}
	needed, err := levels(as.app.permissions())
	if err != nil {
		return nil, err
	}
	var lacking []string
	for name, level := range needed {
		if given[name] != level && given[name] != "write" {
			lacking = append(lacking, name+": "+level)
		}
	}
	slices.Sort(lacking)
	return lacking, nil
}

// levels returns permissions by their names.
func levels(permissions *github.InstallationPermissions) (map[string]string, error) {
	raw, err := json.Marshal(permissions)
	if err != nil {
		return nil, fmt.Errorf("encode permissions: %w", err)
	}
	var byName map[string]string
	if err := json.Unmarshal(raw, &byName); err != nil {
		return nil, wire.Distrusted("the permissions in the answer can't be read")
	}
	return byName, nil
}

// Hooks returns the webhooks of the repository. They are shown to few.
func (c *Client) Hooks(ctx context.Context) ([]forge.Hook, error) {
	found, err := all(func(page github.ListOptions) ([]*github.Hook, *github.Response, error) {
		return c.api.Repositories.ListHooks(ctx, c.owner, c.name, &page)
	})
	if err != nil {
		return nil, c.explain(err, "list webhooks")
	}
	return convert(found, hook), nil
}

func hook(h *github.Hook) forge.Hook {
	config := h.GetConfig()
	return forge.Hook{
		URL: config.GetURL(), ContentType: config.GetContentType(), Events: h.Events, Active: h.GetActive(),
		Signed: config.GetSecret() != "",
	}
}
