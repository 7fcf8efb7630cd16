package lifecycle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/forge"
)

// reportWorld is a release, and what was reported of it to a forge.
type reportWorld struct {
	process
	release *v1alpha1.BatchRelease
	// statuses has the statuses of each commit, the last one last, and deployments the states of
	// each, by its task.
	statuses    map[string][]forge.StatusRequest
	deployments map[string][]forge.DeploymentState
	tasks       []string
	// fresh says that this process has told nothing yet.
	fresh bool
	// now is the time, which goes on where a status is held back.
	now time.Time
}

func newReportWorld(t testing.TB, crash int) *reportWorld {
	return &reportWorld{
		process: process{TB: t, crash: crash}, fresh: true, now: start,
		statuses: map[string][]forge.StatusRequest{}, deployments: map[string][]forge.DeploymentState{},
		release: &v1alpha1.BatchRelease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec: v1alpha1.BatchReleaseSpec{Strategy: v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{
				{Replicas: intstr.FromInt32(1)}, {Replicas: intstr.FromString("100%")},
			}}},
		},
	}
}

// updates has a batch of the release of a commit be updated.
func updates(commit string, attempt int64, step int32) func(*reportWorld) {
	return func(w *reportWorld) {
		s := &w.release.Status
		s.Phase, s.Commit, s.Attempt, s.CurrentStepIndex = v1alpha1.PhaseRollingUpdate, commit, attempt, step
		s.State, s.StepStartedAt = v1alpha1.StateRolling, new(metav1.Now())
		s.Replicas, s.TargetReplicas, s.UpdateRevision = 10, 1+9*step, "v"+commit[:4]
		s.Queued = nil
	}
}

func (w *reportWorld) complete() { w.release.Status.Phase = v1alpha1.PhaseCompleted }

func (w *reportWorld) queue() {
	w.release.Status.Queued = &v1alpha1.QueuedTemplate{Commit: otherTip}
	w.release.Annotations = map[string]string{v1alpha1.CommitAnnotation: otherTip}
}

func (w *reportWorld) facts() lifecycle.ReportFacts {
	facts := lifecycle.ReportFacts{Environment: "production", Now: w.now}
	last := w.release.Status.Report
	if !w.fresh || last == nil {
		return facts
	}
	facts.Doubted = true
	if told := w.statuses[last.Commit]; len(told) > 0 {
		newest := told[len(told)-1]
		facts.Standing = &forge.Status{State: newest.State, Description: newest.Description}
	}
	return facts
}

func (w *reportWorld) do(intent lifecycle.ReportIntent) error {
	status := &w.release.Status
	post := func(request forge.StatusRequest) error {
		return w.does(func() { w.statuses[request.SHA] = append(w.statuses[request.SHA], request) })
	}
	switch intent := intent.(type) {
	case lifecycle.RepeatStatus:
		if err := post(report.Again(status.Report)); err != nil {
			return err
		}
		return w.does(func() { status.Report = report.Repeated(status.Report, start) })
	case lifecycle.PostStatus:
		last := intent.Of.Last(status)
		if err := post(intent.Post.Status); err != nil {
			return err
		}
		return w.does(func() { *last = report.After(*last, intent.Post, start) })
	case lifecycle.HoldStatus:
		w.now = intent.Until
		return nil
	case lifecycle.EndDeployment:
		return w.deployed(intent.ID, forge.DeploymentInactive)
	case lifecycle.Deploy:
		id := w.deploymentOf(intent.Task)
		if err := w.deployed(id, intent.State); err != nil {
			return err
		}
		return w.does(func() { status.Report = lifecycle.Deployed(status.Report, intent, id) })
	}
	w.Fatalf("nobody carries out %T", intent)
	return nil
}

// deploymentOf returns the deployment of a task, which is made if there is none.
func (w *reportWorld) deploymentOf(task string) int64 {
	for i, made := range w.tasks {
		if made == task {
			return int64(i + 1)
		}
	}
	w.tasks = append(w.tasks, task)
	return int64(len(w.tasks))
}

func (w *reportWorld) deployed(id int64, state forge.DeploymentState) error {
	task := w.tasks[id-1]
	return w.does(func() { w.deployments[task] = append(w.deployments[task], state) })
}

func (w *reportWorld) run() {
	w.Helper()
	for range 20 {
		intents := lifecycle.NextOfReport(w.release, w.facts())
		w.fresh = false
		if len(intents) == 0 {
			return
		}
		for _, intent := range intents {
			if w.do(intent) != nil {
				w.fresh = true
				break
			}
		}
	}
	w.Fatal("there is always something to tell")
}

// lasts returns the last statuses and deployment states.
func (w *reportWorld) lasts() map[string]string {
	lasts := map[string]string{}
	for commit, told := range w.statuses {
		lasts[commit] = fmt.Sprintf("%s %s", told[len(told)-1].State, told[len(told)-1].Description)
	}
	for task, states := range w.deployments {
		lasts[task] = string(states[len(states)-1])
	}
	return lasts
}

// TestReportEndsAlikeAfterACrash: wherever a process is stopped, the next one tells the same in the
// end, and repeats at most one status of a commit, and one state of a deployment.
func TestReportEndsAlikeAfterACrash(t *testing.T) {
	t.Parallel()
	lives := map[string][]func(*reportWorld){
		"released":   {updates(tipCommit, 1, 0), updates(tipCommit, 1, 1), (*reportWorld).complete},
		"superseded": {updates(tipCommit, 1, 0), updates(otherTip, 2, 0), (*reportWorld).complete},
		"followed":   {updates(tipCommit, 1, 0), (*reportWorld).complete, updates(otherTip, 2, 0), (*reportWorld).complete},
		"queued":     {updates(tipCommit, 1, 0), (*reportWorld).queue, (*reportWorld).complete, updates(otherTip, 2, 1), (*reportWorld).complete},
	}
	counts := func(w *reportWorld) map[string]int {
		n := map[string]int{}
		for commit, told := range w.statuses {
			n[commit] = len(told)
		}
		for task, states := range w.deployments {
			n[task] = len(states)
		}
		return n
	}
	for name, events := range lives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := func(crash int) *reportWorld {
				w := newReportWorld(t, crash)
				for _, event := range events {
					event(w)
					w.run()
				}
				return w
			}
			want := live(0)
			for crash := 1; crash <= want.effects; crash++ {
				got := live(crash)
				if diff := cmp.Diff(want.lasts(), got.lasts()); diff != "" {
					t.Errorf("a crash after effect %d has something else told in the end: -want +got:\n%s", crash, diff)
				}
				for what, n := range counts(got) {
					if most := counts(want)[what] + 1; n > most {
						t.Errorf("a crash after effect %d has %s told %d times, want at most %d", crash, what, n, most)
					}
				}
			}
		})
	}
}

// TestSuccessEndsTheDeploymentBefore: a deployment is shown as active until another of the same
// release succeeds; one that fails ends nothing.
func TestSuccessEndsTheDeploymentBefore(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t, 0)
	want := []forge.DeploymentState{}
	after := func(event func(*reportWorld), states ...forge.DeploymentState) {
		t.Helper()
		event(w)
		w.run()
		want = append(want[:0], states...)
		for i, task := range w.tasks {
			if told := w.deployments[task]; told[len(told)-1] != want[i] {
				t.Errorf("deployment %d: want %s, got %s", i+1, want[i], told)
			}
		}
	}
	const active, under, ended = forge.DeploymentSuccess, forge.DeploymentInProgress, forge.DeploymentInactive
	updates(tipCommit, 1, 0)(w)
	after((*reportWorld).complete, active)
	after(updates(otherTip, 2, 0), active, under)
	after(updates(releaseCommit, 3, 0), active, ended, under)
	after((*reportWorld).complete, ended, ended, active)
	after(updates(tipCommit, 4, 0), ended, ended, active, under)
}

// TestRepeatedStatus: a status that the forge has lost, or has of an earlier process, is sent
// again once.
func TestRepeatedStatus(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t, 0)
	updates(tipCommit, 1, 0)(w)
	w.run()
	told := len(w.statuses[tipCommit])
	w.statuses[tipCommit] = append(w.statuses[tipCommit], forge.StatusRequest{SHA: tipCommit, State: forge.StatePending, Description: "an older one"})
	w.fresh = true
	w.run()
	if got := w.statuses[tipCommit]; len(got) != told+2 || got[told+1] != got[told-1] {
		t.Errorf("want the last status told once more, got %+v", got)
	}
	w.fresh, w.release.Status.Report.Time = true, new(metav1.NewTime(start.Add(time.Minute)))
	w.run()
	if got := w.statuses[tipCommit]; len(got) != told+2 {
		t.Errorf("want nothing told again where the forge has it, got %+v", got)
	}
}

// TestProgressIsHeldBack: a status that only shows progress waits, and one that follows takes its
// place; outcomes, failures and the first status of a commit don't wait.
func TestProgressIsHeldBack(t *testing.T) {
	t.Parallel()
	told := v1alpha1.ForgeReport{Commit: tipCommit, Context: "sluice/shop/web", State: string(forge.StatePending), Description: "before", Time: new(metav1.NewTime(start))}
	tests := map[string]struct {
		reason string
		told   v1alpha1.ForgeReport
		event  func(*reportWorld)
		want   time.Duration
	}{
		"Progress": {"the counters of a batch are no news a moment later", told, updates(tipCommit, 1, 1), 10 * time.Second},
		"Waits": {"people are told soon whom a release waits for", told, func(w *reportWorld) {
			updates(tipCommit, 1, 0)(w)
			w.release.Status.State, w.release.Status.Gates = v1alpha1.StateBlocked, []v1alpha1.GateReference{{Name: "web-0"}}
		}, 2 * time.Second},
		"Completed":     {"an outcome is told at once", told, func(w *reportWorld) { updates(tipCommit, 1, 1)(w); w.complete() }, 0},
		"AnotherCommit": {"a release that begins is told at once", told, updates(otherTip, 2, 0), 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newReportWorld(t, 0)
			tc.event(w)
			w.release.Status.Report = &tc.told
			facts := lifecycle.ReportFacts{Gates: []v1alpha1.Gate{{
				ObjectMeta: metav1.ObjectMeta{Name: "web-0"},
				Spec:       v1alpha1.GateSpec{Type: v1alpha1.GateManual, Attempt: 1, Revision: w.release.Status.UpdateRevision},
				Status:     v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting},
			}}}
			held := time.Duration(0)
			facts.Now = start
			for _, intent := range lifecycle.NextOfReport(w.release, facts) {
				if hold, is := intent.(lifecycle.HoldStatus); is {
					held = hold.Until.Sub(start)
				}
			}
			if held != tc.want {
				t.Errorf("%s: want it held back for %v, got %v", tc.reason, tc.want, held)
			}
			facts.Now = start.Add(tc.want)
			for _, intent := range lifecycle.NextOfReport(w.release, facts) {
				if _, is := intent.(lifecycle.HoldStatus); is {
					t.Errorf("%s: it is held back for longer than %v", tc.reason, tc.want)
				}
			}
		})
	}
}
