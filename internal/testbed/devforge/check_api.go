package devforge

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// checkSuite holds one app's checks of one commit.
type checkSuite struct {
	id          int64
	app         *app
	sha, branch string
	// fork is set for that of a pull request from a fork, which has no branch.
	fork             bool
	created, updated time.Time
}

// checkRun is one check of a suite.
type checkRun struct {
	id                         int64
	suite                      *checkSuite
	name, details, external    string
	status, conclusion         string
	started, completed         time.Time
	title, summary, outputText string
}

var (
	checkStatuses    = []string{"queued", "in_progress", "completed", "waiting", "requested", "pending"}
	checkConclusions = []string{"success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required", "stale"}
)

type checkRequest struct {
	Name        *string    `json:"name"`
	HeadSHA     string     `json:"head_sha"`
	DetailsURL  *string    `json:"details_url"`
	ExternalID  *string    `json:"external_id"`
	Status      *string    `json:"status"`
	Conclusion  *string    `json:"conclusion"`
	StartedAt   *time.Time `json:"started_at"`
	CompletedAt *time.Time `json:"completed_at"`
	Output      *struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
		Text    string `json:"text"`
	} `json:"output"`
}

// checkingApp returns the app that calls: users can't write checks.
func (c *call) checkingApp() (*app, error) {
	if a := c.by.integration(); a != nil {
		return a, nil
	}
	return nil, refuse(http.StatusForbidden, "You must authenticate via a GitHub App.")
}

func (c *call) createCheckRun() (answer, error) {
	a, err := c.checkingApp()
	if err != nil {
		return answer{}, err
	}
	in, err := decode[checkRequest](c)
	if err != nil {
		return answer{}, err
	}
	if in.Name == nil || *in.Name == "" {
		return answer{}, invalid("CheckRun", "name", "missing_field", "name is missing")
	}
	if err := c.knownCommit(in.HeadSHA); err != nil {
		return answer{}, refuse(http.StatusUnprocessableEntity, "No commit found for SHA: "+in.HeadSHA)
	}
	run := &checkRun{id: c.forge.ids.next(), status: "queued", started: c.forge.now()}
	if err := c.applyCheck(run, in); err != nil {
		return answer{}, err
	}
	if run.suite, err = c.suiteOf(a, in.HeadSHA); err != nil {
		return answer{}, err
	}
	c.repo.runs = append(c.repo.runs, run)
	if err := c.tellCheck(run, "created"); err != nil {
		return answer{}, err
	}
	return created(c.forge.shape.checkRun(c.repo, run))
}

// ForkRun makes a completed check run of an app on a commit, as a pull request from a fork does
// whose head the commit is: in a suite of its own, without a branch.
func (f *Forge) ForkRun(repository string, app int64, sha, name, conclusion string) error {
	repo, a := f.repos.get(repository), f.who.app(app)
	if repo == nil || a == nil {
		return fmt.Errorf("make check run in %s by app %d: %w", repository, app, ErrUnknown)
	}
	repo.mu.Lock()
	defer repo.mu.Unlock()
	now := f.now()
	suite := &checkSuite{id: f.ids.next(), app: a, sha: sha, fork: true, created: now, updated: now}
	repo.suites = append(repo.suites, suite)
	repo.runs = append(repo.runs, &checkRun{
		id: f.ids.next(), suite: suite, name: name, status: "completed", conclusion: conclusion, started: now, completed: now,
	})
	return nil
}

func (c *call) getCheckRun() (answer, error) {
	run := c.theCheckRun()
	if run == nil {
		return answer{}, errNotFound
	}
	return ok(c.forge.shape.checkRun(c.repo, run))
}

func (c *call) theCheckRun() *checkRun {
	id := c.number("check_run_id")
	for _, run := range c.repo.runs {
		if run.id == id {
			return run
		}
	}
	return nil
}

func (c *call) updateCheckRun() (answer, error) {
	a, err := c.checkingApp()
	if err != nil {
		return answer{}, err
	}
	run := c.theCheckRun()
	if run == nil {
		return answer{}, errNotFound
	}
	if run.suite.app != a {
		return answer{}, refuse(http.StatusForbidden, "Invalid app_id `"+strconv.FormatInt(a.id, 10)+"` - check run can only be modified by the GitHub App that created it.")
	}
	in, err := decode[checkRequest](c)
	if err != nil {
		return answer{}, err
	}
	if err := c.applyCheck(run, in); err != nil {
		return answer{}, err
	}
	if err := c.tellCheck(run, ""); err != nil {
		return answer{}, err
	}
	return ok(c.forge.shape.checkRun(c.repo, run))
}

// applyCheck checks the request and sets what is given.
func (c *call) applyCheck(run *checkRun, in checkRequest) error {
	switch {
	case in.Status != nil && !slices.Contains(checkStatuses, *in.Status):
		return invalid("CheckRun", "status", "invalid", "status is not included in the list")
	case in.Conclusion != nil && !slices.Contains(checkConclusions, *in.Conclusion):
		return invalid("CheckRun", "conclusion", "invalid", "conclusion is not included in the list")
	case in.Status != nil && *in.Status == "completed" && in.Conclusion == nil:
		return invalid("CheckRun", "conclusion", "missing_field", "a completed check run has a conclusion")
	}
	setText(&run.name, in.Name)
	setText(&run.details, in.DetailsURL)
	setText(&run.external, in.ExternalID)
	setText(&run.status, in.Status)
	if in.StartedAt != nil {
		run.started = *in.StartedAt
	}
	if in.Output != nil {
		run.title, run.summary, run.outputText = in.Output.Title, in.Output.Summary, in.Output.Text
	}
	switch {
	case in.Conclusion != nil:
		run.status, run.conclusion, run.completed = "completed", *in.Conclusion, c.forge.now()
	case in.Status != nil:
		run.conclusion, run.completed = "", time.Time{}
	}
	if in.CompletedAt != nil {
		run.completed = *in.CompletedAt
	}
	return nil
}

func setText(target, value *string) {
	if value != nil {
		*target = *value
	}
}

// suiteOf returns the app's suite for a commit, made when first asked for.
func (c *call) suiteOf(a *app, sha string) (*checkSuite, error) {
	for _, suite := range c.repo.suites {
		if suite.app == a && suite.sha == sha && !suite.fork {
			return suite, nil
		}
	}
	branches, err := c.repo.git.BranchesContaining(c.ctx, sha)
	if err != nil {
		return nil, err
	}
	now := c.forge.now()
	suite := &checkSuite{id: c.forge.ids.next(), app: a, sha: sha, created: now, updated: now}
	if len(branches) > 0 {
		suite.branch = branches[0]
	}
	c.repo.suites = append(c.repo.suites, suite)
	return suite, nil
}

// listCheckRuns gives those of a commit, newest first; of runs of one name and app the last one
// only, unless the request asks for all.
func (c *call) listCheckRuns() (answer, error) {
	sha, err := c.namedCommit()
	if err != nil {
		return answer{}, err
	}
	seen := map[string]bool{}
	var found []*checkRun
	for _, run := range slices.Backward(c.repo.runs) {
		key := strconv.FormatInt(run.suite.id, 10) + "/" + run.name
		hidden := seen[key] && cmp.Or(c.query("filter"), "latest") == "latest"
		if run.suite.sha == sha && !hidden && c.asksForRun(run) {
			found = append(found, run)
		}
		seen[key] = true
	}
	return ok(object{
		"total_count": len(found),
		"check_runs":  each(pageOf(c, found), func(run *checkRun) object { return c.forge.shape.checkRun(c.repo, run) }),
	})
}

// listCheckSuites gives those of a commit.
func (c *call) listCheckSuites() (answer, error) {
	sha, err := c.namedCommit()
	if err != nil {
		return answer{}, err
	}
	commit, err := c.repo.git.Commit(sha)
	if err != nil {
		return answer{}, err
	}
	has := func(suite *checkSuite, name string) bool {
		return name == "" || slices.ContainsFunc(c.repo.runs, func(r *checkRun) bool { return r.suite == suite && r.name == name })
	}
	var found []*checkSuite
	for _, suite := range c.repo.suites {
		if suite.sha == sha && c.asksForApp(suite.app) && has(suite, c.query("check_name")) {
			found = append(found, suite)
		}
	}
	return ok(object{
		"total_count": len(found),
		"check_suites": each(pageOf(c, found), func(suite *checkSuite) object {
			return with(c.forge.shape.suite(c.repo, suite, commit), object{"repository": c.forge.shape.repository(c.repo)})
		}),
	})
}

func (c *call) asksForRun(run *checkRun) bool {
	name, status := c.query("check_name"), c.query("status")
	return (name == "" || name == run.name) && (status == "" || status == run.status) && c.asksForApp(run.suite.app)
}

func (c *call) asksForApp(a *app) bool {
	id := c.query("app_id")
	return id == "" || id == strconv.FormatInt(a.id, 10)
}
