package gate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

var ci = forge.Account{ID: 20, Login: "ci[bot]", Type: forge.TypeBot}

// onCommit returns a gate that waits for something of the release commit.
func onCommit(policy v1alpha1.GatePolicy) approving {
	s := merged(v1alpha1.PullRequestGate{})
	g := newGate(policy)
	g.Spec.Commit = releaseCommit
	s.gate = g
	s.forge = &ForgeFacts{Self: sluice, OwnPrefix: "sluice/berlin/"}
	return s
}

func statusPolicy(context string, creators ...string) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{CommitStatus: &v1alpha1.CommitStatusGate{Context: context, Creators: creators}}
}

func checkPolicy(conclusions ...v1alpha1.CheckConclusion) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{CheckRun: &v1alpha1.CheckRunGate{Name: "e2e", App: "github-actions", Conclusions: conclusions}}
}

// posted returns a status in ci/smoke by ci.
func posted(id int64, state forge.State) forge.Status {
	return forge.Status{
		ID: id, SHA: releaseCommit, Context: "ci/smoke", State: state, Creator: ci,
		TargetURL: "https://ci.test/run/1", CreatedAt: made.Add(time.Duration(id) * time.Minute),
	}
}

func TestCommitStatus(t *testing.T) {
	t.Parallel()
	const what = "waits for status ci/smoke on commit 1e1001e"
	statuses := func(all ...forge.Status) func(*approving) {
		return func(s *approving) { s.forge.Statuses = all }
	}
	with := func(change func(*forge.Status)) func(*approving) {
		status := posted(5, forge.StateSuccess)
		change(&status)
		return statuses(status)
	}
	evidenceOf := func(id int64, context string) []v1alpha1.Evidence {
		return []v1alpha1.Evidence{{
			Kind: EvidenceCommitStatus, Actor: "ci[bot]", ActorID: 20, ID: id, SHA: releaseCommit, URL: "https://ci.test/run/1",
			Time: new(metav1.NewTime(made.Add(time.Duration(id) * time.Minute))), Detail: context + " is success",
		}}
	}
	waits := func(message string) v1alpha1.GateStatus {
		return v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting, Message: message}
	}
	passes := func(id int64, context string) v1alpha1.GateStatus {
		return v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionPassed, Message: "status ci/smoke on commit 1e1001e is success",
			Evidence: evidenceOf(id, context), DecidedAt: new(metav1.NewTime(made.Add(time.Hour))),
		}
	}
	spoofed := what + ": what mallory posted does not count, by the gate's creators"
	tests := map[string]struct {
		change func(*approving)
		want   v1alpha1.GateStatus
	}{
		"success":             {statuses(posted(5, forge.StateSuccess)), passes(5, "ci/smoke")},
		"nothing posted":      {statuses(), waits(what)},
		"pending":             {statuses(posted(5, forge.StatePending)), waits(what + ": it is pending")},
		"failure":             {statuses(posted(5, forge.StateFailure)), waits(what + ": it is failure")},
		"error":               {statuses(posted(5, forge.StateError)), waits(what + ": it is error")},
		"a state that is new": {statuses(posted(5, "green")), waits(what + ": it is green")},
		"the context's case":  {with(func(s *forge.Status) { s.Context = "CI/Smoke" }), passes(5, "CI/Smoke")},
		"the policy's case": {func(s *approving) {
			s.gate.Spec.Policy.CommitStatus.Context = "ci/smoke"
			with(func(s *forge.Status) { s.Context = "CI/SMOKE" })(s)
		}, passes(5, "CI/SMOKE")},
		"another context": {with(func(s *forge.Status) { s.Context = "ci/smoke2" }), waits(what)},
		"posted before the gate opened": {func(s *approving) {
			s.gate.Spec.Policy.CommitStatus.SinceOpened = true
			statuses(posted(-1, forge.StateSuccess))(s)
		}, waits(what + ", posted since the gate opened")},
		"an earlier one does not count beside": {func(s *approving) {
			s.gate.Spec.Policy.CommitStatus.SinceOpened = true
			statuses(posted(5, forge.StateSuccess), posted(-1, forge.StateFailure))(s)
		}, passes(5, "ci/smoke")},
		"on another commit":   {with(func(s *forge.Status) { s.SHA = headCommit }), waits(what)},
		"by the wrong actor":  {with(func(s *forge.Status) { s.Creator = mallory }), waits(spoofed)},
		"by a changed case":   {with(func(s *forge.Status) { s.Creator, s.Context = mallory, "CI/smoke" }), waits(spoofed)},
		"by the name's thief": {with(func(s *forge.Status) { s.Creator = forge.Account{ID: 21, Login: "ci[bot]"} }), waits(what + ": what ci[bot] posted does not count, by the gate's creators")},
		"by nobody known":     {with(func(s *forge.Status) { s.Creator = forge.Account{Login: "ci[bot]"} }), waits(what + ": what ci[bot] posted does not count, by the gate's creators")},
		"by our own account": {func(s *approving) {
			s.forge.Creators = []forge.Account{sluice}
			with(func(s *forge.Status) { s.Creator = sluice })(s)
		}, waits(what + ": what sluice[bot] posted does not count, by the gate's creators")},
		"a link that is none": {with(func(s *forge.Status) { s.TargetURL = "javascript:alert(1)" }), func() v1alpha1.GateStatus { s := passes(5, "ci/smoke"); s.Evidence[0].URL = ""; return s }()},
		"success, then not":   {statuses(posted(6, forge.StateFailure), posted(5, forge.StateSuccess)), waits(what + ": it is failure")},
		"success in the end":  {statuses(posted(7, forge.StateSuccess), posted(6, forge.StateFailure), posted(5, forge.StateSuccess)), passes(7, "ci/smoke")},
		"out of their order":  {statuses(posted(5, forge.StateSuccess), posted(6, forge.StateFailure)), waits(what + ": it is failure")},
		"a later one of others": {func(s *approving) {
			other := posted(6, forge.StateSuccess)
			other.Creator = mallory
			statuses(other, posted(5, forge.StateFailure))(s)
		}, waits(what + ": it is failure")},
		"others don't take it back": {func(s *approving) {
			other := posted(6, forge.StateFailure)
			other.Creator = mallory
			statuses(other, posted(5, forge.StateSuccess))(s)
		}, passes(5, "ci/smoke")},
		"a creator that nobody is": {func(s *approving) { s.forge.Creators = []forge.Account{{Login: "ci[bot]"}} }, waits(what + "; the forge has no account ci[bot]")},
		"creators not looked up":   {func(s *approving) { s.forge.Creators = nil; statuses(posted(5, forge.StateSuccess))(s) }, waits(what + ": what ci[bot] posted does not count, by the gate's creators; the forge has no account ci[bot]")},
		"no commit":                {func(s *approving) { s.gate.Spec.Commit = ""; with(func(s *forge.Status) { s.SHA = "" })(s) }, waits("can't pass: it is not known which commit brought the revision")},
		"no forge":                 {func(s *approving) { s.source.Spec.Forge = nil }, waits("can't pass: ReleaseSource shop/main has no forge to ask: set its spec.forge")},
		"no source":                {func(s *approving) { s.source = nil }, waits("can't pass: the release comes from no ReleaseSource, whose forge could be asked")},
		"the forge not asked":      {func(s *approving) { s.forge = nil }, v1alpha1.GateStatus{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene := onCommit(statusPolicy("ci/smoke", "ci[bot]"))
			scene.forge.Creators = []forge.Account{ci}
			tc.change(&scene)
			if diff := cmp.Diff(Decision{Status: tc.want}, scene.evaluate()); diff != "" {
				t.Errorf("Evaluate(...): -want +got:\n%s", diff)
			}
		})
	}
}

// TestContextsOfOurOwn: our own statuses of a release open none of its gates, and another
// cluster's may.
func TestContextsOfOurOwn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		context, prefix string
		want            v1alpha1.Decision
	}{
		"of this cluster":                     {"sluice/berlin/shop/web", "sluice/berlin/", v1alpha1.DecisionWaiting},
		"of this cluster, in another case":    {"Sluice/BERLIN/shop/web", "sluice/berlin/", v1alpha1.DecisionWaiting},
		"of another cluster":                  {"sluice/paris/shop/web", "sluice/berlin/", v1alpha1.DecisionPassed},
		"of another cluster, in other case":   {"SLUICE/paris/shop/web", "sluice/berlin/", v1alpha1.DecisionPassed},
		"of any, where clusters have no name": {"sluice/paris/shop/web", "sluice/", v1alpha1.DecisionWaiting},
		"of somebody else, by our account":    {"ci/smoke", "sluice/berlin/", v1alpha1.DecisionWaiting},
		"of any, where we don't know ours":    {"ci/smoke", "", v1alpha1.DecisionWaiting},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene := onCommit(statusPolicy(tc.context, "sluice[bot]"))
			status := posted(5, forge.StateSuccess)
			status.Context, status.Creator = tc.context, sluice
			scene.forge.OwnPrefix, scene.forge.Creators = tc.prefix, []forge.Account{sluice}
			scene.forge.Statuses = []forge.Status{status}
			if got := scene.evaluate().Status; got.Decision != tc.want {
				t.Errorf("got %s (%s), want %s", got.Decision, got.Message, tc.want)
			}
		})
	}
}

// ran returns a run of the check that has ended.
func ran(id int64, conclusion forge.Conclusion) forge.CheckRun {
	return forge.CheckRun{
		ID: id, Name: "e2e", App: forge.App{ID: 15368, Slug: "github-actions"}, HeadSHA: releaseCommit, Branch: "main",
		Status: forge.CheckCompleted, Conclusion: conclusion, URL: "https://forge.test/octo/shop/runs/1",
		CompletedAt: made.Add(time.Duration(id) * time.Minute),
	}
}

func TestCheckRun(t *testing.T) {
	t.Parallel()
	const (
		what      = "check e2e of github-actions on commit 1e1001e"
		elsewhere = " for branch main: runs for other branches, or for pull requests from forks, don't count"
	)
	runs := func(all ...forge.CheckRun) func(*approving) { return func(s *approving) { s.forge.CheckRuns = all } }
	with := func(change func(*forge.CheckRun)) func(*approving) {
		run := ran(5, forge.ConclusionSuccess)
		change(&run)
		return runs(run)
	}
	running := func(id int64, status forge.CheckStatus) forge.CheckRun {
		run := ran(id, "")
		run.Status = status
		return run
	}
	waits := func(why string) v1alpha1.GateStatus {
		return v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting, Message: "waits for " + what + why}
	}
	passes := func(id int64, conclusion string) v1alpha1.GateStatus {
		return v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionPassed, Message: what + " ended with " + conclusion,
			Evidence: []v1alpha1.Evidence{{
				Kind: EvidenceCheckRun, Actor: "github-actions", ActorID: 15368, ID: id, SHA: releaseCommit,
				URL: "https://forge.test/octo/shop/runs/1", Detail: "e2e ended with " + conclusion,
				Time: new(metav1.NewTime(made.Add(time.Duration(id) * time.Minute))),
			}},
			DecidedAt: new(metav1.NewTime(made.Add(time.Hour))),
		}
	}
	ended := func(conclusion string) v1alpha1.GateStatus {
		return waits(": it ended with " + conclusion + "; a new run counts")
	}
	listed := func(conclusion v1alpha1.CheckConclusion, change func(*approving)) func(*approving) {
		return func(s *approving) {
			s.gate.Spec.Policy.CheckRun.Conclusions = []v1alpha1.CheckConclusion{conclusion}
			change(s)
		}
	}
	tests := map[string]struct {
		change func(*approving)
		want   v1alpha1.GateStatus
	}{
		"success": {runs(ran(5, forge.ConclusionSuccess)), passes(5, "success")},
		"no run":  {runs(), waits("")},
		"run before the gate": {func(s *approving) {
			s.gate.Spec.Policy.CheckRun.SinceOpened = true
			with(func(r *forge.CheckRun) { r.StartedAt = made.Add(-time.Second) })(s)
		}, waits(", started since the gate opened")},
		"run since the gate": {func(s *approving) {
			s.gate.Spec.Policy.CheckRun.SinceOpened = true
			with(func(r *forge.CheckRun) { r.StartedAt = made })(s)
		}, passes(5, "success")},
		"queued":                        {runs(running(5, "queued")), waits(": it is queued")},
		"running":                       {runs(running(5, "in_progress")), waits(": it is in progress")},
		"failure":                       {runs(ran(5, forge.ConclusionFailure)), ended("failure")},
		"neutral, not listed":           {runs(ran(5, forge.ConclusionNeutral)), ended("neutral")},
		"skipped, not listed":           {runs(ran(5, forge.ConclusionSkipped)), ended("skipped")},
		"neutral, listed":               {listed(v1alpha1.CheckNeutral, runs(ran(5, forge.ConclusionNeutral))), passes(5, "neutral")},
		"success, not listed":           {listed(v1alpha1.CheckNeutral, runs(ran(5, forge.ConclusionSuccess))), ended("success")},
		"of the wrong app":              {with(func(r *forge.CheckRun) { r.App = forge.App{ID: 99, Slug: "evil"} }), waits("")},
		"of no app":                     {with(func(r *forge.CheckRun) { r.App.ID = 0 }), waits("")},
		"of another name":               {with(func(r *forge.CheckRun) { r.Name = "e2e (2)" }), waits("")},
		"on another commit":             {with(func(r *forge.CheckRun) { r.HeadSHA = headCommit }), waits("")},
		"of a pull request from a fork": {with(func(r *forge.CheckRun) { r.Branch = "" }), waits(elsewhere)},
		"of another branch":             {with(func(r *forge.CheckRun) { r.Branch = "eve" }), waits(elsewhere)},
		"of another branch's queue":     {with(func(r *forge.CheckRun) { r.Branch = "gh-readonly-queue/main-2/pr-7-1e1001e" }), waits(elsewhere)},
		"of the merge queue":            {with(func(r *forge.CheckRun) { r.Branch = "gh-readonly-queue/main/pr-7-1e1001e" }), passes(5, "success")},
		"a newer one from a fork": {func(s *approving) {
			fork := ran(6, forge.ConclusionFailure)
			fork.Branch = ""
			runs(ran(5, forge.ConclusionSuccess), fork)(s)
		}, passes(5, "success")},
		"of an app of the test system, whose suites may name no branch": {func(s *approving) {
			s.gate.Spec.Policy.CheckRun.App = "tester"
			with(func(r *forge.CheckRun) { r.App, r.Branch = forge.App{ID: 15368, Slug: "tester"}, "" })(s)
		}, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionPassed, Message: "check e2e of tester on commit 1e1001e ended with success",
			Evidence: []v1alpha1.Evidence{{
				Kind: EvidenceCheckRun, Actor: "tester", ActorID: 15368, ID: 5, SHA: releaseCommit, URL: "https://forge.test/octo/shop/runs/1",
				Detail: "e2e ended with success", Time: new(metav1.NewTime(made.Add(5 * time.Minute))),
			}},
			DecidedAt: new(metav1.NewTime(made.Add(time.Hour))),
		}},
		"not completed, whatever it says": {
			with(func(r *forge.CheckRun) { r.Status = "in_progress" }), waits(": it is in progress"),
		},
		"a rerun that has not ended": {runs(ran(5, forge.ConclusionSuccess), running(6, "queued")), waits(": it is queued")},
		"a rerun that failed":        {runs(ran(5, forge.ConclusionSuccess), ran(6, forge.ConclusionFailure)), ended("failure")},
		"a rerun that went well":     {runs(ran(6, forge.ConclusionSuccess), ran(5, forge.ConclusionFailure)), passes(6, "success")},
		"a rerun of another app": {func(s *approving) {
			other := ran(6, forge.ConclusionFailure)
			other.App.Slug = "evil"
			runs(ran(5, forge.ConclusionSuccess), other)(s)
		}, passes(5, "success")},
		"no forge":            {func(s *approving) { s.source.Spec.Forge = nil }, v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting, Message: "can't pass: ReleaseSource shop/main has no forge to ask: set its spec.forge"}},
		"the forge not asked": {func(s *approving) { s.forge = nil }, v1alpha1.GateStatus{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene := onCommit(checkPolicy())
			tc.change(&scene)
			if diff := cmp.Diff(Decision{Status: tc.want}, scene.evaluate()); diff != "" {
				t.Errorf("Evaluate(...): -want +got:\n%s", diff)
			}
		})
	}
}
