package devforge

import "github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"

func (s shapes) checkRun(r *repository, run *checkRun) object {
	url := s.api("/repos/%s/check-runs/%d", r.fullName(), run.id)
	page := s.html("/%s/runs/%d", r.fullName(), run.id)
	details := run.details
	if details == "" {
		details = page
	}
	return object{
		"id": run.id, "node_id": nodeID("CR", run.id), "head_sha": run.suite.sha, "name": run.name, "url": url, "html_url": page,
		"details_url": details, "external_id": run.external, "status": run.status, "conclusion": textOrNull(run.conclusion),
		"started_at": stamp(run.started), "completed_at": stampOrNull(run.completed), "app": s.integration(run.suite.app),
		"check_suite": object{"id": run.suite.id}, "pull_requests": s.pullsAt(r, run.suite.sha),
		"output": object{
			"title": textOrNull(run.title), "summary": textOrNull(run.summary), "text": textOrNull(run.outputText),
			"annotations_count": 0, "annotations_url": url + "/annotations",
		},
	}
}

// suiteState returns completed when all runs are, with the worst of their conclusions.
func (r *repository) suiteState(suite *checkSuite) (state, conclusion string, runs int) {
	state, conclusion = "completed", "success"
	for _, run := range r.runs {
		if run.suite != suite {
			continue
		}
		runs++
		if run.status != "completed" {
			state = "in_progress"
		}
		if run.conclusion != "success" && run.conclusion != "neutral" && run.conclusion != "skipped" {
			conclusion = run.conclusion
		}
	}
	switch {
	case runs == 0:
		return "queued", "", 0
	case state != "completed":
		return state, "", runs
	}
	return state, conclusion, runs
}

// suite returns a check suite as events have it.
func (s shapes) suite(r *repository, suite *checkSuite, commit gitcmd.Commit) object {
	state, conclusion, runs := r.suiteState(suite)
	url := s.api("/repos/%s/check-suites/%d", r.fullName(), suite.id)
	var before any
	if len(commit.Parents) > 0 {
		before = commit.Parents[0]
	}
	return object{
		"id": suite.id, "node_id": nodeID("CS", suite.id), "head_branch": textOrNull(suite.branch), "head_sha": suite.sha,
		"status": state, "conclusion": textOrNull(conclusion), "url": url, "before": before, "after": suite.sha,
		"app": s.integration(suite.app), "created_at": stamp(suite.created), "updated_at": stamp(suite.updated),
		"pull_requests": s.pullsAt(r, suite.sha), "latest_check_runs_count": runs, "check_runs_url": url + "/check-runs",
		"head_commit": simpleCommit(commit),
	}
}

// pullsAt returns the open pull requests whose head is at the commit.
func (s shapes) pullsAt(r *repository, sha string) []object {
	found := []object{}
	repo := object{"id": r.id, "url": s.api("/repos/%s", r.fullName()), "name": r.name}
	for _, p := range r.pulls {
		if !p.closed() && p.headSHA == sha {
			found = append(found, object{
				"id": p.id, "number": p.number, "url": s.api("/repos/%s/pulls/%d", r.fullName(), p.number),
				"head": object{"ref": p.head, "sha": p.headSHA, "repo": repo}, "base": object{"ref": p.base, "sha": p.baseSHA, "repo": repo},
			})
		}
	}
	return found
}
