package devforge

import (
	"context"
	"maps"
	"strings"
)

// event is something that happened in a repository, as its hooks are told.
type event struct {
	// name is the one that GitHub uses, such as pull_request.
	name    string
	payload object
}

// emit tells all hooks that want to know.
func (f *Forge) emit(repo *repository, by *account, e event) {
	e.payload["repository"], e.payload["sender"] = f.shape.repository(repo), f.shape.account(by)
	for _, h := range repo.hooks {
		if h.wants(e.name) {
			f.deliver(repo, h, e)
		}
	}
}

// pullEvent is something that happened to a pull request.
type pullEvent struct {
	pull   *pull
	action string
	// more is added to the payload.
	more object
}

func (f *Forge) emitPull(ctx context.Context, repo *repository, by *account, e pullEvent) error {
	if !repo.listening("pull_request") {
		return nil
	}
	shape, err := f.fullPull(ctx, repo, e.pull)
	if err != nil {
		return err
	}
	payload := object{"action": e.action, "number": e.pull.number, "pull_request": shape}
	maps.Copy(payload, e.more)
	f.emit(repo, by, event{name: "pull_request", payload: payload})
	return nil
}

// emitReview writes the state in lower case, as GitHub does in events and nowhere else.
func (f *Forge) emitReview(c *call, p *pull, v *review, action string) error {
	if !c.repo.listening("pull_request_review") {
		return nil
	}
	if err := f.tryMerge(c.ctx, c.repo, p); err != nil {
		return err
	}
	shape := with(f.shape.review(c.repo, p, v), object{"state": strings.ToLower(v.state), "body": textOrNull(v.body)})
	f.emit(c.repo, c.by.account, event{name: "pull_request_review", payload: object{
		"action": action, "review": shape, "pull_request": f.shape.pull(c.repo, p),
	}})
	return nil
}

func (c *call) emitStatus(sha string, v *status) error {
	if !c.repo.listening("status") {
		return nil
	}
	commit, err := c.repo.git.Commit(sha)
	if err != nil {
		return err
	}
	names, err := c.repo.git.BranchesContaining(c.ctx, sha)
	if err != nil {
		return err
	}
	c.forge.emit(c.repo, c.by.account, event{name: "status", payload: object{
		"id": v.id, "sha": sha, "name": c.repo.fullName(), "target_url": textOrNull(v.target), "context": v.context,
		"avatar_url": c.forge.shape.html("/avatars/%d", v.creator.id), "description": textOrNull(v.description), "state": v.state,
		"commit": c.commit(commit), "created_at": stamp(v.created), "updated_at": stamp(v.created),
		"branches": each(names, func(name string) object {
			tip := c.repo.refs[branchPrefix+name]
			url := c.forge.shape.api("/repos/%s/commits/%s", c.repo.fullName(), tip)
			return object{"name": name, "commit": object{"sha": tip, "url": url}, "protected": false}
		}),
	}})
	return nil
}

// tellCheck tells of a run that was made or has changed, and of its suite when all its runs have
// ended.
func (c *call) tellCheck(run *checkRun, action string) error {
	run.suite.updated = c.forge.now()
	commit, err := c.repo.git.Commit(run.suite.sha)
	if err != nil {
		return err
	}
	if action != "" {
		c.emitCheck(run, commit.Parents, action)
	}
	if run.status != "completed" {
		return nil
	}
	c.emitCheck(run, commit.Parents, "completed")
	if state, _, _ := c.repo.suiteState(run.suite); state == "completed" && c.repo.listening("check_suite") {
		c.forge.emit(c.repo, c.by.account, event{name: "check_suite", payload: object{
			"action": "completed", "check_suite": c.forge.shape.suite(c.repo, run.suite, commit),
		}})
	}
	return nil
}

func (c *call) emitCheck(run *checkRun, parents []string, action string) {
	if !c.repo.listening("check_run") {
		return
	}
	s := c.forge.shape
	state, conclusion, _ := c.repo.suiteState(run.suite)
	before := any(nil)
	if len(parents) > 0 {
		before = parents[0]
	}
	suite := object{
		"id": run.suite.id, "node_id": nodeID("CS", run.suite.id), "head_branch": textOrNull(run.suite.branch), "head_sha": run.suite.sha,
		"status": state, "conclusion": textOrNull(conclusion), "before": before, "after": run.suite.sha,
		"url": s.api("/repos/%s/check-suites/%d", c.repo.fullName(), run.suite.id), "app": s.integration(run.suite.app),
		"pull_requests": s.pullsAt(c.repo, run.suite.sha), "created_at": stamp(run.suite.created), "updated_at": stamp(run.suite.updated),
	}
	c.forge.emit(c.repo, c.by.account, event{name: "check_run", payload: object{
		"action": action, "check_run": with(s.checkRun(c.repo, run), object{"check_suite": suite}),
	}})
}
