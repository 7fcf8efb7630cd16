package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// now is the time of the pass as the API keeps it: in whole seconds. Every condition asks for it.
func (p *pass) now() *metav1.Time {
	if p.seconds.IsZero() {
		p.seconds = metav1.NewTime(p.Now).Rfc3339Copy()
	}
	return new(p.seconds)
}

func fromInt(n int32) *intstr.IntOrString {
	value := intstr.FromInt32(n)
	return &value
}

// setConditions derives the conditions from the rest of the status.
func (p *pass) setConditions() {
	p.sayPastGit()
	phase := p.status.Phase
	reason, message := p.status.Reason, p.status.Message
	stalled := p.stalled
	if stalled == nil && (phase == v1alpha1.PhaseFailed || reason == v1alpha1.ReasonGateRejected) {
		stalled = &Event{Reason: reason, Message: message}
	}
	p.tellPods()
	p.setCondition(v1alpha1.ConditionTakenOver, p.status.Held != nil, holdMessage(p.status.Held), orWord(reason, v1alpha1.ReasonCompleted))
	p.setStalled(stalled)
	p.setSuspended()
	p.setQuarantined()
	p.setMeddled()
	under := phase != "" && phase != v1alpha1.PhaseCompleted && phase != v1alpha1.PhaseFailed
	p.setCondition(v1alpha1.ConditionReconciling, under, message, orWord(reason, v1alpha1.ReasonCompleted))
	moving := under && p.status.CurrentStepState != v1alpha1.StepBlocking && p.stopped() == nil && p.refused == nil
	p.setCondition(v1alpha1.ConditionProgressing, moving, message, orWord(reason, v1alpha1.ReasonCompleted))
	ready := phase == v1alpha1.PhaseCompleted && stalled == nil &&
		reason != v1alpha1.ReasonWorkloadNotFound && reason != v1alpha1.ReasonDrifted && reason != v1alpha1.ReasonChangedPastGit
	if stalled != nil {
		reason, message = stalled.Reason, stalled.Message
	}
	p.setCondition(v1alpha1.ConditionReady, ready, message, orWord(reason, v1alpha1.ReasonTakingOver))
}

func holdMessage(held *v1alpha1.HeldWorkload) string {
	if held == nil {
		return "the workload is the native controller's"
	}
	return "the workload is taken over"
}

// setStalled keeps Stalled only while it is true, as kstatus asks for.
func (p *pass) setStalled(stalled *Event) {
	if stalled == nil {
		p.drop(v1alpha1.ConditionStalled)
		return
	}
	p.setCondition(v1alpha1.ConditionStalled, true, stalled.Message, stalled.Reason)
}

// setQuarantined says that what is given was rolled back, for as long as it is. Which revision that was is
// known when it happens.
func (p *pass) setQuarantined() {
	conditions, rollback := &p.status.Conditions, p.status.Rollback
	if !p.quarantined() {
		p.drop(v1alpha1.ConditionQuarantined)
		return
	}
	message := "spec.template was rolled back and is not released again: another one is"
	if before := meta.FindStatusCondition(*conditions, v1alpha1.ConditionQuarantined); before != nil {
		message = before.Message
	} else if rollback != nil {
		message = fmt.Sprintf("revision %s%s was rolled back and is not released again: another template is",
			rollback.From, ofCommit(p.status.Commit))
	}
	p.setCondition(v1alpha1.ConditionQuarantined, true, message, v1alpha1.ReasonRolledBack)
}

func ofCommit(commit string) string {
	if commit == "" {
		return ""
	}
	return " of commit " + commit
}

func (p *pass) setCondition(kind string, is bool, message, reason string) {
	value := metav1.ConditionFalse
	if is {
		value = metav1.ConditionTrue
	}
	condition := metav1.Condition{
		Type: kind, Status: value, Reason: reason, Message: bounded(message),
		ObservedGeneration: p.Release.Generation, LastTransitionTime: *p.now(),
	}
	meta.SetStatusCondition(&p.status.Conditions, condition)
}

// drop takes a condition away that is kept only while it is true. Mostly it is not there, and nothing is to be copied.
func (p *pass) drop(kind string) {
	if meta.FindStatusCondition(p.status.Conditions, kind) != nil {
		meta.RemoveStatusCondition(&p.status.Conditions, kind)
	}
}

func orWord(reason, otherwise string) string {
	if reason == "" {
		return otherwise
	}
	return reason
}

// announce tells what the new status means to people, once.
func (p *pass) announce(before *v1alpha1.BatchReleaseStatus) []Event {
	var events []Event
	if p.stalled != nil && !p.toldStalled(before) {
		events = append(events, *p.stalled)
	}
	if !p.worthTelling(before) {
		return events
	}
	warning := p.status.Phase == v1alpha1.PhaseFailed || slices.Contains(warnings, p.status.Reason) || p.turnedRound()
	return append(events, Event{warning, p.status.Reason, p.status.Message})
}

// toldStalled reports whether people know why the release is stalled. Of a write that is refused they do though the
// API server says so in other words each time, with what a quota has left for example.
func (p *pass) toldStalled(before *v1alpha1.BatchReleaseStatus) bool {
	if now, was := p.status.RefusedWrite, before.RefusedWrite; now != nil && p.stalled.Reason == v1alpha1.ReasonWriteRefused {
		return was != nil && was.Write == now.Write
	}
	old := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionStalled)
	return old != nil && old.Reason == p.stalled.Reason && old.Message == p.stalled.Message
}

// warnings are the reasons that people are warned of.
var warnings = []string{v1alpha1.ReasonGateRejected, v1alpha1.ReasonApprovalRefused, v1alpha1.ReasonWorkloadNotFound, v1alpha1.ReasonDrifted, v1alpha1.ReasonChangedPastGit, v1alpha1.ReasonWillNotFit}

// turnedRound reports whether a rollback begins that nobody has asked for.
func (p *pass) turnedRound() bool {
	rollback := p.status.Rollback
	return rollback != nil && p.status.Reason == v1alpha1.ReasonRollingBack &&
		(rollback.Trigger == v1alpha1.TriggerDeadline || rollback.Trigger == v1alpha1.TriggerGateRejected)
}

// worthTelling: a release blocks, fails or ends, a rollback starts too. That a release has
// started and which batch it is at are in the status; each event would cost a request.
func (p *pass) worthTelling(before *v1alpha1.BatchReleaseStatus) bool {
	started := p.status.Attempt != before.Attempt
	again := p.status.Reason == before.Reason && p.status.CurrentStepIndex == before.CurrentStepIndex
	switch p.status.Reason {
	case v1alpha1.ReasonBlocking, v1alpha1.ReasonGateRejected, v1alpha1.ReasonApprovalRefused, v1alpha1.ReasonDeadlineExceeded,
		v1alpha1.ReasonCompleted, v1alpha1.ReasonRolledBack, v1alpha1.ReasonWorkloadNotFound,
		v1alpha1.ReasonSuspended, v1alpha1.ReasonFrozen, v1alpha1.ReasonChangedPastGit:
		return started || !again
	case v1alpha1.ReasonDrifted, v1alpha1.ReasonWillNotFit:
		return p.status.Message != before.Message
	default:
		return started && p.status.RollbackTo != ""
	}
}
