package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// setOrDrop keeps a condition only while it is true, as kstatus requires.
func (t *telling) setOrDrop(kind string, why *Event) {
	if why == nil {
		t.drop(kind)
		return
	}
	t.set(kind, true, why.Message, why.Reason)
}

func (t *telling) set(kind string, is bool, message, reason string) {
	value := metav1.ConditionFalse
	if is {
		value = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&t.status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: reason, Message: bounded(message),
		ObservedGeneration: t.Release.Generation, LastTransitionTime: *t.time(),
	})
}

// drop removes a condition that is kept only while it is true.
func (t *telling) drop(kind string) { meta.RemoveStatusCondition(&t.status.Conditions, kind) }

// stalled is what needs a change by somebody; nil if there is nothing.
func (t *telling) stalled() *Event {
	stall := func(reason, message string) *Event {
		return &Event{Warning: true, Reason: reason, Message: bounded(message)}
	}
	_, failed := t.state.(Failed)
	_, yields := t.state.(Yielding)
	_, absent := t.state.(Absent)
	idle, idles := t.state.(Idle)
	starting, starts := t.state.(Starting)
	switch {
	case failed:
		return &Event{Reason: t.status.Reason, Message: t.status.Message}
	case yields, idles && t.refused == nil && (idle.Because == NoTemplate || idle.Because == Refused):
		return stall(t.words())
	case absent:
		return nil
	case starts && starting.At == WouldMixVersions:
		return stall(v1alpha1.ReasonWouldMixVersions, t.mixingWords())
	}
	if !t.statusFirst && t.refused != nil {
		return stall(v1alpha1.ReasonWriteRefused, refusalWords(t.refused))
	}
	return t.stalledBeside(stall)
}

// stalledBeside is what stalls a release beside where it stands.
func (t *telling) stalledBeside(stall func(reason, message string) *Event) *Event {
	blocked, waits := t.state.(Blocked)
	switch refused := t.refusedTemplate(); {
	case t.unreadable != nil:
		return stall(v1alpha1.ReasonInvalidStrategy, t.unreadable.Error())
	case refused != nil:
		return stall(v1alpha1.ReasonInvalidTemplate, refused.words())
	case t.drifts() && t.Release.Spec.Drift == v1alpha1.DriftRevert && t.elder() != "":
		return stall(v1alpha1.ReasonWorkloadShared, fmt.Sprintf(
			"Deployment %q has another release too, BatchRelease %q, which is older and alone may revert what is changed: delete one of the two",
			t.Workload.Name, t.elder()))
	case waits && rejectedOf(blocked.By) != nil:
		return &Event{Reason: t.status.Reason, Message: t.status.Message}
	default:
		return nil
	}
}

// quarantine says that the given template was rolled back, for as long as it is given; nil if it was not.
func (t *telling) quarantine() *Event {
	back := t.record.Rollback
	switch {
	case !t.quarantined():
		return nil
	case !t.isRollback() || back == nil || back.Trigger == v1alpha1.TriggerDrift || back.Trigger == v1alpha1.TriggerGitRevert:
		return &Event{Reason: v1alpha1.ReasonRolledBack, Message: "spec.template was rolled back and is not released again: another one is"}
	}
	return &Event{Reason: v1alpha1.ReasonRolledBack, Message: fmt.Sprintf(
		"revision %s%s was rolled back and is not released again: another template is", back.From, ofCommit(t.record.Commit))}
}

func ofCommit(commit string) string {
	if commit == "" {
		return ""
	}
	return " of commit " + commit
}

// preflight is what was found in the namespace; nil if it is nothing.
func (l *look) preflight() *Event {
	if l.Preflight == nil || len(l.Preflight.All()) == 0 {
		return nil
	}
	reason := v1alpha1.ReasonWarnings
	if len(l.Preflight.WillNotFit) > 0 {
		reason = v1alpha1.ReasonWillNotFit
	}
	return &Event{Reason: reason, Message: bounded(joined(l.Preflight.All()))}
}

// preflightIsTold reports whether people can read what was found.
func preflightIsTold(l *look) bool {
	told := meta.FindStatusCondition(l.Release.Status.Conditions, v1alpha1.ConditionPreflight)
	now := l.preflight()
	return now == nil || told != nil && told.Reason == now.Reason && told.Message == now.Message
}

// news is what the new status means to people, told once.
func (t *telling) news() []Event {
	var events []Event
	if stalled := t.stalled(); stalled != nil && stalled.Warning && !t.toldStalled(stalled) {
		events = append(events, *stalled)
	}
	if !t.worthTelling() {
		return events
	}
	warning := t.failed() || slices.Contains(warnings, t.status.Reason) || t.turnedRound()
	return append(events, Event{warning, t.status.Reason, t.status.Message})
}

// toldStalled reports whether people know why the release is stalled. They know of a refused write even though the
// API server says so in other words each time, for example with what a quota has left.
func (t *telling) toldStalled(stalled *Event) bool {
	if now, was := t.record.RefusedWrite, t.before.RefusedWrite; now != nil && !t.statusFirst && t.refused != nil {
		return was != nil && was.Write == now.Write
	}
	old := meta.FindStatusCondition(t.before.Conditions, v1alpha1.ConditionStalled)
	return old != nil && old.Reason == stalled.Reason && old.Message == stalled.Message
}

// warnings are the reasons that become warnings.
var warnings = []string{
	v1alpha1.ReasonGateRejected, v1alpha1.ReasonApprovalRefused, v1alpha1.ReasonWorkloadNotFound, v1alpha1.ReasonDrifted,
	v1alpha1.ReasonChangedPastGit, v1alpha1.ReasonWillNotFit,
}

// turnedRound reports whether a rollback begins that nobody requested.
func (t *telling) turnedRound() bool {
	back := t.record.Rollback
	return back != nil && t.status.Reason == v1alpha1.ReasonRollingBack &&
		(back.Trigger == v1alpha1.TriggerDeadline || back.Trigger == v1alpha1.TriggerGateRejected)
}

// worthTelling: a release blocks, fails or ends, a rollback starts too. That a release has
// started and which batch it is at are in the status; each event would cost a request.
func (t *telling) worthTelling() bool {
	started := t.record.Attempt != t.before.Attempt
	again := t.status.Reason == t.before.Reason && t.status.CurrentStepIndex == t.before.CurrentStepIndex
	switch t.status.Reason {
	case v1alpha1.ReasonBlocking, v1alpha1.ReasonGateRejected, v1alpha1.ReasonApprovalRefused, v1alpha1.ReasonDeadlineExceeded,
		v1alpha1.ReasonCompleted, v1alpha1.ReasonRolledBack, v1alpha1.ReasonWorkloadNotFound,
		v1alpha1.ReasonSuspended, v1alpha1.ReasonFrozen, v1alpha1.ReasonChangedPastGit:
		return started || !again
	case v1alpha1.ReasonDrifted, v1alpha1.ReasonWillNotFit:
		if change := t.change(); change != nil && t.changeIsTold(change) {
			return false // though it says by now that pods were lost, or no more
		}
		return t.status.Message != t.before.Message
	default:
		return started && t.isRollback()
	}
}

// changeIsTold reports whether people know what somebody else changed of the workload.
func (t *telling) changeIsTold(change *ExternalChange) bool {
	told := meta.FindStatusCondition(t.before.Conditions, v1alpha1.ConditionDrifted)
	return told != nil && told.Status == metav1.ConditionTrue && told.Message == bounded(change.Message)
}

// wake is after how long to look again, at the end of a freeze at the latest.
func (t *telling) wake() time.Duration {
	d := t.Decision
	if freeze := t.Release.Frozen(t.Now); freeze != nil && freeze.Until != nil {
		d = d.wakeAt(freeze.Until.Time)
	}
	return d.wake
}
