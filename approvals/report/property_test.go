package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/forge"
)

// world is a release that goes through what a release can, and a forge that is told of it at times.
type world struct {
	*rapid.T
	scene   *scene
	commits int
	// told is all that each commit was told, in order; attempts says of which attempt each was.
	told     map[string][]forge.StatusRequest
	attempts map[string][]int64
}

// begin starts an attempt at another commit, which Git may call a revert.
func (w *world) begin() {
	w.commits++
	w.scene = w.scene.status(func(status *v1alpha1.BatchReleaseStatus) {
		report := status.Report
		*status = v1alpha1.BatchReleaseStatus{
			Phase: v1alpha1.PhaseInitial, Attempt: status.Attempt + 1, Commit: strings.Repeat(fmt.Sprintf("%04x", w.commits), 10),
			UpdateRevision: fmt.Sprintf("v%d", w.commits), Replicas: 10, Report: report,
		}
		if rapid.IntRange(0, 3).Draw(w.T, "revert") == 0 {
			status.Phase, status.RollbackTo, status.UpdateRevision = v1alpha1.PhaseRollingBack, "v0", "v0"
		}
	})
	w.scene.gates = nil
}

// takeBack has the cluster told to go back.
func (w *world) takeBack() {
	w.scene.takenBack()
	w.scene.release.Status.Gates, w.scene.gates = nil, nil
}

func (w *world) roll() {
	w.scene.status(func(status *v1alpha1.BatchReleaseStatus) {
		status.Phase, status.CurrentStepState, status.Gates = v1alpha1.PhaseRollingUpdate, v1alpha1.StepUpgrade, nil
		if status.RollbackTo != "" {
			status.Phase = v1alpha1.PhaseRollingBack
		}
		status.Batch = fmt.Sprintf("%d/4", rapid.IntRange(1, 4).Draw(w.T, "batch"))
		status.TargetReplicas, status.Reason = rapid.Int32Range(1, 10).Draw(w.T, "target"), v1alpha1.ReasonUpgrading
		status.UpdatedReplicas = rapid.Int32Range(0, 10).Draw(w.T, "updated")
	})
}

// block has the batch wait for an approval, in some state.
func (w *world) block() {
	g := approval()
	g.Spec.Attempt = w.scene.release.Status.Attempt
	g.Status.Decision = rapid.SampledFrom([]v1alpha1.Decision{
		"", v1alpha1.DecisionWaiting, v1alpha1.DecisionPassed, v1alpha1.DecisionRejected,
	}).Draw(w.T, "decision")
	g.Status.PullRequest.Number = rapid.Int64Range(0, 2).Draw(w.T, "number")
	g.Status.Message = rapid.String().Draw(w.T, "message")
	w.scene.release.Status.Gates = nil
	w.scene.blockedOn(g)
}

func (w *world) fail() { w.scene.failed("batch 2/4: no progress: " + rapid.String().Draw(w.T, "why")) }

// step lets something happen that can, as the release stands.
func (w *world) step() {
	status := &w.scene.release.Status
	switch status.Phase {
	case v1alpha1.PhaseCompleted, "":
		if status.Phase != "" && rapid.IntRange(0, 3).Draw(w.T, "taken back after the end") == 0 {
			w.takeBack()
			return
		}
		w.begin()
	default:
		w.pick("next", w.roll, w.roll, w.block, w.block, w.fail, func() { w.scene.completed() }, w.begin, w.takeBack)
	}
}

func (w *world) pick(label string, choices ...func()) {
	choices[rapid.IntRange(0, len(choices)-1).Draw(w.T, label)]()
}

// tell tells what is to be told now. Each status is written down, or is lost to a crash and told again.
func (w *world) tell() {
	release := w.scene.release
	for {
		next := Next(release, w.scene.gates, Options{})
		if len(next) == 0 {
			return
		}
		w.check(next[0])
		w.told[next[0].SHA] = append(w.told[next[0].SHA], next[0])
		w.attempts[next[0].SHA] = append(w.attempts[next[0].SHA], release.Status.Attempt)
		if rapid.IntRange(0, 4).Draw(w.T, "crash") > 0 {
			release.Status.Report = After(release.Status.Report, next[0], made)
		}
	}
}

// check holds a status against what the forge takes, and against what the commit was told before.
func (w *world) check(status forge.StatusRequest) {
	if n := utf8.RuneCountInString(status.Description); n > 140 || n == 0 || forge.Description(status.Description) != status.Description {
		w.Fatalf("the forge refuses %q", status.Description)
	}
	before := w.told[status.SHA]
	if len(before) == 0 {
		return
	}
	last, attempt := before[len(before)-1], w.attempts[status.SHA][len(before)-1]
	same := attempt == w.scene.release.Status.Attempt
	if status.State == forge.StatePending && same && isEnd(last) {
		w.Fatalf("%s is told %q after its end %q", status.SHA, status.Description, last.Description)
	}
	if status.State == forge.StatePending && status.SHA != w.scene.release.Status.Commit {
		w.Fatalf("%s is told %q, but another commit is released", status.SHA, status.Description)
	}
}

func isEnd(status forge.StatusRequest) bool {
	return status.State == forge.StateSuccess || status.State == forge.StateFailure && ended(status.Description)
}

// TestTheLastStatusTellsTheOutcome: whatever a release goes through, however much of it is seen, and
// whatever is lost on the way, in the end every commit has been told how it ended, and there is no more to tell.
func TestTheLastStatusTellsTheOutcome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			T: t, scene: rolling(""),
			told: map[string][]forge.StatusRequest{}, attempts: map[string][]int64{},
		}
		w.scene.release.Status = v1alpha1.BatchReleaseStatus{}
		for range rapid.IntRange(1, 25).Draw(t, "happens") {
			w.step()
			if rapid.IntRange(0, 2).Draw(t, "seen") > 0 {
				w.tell()
			}
		}
		if w.scene.release.Status.Phase != v1alpha1.PhaseCompleted {
			w.roll()
			w.scene.completed()
		}
		w.tell()
		w.outcome()
		if again := Next(w.scene.release, w.scene.gates, Options{}); len(again) != 0 {
			t.Fatalf("all was told, but there is more: %v", lines(again))
		}
	})
}

func (w *world) outcome() {
	status := &w.scene.release.Status
	for commit, told := range w.told {
		if last := told[len(told)-1]; last.State == forge.StatePending {
			w.Fatalf("%s is left with %q", commit, last.Description)
		}
	}
	told := w.told[status.Commit]
	last := told[len(told)-1]
	want := "released: 10/10 updated to " + status.UpdateRevision
	switch {
	case status.RollbackTo != "" && len(status.Quarantined) > 0:
		want = "rolled back to " + status.RollbackTo
	case status.RollbackTo != "":
		want = "reverted to " + status.RollbackTo
	}
	if !strings.HasPrefix(last.Description, want) {
		w.Fatalf("the last that %s was told is %q, want %q", status.Commit, last.Description, want)
	}
}

// TestDescriptionsFit: whatever people and programs say, a forge takes what comes of it.
func TestDescriptionsFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := smoke()
		g.Spec.Policy.CommitStatus.Context = rapid.String().Draw(t, "context")
		s := rolling(good).blockedOn(g)
		if rapid.Bool().Draw(t, "failed") {
			s.failed("batch 2/4: no progress: " + rapid.String().Draw(t, "message"))
		}
		source := &v1alpha1.ReleaseSource{Status: v1alpha1.ReleaseSourceStatus{ObservedCommit: good, Errors: []v1alpha1.FileError{{
			File: rapid.String().Draw(t, "file"), Line: rapid.Int32().Draw(t, "line"), Message: rapid.String().Draw(t, "mistake"),
		}}}}
		sync, _ := Sync(source, Options{})
		for _, status := range append(Next(s.release, s.gates, Options{}), sync) {
			if n := utf8.RuneCountInString(status.Description); n > 140 || forge.Description(status.Description) != status.Description {
				t.Fatalf("the forge refuses %q", status.Description)
			}
		}
	})
}
