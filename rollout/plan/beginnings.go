package plan

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// progressed are the events of a release that goes on: what it leaves behind, that it begins, and that it comes to another batch. Each is told
// once, as it is about what the status before did not have.
func (t *telling) progressed() []Event {
	var events []Event
	for _, event := range []*Event{t.gaveWay(), t.turns(), t.took(), t.stepEnds(), t.stepBegins()} {
		if event != nil {
			events = append(events, *event)
		}
	}
	return events
}

// attempted reports whether another attempt begins.
func (t *telling) attempted() bool { return t.status.Attempt != t.before.Attempt }

// gaveWay says that a release was left in mid-release, as another template is given; nil if none was.
func (t *telling) gaveWay() *Event {
	was := t.before
	left := was.Held != nil && was.Phase != v1alpha1.PhaseCompleted && was.UpdateRevision != ""
	if !left || !t.attempted() || t.isRollback() || was.UpdateRevision == t.status.UpdateRevision {
		return nil
	}
	what := "the release of "
	if was.RolledBackTo() != "" {
		what = "the rollback to "
	}
	where := ""
	if was.StepStartedAt != nil {
		where = " at batch " + was.Batch
	}
	return &Event{Reason: v1alpha1.ReasonSuperseded, Message: bounded(fmt.Sprintf("%s%s%s is superseded by %s",
		what, versionWords(was.UpdateRevision, was.Commit), where, versionWords(t.status.UpdateRevision, t.status.Commit)))}
}

// turns says that a rollback begins, whatever it waits for at first; nil if none does.
func (t *telling) turns() *Event {
	if !t.attempted() || !t.isRollback() {
		return nil
	}
	return &Event{Warning: t.turnedBack(), Reason: v1alpha1.ReasonRollingBack, Message: bounded(t.turnWords())}
}

// took says that the workload is taken over for a release, or that one begins on a workload that is; nil otherwise. A rollback has an
// event of its own.
func (t *telling) took() *Event {
	is, was := t.status, t.before
	goesOn := was.Held != nil && (!t.attempted() || was.UpdateRevision == is.UpdateRevision) // a jump back is another attempt
	if is.Held == nil || t.completed() || t.isRollback() || goesOn {
		return nil
	}
	return &Event{Reason: v1alpha1.ReasonTakingOver, Message: bounded(fmt.Sprintf("%s is released in %s",
		versionWords(is.UpdateRevision, is.Commit), plural(len(t.steps()), "batch", "batches")))}
}

// stepBegins says that a step was entered; nil if none was.
func (t *telling) stepBegins() *Event {
	is, was := t.status, t.before
	there := t.entered() && !t.completed() && is.Phase != v1alpha1.PhaseFinalizing
	again := was.StepStartedAt != nil && !was.StepStartedAt.Equal(is.StepStartedAt) // a step that was edited
	same := t.wasEntered() && !again && !t.attempted() && is.CurrentStepIndex == was.CurrentStepIndex && t.turned() == (was.Rollback != nil)
	if !there || same {
		return nil
	}
	return &Event{Reason: t.upgradeReason(), Message: t.rollingWords(t.goingBack())}
}

// wasEntered reports whether a step was entered before. A version without states did not record when.
func (t *telling) wasEntered() bool {
	return t.before.StepStartedAt != nil || t.before.State == "" && midStep(t.before)
}

// stepEnds says that a step is done that has no gates; nil if none is. With gates, that it blocks says so.
func (t *telling) stepEnds() *Event {
	is, was := t.status, t.before
	on := is.Phase == v1alpha1.PhaseFinalizing || is.Phase == v1alpha1.PhaseCompleted || is.CurrentStepIndex == was.CurrentStepIndex+1
	rolled := was.Phase == v1alpha1.PhaseRollingUpdate || was.Phase == v1alpha1.PhaseRollingBack
	if !on || !rolled || was.StepStartedAt == nil || was.CurrentStepState != v1alpha1.StepUpgrade || t.attempted() || t.turned() != (was.Rollback != nil) {
		return nil
	}
	return &Event{Quiet: true, Reason: v1alpha1.ReasonStepDone, Message: fmt.Sprintf("batch %s done with %s of %d", was.Batch, pods(was.TargetReplicas), was.Replicas)}
}

// turned reports whether the release is a rollback.
func (t *telling) turned() bool { return t.status.Rollback != nil }

// versionWords name a version by its revision, and by its commit if it has one.
func versionWords(revision, commit string) string {
	if commit == "" {
		return "revision " + revision
	}
	return "revision " + revision + " of commit " + plain.Commit(commit)
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
