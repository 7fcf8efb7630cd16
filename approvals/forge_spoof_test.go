package approvals_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// smoke waits for ci/smoke of ci.
func smoke() v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{CommitStatus: &v1alpha1.CommitStatusGate{Context: "ci/smoke", Creators: []string{"ci"}}}
}

func endToEnd(conclusions ...v1alpha1.CheckConclusion) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{CheckRun: &v1alpha1.CheckRunGate{Name: "e2e", App: "tester", Conclusions: conclusions}}
}

// reportCase holds the posts for a release commit on the forge, and the gate's decision.
type reportCase struct {
	reason string
	policy v1alpha1.GatePolicy
	act    func(*shop)
	// says is part of the message of a gate that stays shut; empty for one that opens.
	says string
}

// posts returns a function that posts statuses of the release commit: login, context and state.
func posts(lines ...[3]string) func(*shop) {
	return func(s *shop) {
		for _, line := range lines {
			s.post(line[0], s.commit, line[1], line[2])
		}
	}
}

var reportCases = map[string]reportCase{
	"right":      {reason: "it is what is waited for", policy: smoke(), act: posts([3]string{"ci", "ci/smoke", "success"})},
	"other-case": {reason: "contexts differ not in case alone", policy: smoke(), act: posts([3]string{"ci", "CI/Smoke", "success"})},
	"wrong-actor": {
		reason: "whoever may write can post any context", policy: smoke(),
		act: posts([3]string{"eve", "ci/smoke", "success"}), says: "what eve posted does not count",
	},
	"wrong-actor-other-case": {
		reason: "nor does it count in another case", policy: smoke(),
		act: posts([3]string{"eve", "CI/SMOKE", "success"}), says: "what eve posted does not count",
	},
	"wrong-actor-after": {
		reason: "who does not count takes nothing back", policy: smoke(),
		act: posts([3]string{"ci", "ci/smoke", "success"}, [3]string{"eve", "ci/smoke", "failure"}),
	},
	"wrong-actor-over-and-over": {
		reason: "nor hides it behind many others", policy: smoke(),
		act: func(s *shop) {
			s.post("ci", s.commit, "ci/smoke", "success")
			for range 110 {
				s.post("eve", s.commit, "ci/smoke", "error")
			}
		},
	},
	"overruled-failure": {
		reason: "the newest counts", policy: smoke(),
		act: posts([3]string{"ci", "ci/smoke", "failure"}, [3]string{"eve", "ci/smoke", "success"}), says: "it is failure",
	},
	"failed-after-all": {
		reason: "the newest counts", policy: smoke(),
		act: posts([3]string{"ci", "ci/smoke", "success"}, [3]string{"ci", "CI/smoke", "failure"}), says: "it is failure",
	},
	"success-failure-success": {
		reason: "the newest counts", policy: smoke(),
		act: posts([3]string{"ci", "ci/smoke", "success"}, [3]string{"ci", "ci/smoke", "failure"}, [3]string{"ci", "ci/smoke", "success"}),
	},
	"other-commit": {
		reason: "a status of another commit says nothing of the release", policy: smoke(),
		act: func(s *shop) { s.post("ci", s.put("ada", "main", "README", "later\n"), "ci/smoke", "success") }, says: "waits for status ci/smoke on commit",
	},
	"made-from-a-green-commit": {
		reason: "whoever writes a commit writes from which other one it was made", policy: smoke(),
		act: func(s *shop) {
			green := s.put("ada", "main", "README", "tested\n")
			s.post("ci", green, "ci/smoke", "success")
			from := &v1alpha1.ReferenceCommit{SHA: green, Author: "Ada", Subject: "Tested"}
			s.annotate(v1alpha1.ReferenceAnnotation + "=" + from.Text())
			s.asRollout(s.release, func(status *v1alpha1.BatchReleaseStatus) { status.CommitReference = from })
		},
		says: "waits for status ci/smoke on commit",
	},
	"missing": {
		reason: "nothing is no success", policy: smoke(),
		act: posts([3]string{"ci", "ci/other", "success"}), says: "waits for status ci/smoke on commit",
	},
	"ours": {
		reason: "we don't wait for ourselves",
		policy: v1alpha1.GatePolicy{CommitStatus: &v1alpha1.CommitStatusGate{Context: "Sluice/shop/other", Creators: []string{"sluice"}}},
		act:    posts([3]string{"sluice", "sluice/shop/other", "success"}), says: "Sluice's own",
	},
	"check": {
		reason: "it is what is waited for", policy: endToEnd(),
		act: func(s *shop) { s.check("tester", "success") },
	},
	"check-wrong-app": {
		reason: "any app can make a run of that name", policy: endToEnd(),
		act: func(s *shop) { s.check("other", "success") }, says: "waits for check e2e of tester",
	},
	"check-neutral": {
		reason: "a conclusion that is not listed is no success", policy: endToEnd(),
		act: func(s *shop) { s.check("tester", "neutral") }, says: "it ended with neutral",
	},
	"check-neutral-listed": {
		reason: "one that is listed is", policy: endToEnd("success", "neutral"),
		act: func(s *shop) { s.check("tester", "neutral") },
	},
	"workflow": {
		reason: "a workflow that ran for the tracked branch counts", policy: workflow(),
		act: func(s *shop) { s.check("github-actions", "success") },
	},
	"workflow-of-a-fork": {
		reason: "on a public repository anybody has a workflow run on the release commit, by a pull request from a fork", policy: workflow("success", "skipped"),
		act: func(s *shop) { s.forkRuns("skipped") }, says: "for branch main: runs for other branches, or for pull requests from forks, don't count",
	},
	"workflow-of-a-fork-after": {
		reason: "nor does it take back what counts", policy: workflow(),
		act: func(s *shop) { s.check("github-actions", "success"); s.forkRuns("failure") },
	},
	"workflow-of-a-fork-over": {
		reason: "nor hide what failed", policy: workflow("success", "skipped"),
		act: func(s *shop) { s.check("github-actions", "failure"); s.forkRuns("skipped") }, says: "it ended with failure",
	},
	"check-failed-after-all": {
		reason: "the newest run counts", policy: endToEnd(),
		act: func(s *shop) { s.check("tester", "success"); s.check("tester", "failure") }, says: "it ended with failure",
	},
}

// forkRuns completes a run of e2e on the release commit as a pull request from a fork does.
func (s *shop) forkRuns(conclusion string) {
	s.Helper()
	if err := s.forge.ForkRun("shop/"+s.name, s.apps["github-actions"], s.commit, "e2e", conclusion); err != nil {
		s.Fatal(err)
	}
}

// workflow waits for e2e of a workflow.
func workflow(conclusions ...v1alpha1.CheckConclusion) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{CheckRun: &v1alpha1.CheckRunGate{Name: "e2e", App: "github-actions", Conclusions: conclusions}}
}

// newApp makes an app that may write checks. Its slug is a login then.
func (w *forgeWorld) newApp(slug string) {
	w.Helper()
	app, err := w.forge.CreateApp(slug, devforge.Permissions{"checks": "write", "metadata": "read"})
	if err != nil {
		w.Fatal(err)
	}
	installed, err := w.forge.InstallApp(app.ID, "shop")
	if err != nil {
		w.Fatal(err)
	}
	w.apps[slug] = app.ID
	if w.tokens[slug], err = w.forge.CreateInstallationToken(app.ID, installed); err != nil {
		w.Fatal(err)
	}
}

// check completes a run of e2e on the release commit.
func (s *shop) check(app, conclusion string) {
	s.Helper()
	s.call(app, http.MethodPost, "check-runs", map[string]string{
		"name": "e2e", "head_sha": s.commit, "status": "completed", "conclusion": conclusion,
	}, nil)
}

// TestReportsByWhoMakesThem: F21, a gate opens by the statuses and the checks of those that it
// names, on the release commit, and by nothing that looks like them.
func TestReportsByWhoMakesThem(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	var shops []*shop
	for _, name := range slices.Sorted(maps.Keys(reportCases)) {
		shops = append(shops, w.newShop(name).begin())
	}
	for _, app := range []string{"tester", "other", "github-actions"} {
		w.newApp(app)
	}
	for _, s := range shops {
		reportCases[s.name].act(s)
	}
	for _, s := range shops {
		s.waits(reportCases[s.name].policy)
	}
	seen := outcomes(shops, func(s *shop) (says, reason string) {
		return reportCases[s.name].says, reportCases[s.name].reason
	})
	t.Logf("F21: kinds of report: %s", seen)
}

// TestStatusThatChangesItsMind: F21, what is posted while a gate waits is judged when it is read,
// and a gate that is open stays so.
func TestStatusThatChangesItsMind(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	s := w.newShop("mind").begin().waits(smoke())
	s.awaitMessage(s.gate, "waits for status ci/smoke")
	s.post("ci", s.commit, "ci/smoke", "failure")
	s.hint(s.gate)
	s.awaitMessage(s.gate, "it is failure")
	s.post("ci", s.commit, "ci/smoke", "success")
	s.hint(s.gate)
	s.awaitDecision(s.gate, v1alpha1.DecisionPassed)
	s.post("ci", s.commit, "ci/smoke", "failure")
	s.hint(s.gate)
	s.complete(s.release)
	s.awaitEnd("success")
	if got := s.readGate(s.gate).Status; got.Decision != v1alpha1.DecisionPassed || len(got.Evidence) != 1 || got.Evidence[0].Actor != "ci" {
		t.Errorf("want what the gate was passed by to stay, got %+v", got)
	}
}
