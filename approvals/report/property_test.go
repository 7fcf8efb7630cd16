package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// world is a release that goes through what a release can, and a forge that is told of it at times.
type world struct {
	*rapid.T
	scene   *scene
	commits int
	// told is all that each commit was told, in order; attempts says of which attempt each was.
	told     map[string][]Post
	attempts map[string][]int64
	// released says of each commit that came to its end the which end it was, counted from 1.
	released map[string]int
	// ends counts them.
	ends int
}

// push brings another commit, which Git may call a revert. It waits if the release is stopped, or if what is
// under way is to come to its end first.
func (w *world) push() {
	w.commits++
	commit := strings.Repeat(fmt.Sprintf("%04x", w.commits), 10)
	w.scene.release.Annotations[v1alpha1.CommitAnnotation] = commit
	status := &w.scene.release.Status
	revert := rapid.IntRange(0, 3).Draw(w.T, "revert") == 0
	underway := status.Phase != "" && status.Phase != v1alpha1.PhaseCompleted
	switch {
	case !revert && (w.stopped() || underway && rapid.Bool().Draw(w.T, "queue")):
		status.Queued = &v1alpha1.QueuedTemplate{Commit: commit}
	default:
		w.begin(commit, revert)
	}
}

func (w *world) stopped() bool {
	return meta.IsStatusConditionTrue(w.scene.release.Status.Conditions, v1alpha1.ConditionSuspended)
}

// drift has somebody change what was released, or change it back.
func (w *world) drift() {
	conditions := &w.scene.release.Status.Conditions
	if !meta.RemoveStatusCondition(conditions, v1alpha1.ConditionDrifted) {
		meta.SetStatusCondition(conditions, metav1.Condition{
			Type: v1alpha1.ConditionDrifted, Status: metav1.ConditionTrue, Message: rapid.String().Draw(w.T, "drift"),
		})
	}
}

// stop has the release stand still, or go on.
func (w *world) stop() {
	status := &w.scene.release.Status
	if w.stopped() {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionSuspended)
		status.Reason = v1alpha1.ReasonUpgrading
		w.next()
		return
	}
	w.scene.suspended()
	if status.Phase != v1alpha1.PhaseFailed && status.RollbackTo == "" {
		w.scene.standing(v1alpha1.ReasonFrozen, "batch "+status.Batch+" is on hold: frozen: "+rapid.String().Draw(w.T, "why it stands"))
	}
}

// next begins what has waited, once nothing is in its way.
func (w *world) next() {
	status := &w.scene.release.Status
	if queued := status.Queued; queued != nil && status.Phase == v1alpha1.PhaseCompleted && !w.stopped() {
		w.begin(queued.Commit, false)
	}
}

// begin starts an attempt at a commit.
func (w *world) begin(commit string, revert bool) {
	meta.RemoveStatusCondition(&w.scene.release.Status.Conditions, v1alpha1.ConditionDrifted)
	w.scene = w.scene.status(func(status *v1alpha1.BatchReleaseStatus) {
		*status = v1alpha1.BatchReleaseStatus{
			Phase: v1alpha1.PhaseInitial, Attempt: status.Attempt + 1, Commit: commit, Conditions: status.Conditions, Ended: ending(status),
			UpdateRevision: "v" + commit[:4], Replicas: 10, Report: status.Report, Refusal: status.Refusal, Revert: status.Revert,
		}
		if revert {
			status.Phase, status.RollbackTo, status.UpdateRevision = v1alpha1.PhaseRollingBack, "v0", "v0"
			status.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerGitRevert, Message: "it was stable before"}
		}
	})
	w.scene.gates = nil
}

// remembered is how many ends a status keeps in mind.
const remembered = 5

// ending adds how a release came to its end to those before, if the status tells so.
func ending(status *v1alpha1.BatchReleaseStatus) []v1alpha1.EndedRelease {
	if status.Phase != v1alpha1.PhaseCompleted {
		return status.Ended
	}
	ended := v1alpha1.EndedRelease{Commit: status.Commit, Revision: status.UpdateRevision, Replicas: status.Replicas}
	if status.Rollback != nil {
		ended.Trigger = status.Rollback.Trigger
	}
	return append(slices.Clone(status.Ended[max(0, len(status.Ended)-remembered+1):]), ended)
}

// takeBack has the cluster go back, because it is told to or by itself. Who tells it to means the tip of Git, too.
func (w *world) takeBack() {
	w.scene.release.Status.Ended = ending(&w.scene.release.Status)
	w.scene.takenBack()
	trigger := rapid.SampledFrom([]v1alpha1.RollbackTrigger{
		v1alpha1.TriggerAnnotation, v1alpha1.TriggerDeadline, v1alpha1.TriggerGateRejected,
	}).Draw(w.T, "trigger")
	w.scene.because(trigger, "why: "+rapid.String().Draw(w.T, "because"))
	if trigger == v1alpha1.TriggerAnnotation {
		w.scene.release.Status.Queued = nil
	}
	w.scene.release.Status.Gates, w.scene.gates = nil, nil
}

// ask has Git asked to follow a rollback, or lets it follow.
func (w *world) ask() {
	status := &w.scene.release.Status
	if !RevertWanted(w.scene.release) {
		return
	}
	state := rapid.SampledFrom([]v1alpha1.RevertState{
		v1alpha1.RevertOpening, v1alpha1.RevertOpen, v1alpha1.RevertDeclined, v1alpha1.RevertRefused, v1alpha1.RevertMerged,
	}).Draw(w.T, "state of the revert")
	w.scene.reverting(state)
	if state == v1alpha1.RevertMerged && status.Queued == nil {
		w.commits++
		w.scene.asked(strings.Repeat(fmt.Sprintf("%04x", w.commits), 10))
		status.Quarantined = nil
	}
}

func (w *world) complete() {
	w.scene.completed()
	w.ends++
	w.released[w.scene.release.Status.Commit] = w.ends
	w.next()
}

func (w *world) roll() {
	w.scene.status(func(status *v1alpha1.BatchReleaseStatus) {
		status.Phase, status.CurrentStepState, status.Gates = v1alpha1.PhaseRollingUpdate, v1alpha1.StepUpgrade, nil
		if status.RollbackTo != "" {
			status.Phase = v1alpha1.PhaseRollingBack
		}
		status.CurrentStepIndex = rapid.Int32Range(0, 3).Draw(w.T, "batch")
		status.Batch = fmt.Sprintf("%d/4", status.CurrentStepIndex+1)
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
	if g.Status.Decision != "" {
		g.Status.Message = rapid.String().Draw(w.T, "message")
	}
	w.scene.release.Status.Gates = nil
	w.scene.blockedOn(g)
}

func (w *world) fail() { w.scene.failed("batch 2/4: no progress: " + rapid.String().Draw(w.T, "why")) }

// step lets something happen that can, as the release stands.
func (w *world) step() {
	status := &w.scene.release.Status
	switch status.Phase {
	case v1alpha1.PhaseCompleted, "":
		if status.Phase == "" {
			w.push()
			return
		}
		w.pick("after the end", w.push, w.push, w.takeBack, w.stop, w.ask, w.drift)
	default:
		w.pick("next", w.roll, w.roll, w.block, w.block, w.fail, w.complete, w.push, w.takeBack, w.stop, w.ask)
	}
}

func (w *world) pick(label string, choices ...func()) {
	choices[rapid.IntRange(0, len(choices)-1).Draw(w.T, label)]()
}

// upgrade is the moment in which a version comes that writes down what it tells as values, after one that did not.
func (w *world) upgrade() {
	for _, last := range []*v1alpha1.ForgeReport{w.scene.release.Status.Report, w.scene.release.Status.Refusal} {
		if last != nil {
			last.Content = nil
		}
	}
}

// tell tells what is to be told now. Each status is written down, or is lost to a crash and told again.
func (w *world) tell() {
	release := w.scene.release
	for {
		next, slot := Waiting(release, Options{}), &release.Status.Refusal
		if len(next) == 0 {
			next, slot = Next(release, w.scene.gates, Options{}), &release.Status.Report
		}
		if len(next) == 0 {
			return
		}
		w.unread(next)
		if !next[0].Posted {
			w.post(next[0])
		}
		if rapid.IntRange(0, 4).Draw(w.T, "crash") > 0 {
			*slot = After(*slot, next[0], made)
		}
	}
}

// unread holds what is to be told against what it would be had something else been posted: nothing is read from it.
func (w *world) unread(told []Post) {
	other := w.scene.release.DeepCopy()
	for _, last := range []*v1alpha1.ForgeReport{other.Status.Report, other.Status.Refusal} {
		if last != nil {
			last.Description = supersededWords
		}
	}
	now := append(Waiting(other, Options{}), Next(other, w.scene.gates, Options{})...)
	for _, post := range told {
		post.Posted = false
		if !slices.ContainsFunc(now, func(p Post) bool { return equality.Semantic.DeepEqual(p, post) }) {
			w.Fatalf("%v is to be told, and it is not after a status with other words: %v", lines([]Post{post}), lines(now))
		}
	}
}

// supersededWords say something that was not told.
const supersededWords = "superseded by c0ffee at batch 9/9: rolled back to 9999, merge #99 to update Git: drifted: nothing"

func (w *world) post(next Post) {
	w.check(next)
	commit := next.Status.SHA
	w.told[commit] = append(w.told[commit], next)
	w.attempts[commit] = append(w.attempts[commit], w.scene.release.Status.Attempt)
}

// check holds a status against what the forge takes, and against what the commit was told before.
func (w *world) check(post Post) {
	status := post.Status
	if n := utf8.RuneCountInString(status.Description); n > 140 || n == 0 || forge.Description(status.Description) != status.Description {
		w.Fatalf("the forge refuses %q", status.Description)
	}
	if nth := w.released[status.SHA]; nth > 0 && w.ends-nth < remembered && post.Content.Kind == v1alpha1.ReportSuperseded {
		w.Fatalf("%s came to its end and is told %q", status.SHA, status.Description)
	}
	before := w.told[status.SHA]
	if len(before) == 0 {
		return
	}
	last, attempt := before[len(before)-1], w.attempts[status.SHA][len(before)-1]
	same := attempt == w.scene.release.Status.Attempt
	if status.State == forge.StatePending && same && isEnd(last) {
		w.Fatalf("%s is told %q after its end %q", status.SHA, status.Description, last.Status.Description)
	}
	now := &w.scene.release.Status
	queued := now.Queued != nil && now.Queued.Commit == status.SHA
	if status.State == forge.StatePending && status.SHA != now.Commit && !queued {
		w.Fatalf("%s is told %q, but another commit is released", status.SHA, status.Description)
	}
}

func isEnd(post Post) bool {
	return post.Status.State == forge.StateSuccess || post.Content.Kind == v1alpha1.ReportSuperseded || goesBack(post.Content.Kind)
}

// TestTheLastStatusTellsTheOutcome: whatever a release goes through, however much of it is seen, and
// whatever is lost on the way, in the end every commit has been told how it ended, and there is no more to tell.
func TestTheLastStatusTellsTheOutcome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			T: t, scene: rolling(""),
			told: map[string][]Post{}, attempts: map[string][]int64{}, released: map[string]int{},
		}
		w.scene.release.Status = v1alpha1.BatchReleaseStatus{}
		upgraded := rapid.IntRange(-25, 25).Draw(t, "when it is upgraded")
		for happens := range rapid.IntRange(1, 25).Draw(t, "happens") {
			w.step()
			if upgraded == happens {
				w.upgrade()
			}
			if rapid.IntRange(0, 2).Draw(t, "seen") > 0 {
				w.tell()
			}
		}
		w.end()
		w.tell()
		w.outcome()
		if again := append(Waiting(w.scene.release, Options{}), Next(w.scene.release, w.scene.gates, Options{})...); len(again) != 0 {
			t.Fatalf("all was told, but there is more: %v", lines(again))
		}
	})
}

// end lets all that is under way, and all that waits, come to its end.
func (w *world) end() {
	if w.stopped() {
		w.stop()
	}
	meta.RemoveStatusCondition(&w.scene.release.Status.Conditions, v1alpha1.ConditionDrifted)
	for w.scene.release.Status.Phase != v1alpha1.PhaseCompleted {
		w.roll()
		w.complete()
	}
}

func (w *world) outcome() {
	status := &w.scene.release.Status
	for commit, told := range w.told {
		if last := told[len(told)-1]; last.Status.State == forge.StatePending {
			w.Fatalf("%s is left with %q", commit, last.Status.Description)
		}
	}
	told := w.told[status.Commit]
	last := told[len(told)-1]
	want := "released: 10/10 updated to " + status.UpdateRevision
	switch {
	case status.RollbackTo != "" && status.Rollback.Trigger != v1alpha1.TriggerGitRevert:
		want = "rolled back to " + status.RollbackTo
	case status.RollbackTo != "":
		want = "reverted to " + status.RollbackTo
	}
	if !strings.HasPrefix(last.Status.Description, want) {
		w.Fatalf("the last that %s was told is %q, want %q", status.Commit, last.Status.Description, want)
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
		for _, post := range append(Next(s.release, s.gates, Options{}), sync) {
			status := post.Status
			if n := utf8.RuneCountInString(status.Description); n > 140 || forge.Description(status.Description) != status.Description {
				t.Fatalf("the forge refuses %q", status.Description)
			}
		}
	})
}
