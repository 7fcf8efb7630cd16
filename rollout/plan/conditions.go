package plan

import (
	"fmt"
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
			"Deployment %q also belongs to BatchRelease %q, which is older, and alone may revert changes: delete one of the two",
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
		return &Event{Reason: v1alpha1.ReasonRolledBack, Message: "spec.template was rolled back and is not released again; a different template is"}
	}
	return &Event{Reason: v1alpha1.ReasonRolledBack, Message: fmt.Sprintf(
		"revision %s%s was rolled back and is not released again; a different template is", back.From, ofCommit(t.record.Commit))}
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

// wake is after how long to look again, at the end of a freeze at the latest.
func (t *telling) wake() time.Duration {
	d := t.Decision
	if freeze := t.Release.Frozen(t.Now); freeze != nil && freeze.Until != nil {
		d = d.wakeAt(freeze.Until.Time)
	}
	return d.wake
}
