package github

import (
	"context"
	"slices"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// CommitStatuses returns the statuses of a commit in one context, compared without case, newest
// first and with their creators. The newest one by one of the creators, or by anybody if none are
// given, is always among them; older ones need not be: a commit can have thousands, and reading
// ends with the page that holds the one that is looked for. A commit that has so many that it can't
// be found is an error of kind Invalid.
func (c *Client) CommitStatuses(ctx context.Context, sha, name string, creators ...forge.Account) ([]forge.Status, error) {
	if err := wire.CheckSHA(sha); err != nil {
		return nil, err
	}
	list := func(page github.ListOptions) ([]*github.RepoStatus, *github.Response, error) {
		return c.api.Repositories.ListStatuses(ctx, c.owner, c.name, sha, &page)
	}
	wanted := func(s forge.Status) bool { return len(creators) == 0 || slices.ContainsFunc(creators, s.Creator.Same) }
	var statuses []forge.Status
	seen := 0
	err := walk(list, func(some []*github.RepoStatus) bool {
		seen += len(some)
		inContext := slices.DeleteFunc(convert(some, status(sha)), func(s forge.Status) bool { return !strings.EqualFold(s.Context, name) })
		statuses = append(statuses, inContext...)
		return slices.ContainsFunc(inContext, wanted)
	})
	// Full pages are whole; of any other a newer status may be missing that takes back what is there.
	if err == nil && (seen == 0 || seen%pageSize != 0) {
		err = countedAll(seen, list)
	}
	if err != nil {
		return nil, c.explain(err, "read statuses of commit %s", sha)
	}
	slices.SortStableFunc(statuses, func(a, b forge.Status) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return statuses, nil
}

// CheckRuns returns the latest runs of a check on a commit, of all apps, or of the one with that
// slug.
func (c *Client) CheckRuns(ctx context.Context, sha, name, app string) ([]forge.CheckRun, error) {
	if err := wire.CheckSHA(sha); err != nil {
		return nil, err
	}
	total := 0
	runs, err := all(func(page github.ListOptions) ([]*github.CheckRun, *github.Response, error) {
		found, resp, err := c.api.Checks.ListCheckRunsForRef(ctx, c.owner, c.name, sha, &github.ListCheckRunsOptions{
			CheckName: &name, Filter: new("latest"), ListOptions: page,
		})
		if err != nil {
			return nil, resp, err
		}
		total = found.GetTotal()
		return found.CheckRuns, resp, nil
	})
	if err == nil {
		err = counted(len(runs), total)
	}
	if err != nil {
		return nil, c.explain(err, "read check runs of commit %s", sha)
	}
	suites := map[int64]int64{}
	for _, run := range runs {
		suites[run.GetID()] = run.GetCheckSuite().GetID()
	}
	found := slices.DeleteFunc(convert(runs, checkRun), func(r forge.CheckRun) bool {
		return r.Name != name || app != "" && r.App.Slug != app
	})
	return found, c.addBranches(ctx, sha, name, found, suites)
}

// addBranches adds for which branch runs of workflows were made. GitHub says that only of their
// suites.
func (c *Client) addBranches(ctx context.Context, sha, name string, runs []forge.CheckRun, suiteOf map[int64]int64) error {
	if !slices.ContainsFunc(runs, func(r forge.CheckRun) bool { return r.App.Slug == forge.ActionsApp }) {
		return nil
	}
	suites, err := all(func(page github.ListOptions) ([]*github.CheckSuite, *github.Response, error) {
		found, resp, err := c.api.Checks.ListCheckSuitesForRef(ctx, c.owner, c.name, sha, &github.ListCheckSuiteOptions{CheckName: &name, ListOptions: page})
		if err != nil {
			return nil, resp, err
		}
		return found.CheckSuites, resp, nil
	})
	if err != nil {
		return c.explain(err, "read check suites of commit %s", sha)
	}
	for i := range runs {
		for _, suite := range suites {
			if suite.GetID() == suiteOf[runs[i].ID] && runs[i].App.Slug == forge.ActionsApp {
				runs[i].Branch = suite.GetHeadBranch()
			}
		}
	}
	return nil
}

// PostStatus posts a commit status. Posting the same again is harmless, save that GitHub keeps
// a thousand of one context and refuses more, which is of kind Invalid.
func (c *Client) PostStatus(ctx context.Context, r forge.StatusRequest) (forge.Status, error) {
	if err := wire.CheckSHA(r.SHA); err != nil {
		return forge.Status{}, err
	}
	posted, _, err := c.api.Repositories.CreateStatus(ctx, c.owner, c.name, r.SHA, &github.RepoStatus{
		State:       new(string(r.State)),
		Context:     &r.Context,
		Description: new(forge.Description(r.Description)),
		TargetURL:   optional(r.TargetURL),
	})
	return status(r.SHA)(posted), c.explain(err, "post status %s on commit %s", r.Context, r.SHA)
}

// OpenDeployment makes a deployment, or finds the one that has the same commit, task and
// environment.
func (c *Client) OpenDeployment(ctx context.Context, r forge.DeploymentRequest) (forge.Deployment, error) {
	if err := wire.CheckSHA(r.SHA); err != nil {
		return forge.Deployment{}, err
	}
	known, err := allCounted(func(page github.ListOptions) ([]*github.Deployment, *github.Response, error) {
		return c.api.Repositories.ListDeployments(ctx, c.owner, c.name, &github.DeploymentsListOptions{
			SHA: r.SHA, Task: r.Task, Environment: r.Environment, ListOptions: page,
		})
	})
	if err != nil {
		return forge.Deployment{}, c.explain(err, "look for deployments of commit %s", r.SHA)
	}
	for _, d := range convert(known, deployment) {
		if d.SHA == r.SHA && d.Task == r.Task && d.Environment == r.Environment {
			return d, nil
		}
	}
	made, _, err := c.api.Repositories.CreateDeployment(ctx, c.owner, c.name, &github.DeploymentRequest{
		Ref:         &r.SHA,
		Task:        &r.Task,
		Environment: &r.Environment,
		Description: new(forge.Description(r.Description)),
		// It says what happens and asks for nothing: no merge, no waiting for checks.
		AutoMerge:        new(false),
		RequiredContexts: &[]string{},
	})
	return deployment(made), c.explain(err, "create deployment of commit %s", r.SHA)
}

// PostDeploymentStatus gives a deployment a new state. Posting the same again is harmless.
func (c *Client) PostDeploymentStatus(ctx context.Context, r forge.DeploymentStatusRequest) error {
	_, _, err := c.api.Repositories.CreateDeploymentStatus(ctx, c.owner, c.name, r.DeploymentID, &github.DeploymentStatusRequest{
		State:       new(string(r.State)),
		Description: new(forge.Description(r.Description)),
		LogURL:      optional(r.LogURL),
		// Releases share an environment: the success of one ends no other's deployment.
		AutoInactive: new(false),
	})
	return c.explain(err, "post status of deployment %d", r.DeploymentID)
}

// optional leaves an empty string out of a request.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Keep puts a file into a commit of its own on top of a ref, with Git.
func (c *Client) Keep(ctx context.Context, file forge.KeptFile) error {
	return c.explain(c.branches.Keep(ctx, file), "write %s", file.Ref)
}
