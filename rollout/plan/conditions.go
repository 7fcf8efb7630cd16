package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// whileTrue are the conditions that are kept only while they are true, as kstatus requires, in the
// order in which they are set.
var whileTrue = []struct {
	kind string
	why  func(*report) *Event
	// set sets the condition; nil sets it while there is a reason.
	set func(*report)
	// first reports whether the condition becomes an event; nil for one that is no event.
	first func(*report) bool
}{
	{kind: v1alpha1.ConditionStalled, why: func(r *report) *Event { return stalled(r).event() }},
	{kind: v1alpha1.ConditionSuspended, why: suspension},
	{kind: v1alpha1.ConditionQuarantined, why: quarantineEvent},
	{kind: v1alpha1.ConditionDrifted, set: setDrifted},
	{kind: v1alpha1.ConditionBeyondStep, why: beyondStep, set: setBeyond, first: begins(v1alpha1.ConditionBeyondStep)},
	{kind: v1alpha1.ConditionRolledBackServes, why: rolledBackServes, first: begins(v1alpha1.ConditionRolledBackServes)},
	{kind: v1alpha1.ConditionFieldsDropped, why: dropped, first: droppedBegins},
}

// begins returns a function that reports whether the stored status does not have a condition.
func begins(kind string) func(*report) bool {
	return func(r *report) bool { return meta.FindStatusCondition(r.before.Conditions, kind) == nil }
}

// setConditions sets the conditions of the status.
func setConditions(r *report) {
	r.status.Conditions = append([]metav1.Condition(nil), r.before.Conditions...)
	record, stalled := &r.s.record, stalled(r)
	reason, message := r.status.Reason, r.status.Message
	setPods(r)
	r.set(v1alpha1.ConditionTakenOver, record.Held != nil, holdMessage(record.Held), orWord(reason, v1alpha1.ReasonCompleted))
	for _, c := range whileTrue {
		if c.set != nil {
			c.set(r)
		} else {
			r.setOrDrop(c.kind, c.why(r))
		}
	}
	setPreflight(r)
	next := r.state.traits.has(beginsNext)
	under := next || record.Phase != "" && !record.completed() && !record.failed()
	r.set(v1alpha1.ConditionReconciling, under, message, orWord(reason, v1alpha1.ReasonCompleted))
	moving := under && !next && record.CurrentStepState != v1alpha1.StepBlocking && !stopsProgress(r.s).any() && r.d.refused == nil
	r.set(v1alpha1.ConditionProgressing, moving, message, orWord(reason, v1alpha1.ReasonCompleted))
	ready := r.state.traits.has(ready)
	if stalled.cause != "" {
		ready, reason, message = false, string(stalled.cause), stalled.message
	}
	r.set(v1alpha1.ConditionReady, ready, message, orWord(reason, v1alpha1.ReasonTakingOver))
}

// setOrDrop keeps a condition only while there is a reason.
func (r *report) setOrDrop(kind string, why *Event) {
	if why == nil {
		r.drop(kind)
		return
	}
	r.set(kind, true, why.Message, why.Reason)
}

func (r *report) set(kind string, is bool, message, reason string) {
	value := metav1.ConditionFalse
	if is {
		value = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&r.status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: reason, Message: bounded(message),
		ObservedGeneration: r.s.release.Generation, LastTransitionTime: *r.s.time(),
	})
}

// drop removes a condition. Removing one that is missing would copy all others.
func (r *report) drop(kind string) {
	if meta.FindStatusCondition(r.status.Conditions, kind) != nil {
		meta.RemoveStatusCondition(&r.status.Conditions, kind)
	}
}

// setPods sets the conditions of the pods of all versions that a Deployment has for its own:
// whether enough are available, and why some can't be made. The Deployment can't tell: while it is
// held its strategy is another one.
func setPods(r *report) {
	if absent(r.s) {
		r.drop(v1alpha1.ConditionAvailable)
		r.drop(v1alpha1.ConditionReplicaFailure)
		return
	}
	// The message has no numbers: the condition is written when it changes, at rest too.
	if podsShort(r.s) {
		r.set(v1alpha1.ConditionAvailable, false, "fewer than replicas - maxUnavailable pods are available", v1alpha1.ReasonMinimumUnavailable)
	} else {
		r.set(v1alpha1.ConditionAvailable, true, "at least replicas - maxUnavailable pods are available", v1alpha1.ReasonMinimumAvailable)
	}
	r.setOrDrop(v1alpha1.ConditionReplicaFailure, replicaFailure(r))
}

// replicaFailure returns why pods can't be made or deleted; nil if they can. A ReplicaSet's own
// reason need not be one that a condition of ours may have.
func replicaFailure(r *report) *Event {
	failure := r.s.pods.Failure
	if failure == nil {
		return nil
	}
	reason := v1alpha1.ReasonFailedCreate
	if failure.Reason == v1alpha1.ReasonFailedDelete {
		reason = v1alpha1.ReasonFailedDelete
	}
	return &Event{Reason: reason, Message: failure.Message}
}

// suspension returns why the release is suspended, in a rollback too; nil if it is not.
func suspension(r *report) *Event {
	all := stopCauses(r.s).only(stopSuspended, stopFrozen)
	if !all.any() {
		return nil
	}
	return &Event{Reason: all.reason(), Message: all.words(r.s)}
}

// setDrifted keeps the condition while the workload is not as it was released, or spec.template not
// as Git has it.
func setDrifted(r *report) {
	change, gone := r.s.hold().change(), r.state.traits.has(gone)
	switch {
	case change != nil:
		reason := change.Kind
		if _, known := whatChanged[reason]; !known { // a user has written into the annotation
			reason = v1alpha1.ReasonHoldRemoved
		}
		r.set(v1alpha1.ConditionDrifted, true, change.Message, reason)
	case r.s.pastGit:
		r.set(v1alpha1.ConditionDrifted, true, pastGitWords, v1alpha1.ReasonChangedPastGit)
	case !gone && drifts(r.s):
		r.set(v1alpha1.ConditionDrifted, true, driftedWords(r), v1alpha1.ReasonTemplateChanged)
	case !gone:
		r.drop(v1alpha1.ConditionDrifted)
	}
}

// setBeyond keeps the condition while more pods run the new revision than are approved. While it is
// unknown which pods are updated, the condition stays as it is.
func setBeyond(r *report) {
	if mayGoBeyond(r.s) && !r.s.pods.hasUpdated() {
		return
	}
	r.setOrDrop(v1alpha1.ConditionBeyondStep, beyondStep(r))
}

// setPreflight keeps the condition while the release lasts whose preflight found something.
func setPreflight(r *report) {
	findings := r.s.obs.Preflight
	switch found := preflightEvent(r.s); {
	case findings != nil && found != nil:
		r.set(v1alpha1.ConditionPreflightFailed, findings.Fails(), found.Message, found.Reason)
	case findings != nil, attempted(r), r.s.record.completed() && r.before.Phase != v1alpha1.PhaseCompleted:
		r.drop(v1alpha1.ConditionPreflightFailed)
	}
}

// preflightEvent returns what was found in the namespace; nil if nothing.
func preflightEvent(s *snapshot) *Event {
	findings := s.obs.Preflight
	if findings == nil || len(findings.All()) == 0 {
		return nil
	}
	reason := v1alpha1.ReasonWarnings
	if findings.Fails() {
		reason = v1alpha1.ReasonWillNotFit
	}
	return &Event{Warning: true, Reason: reason, Message: bounded(joined(findings.All()))}
}

// preflightReported reports whether the stored status has what was found.
func preflightReported(s *snapshot) bool {
	stored := meta.FindStatusCondition(s.release.Status.Conditions, v1alpha1.ConditionPreflightFailed)
	now := preflightEvent(s)
	return now == nil || stored != nil && stored.Message == now.Message
}

// quarantineEvent reports that the given template was rolled back, for as long as it is given; nil
// if it was not.
func quarantineEvent(r *report) *Event {
	back := r.s.record.Rollback
	switch {
	case !isQuarantined(r.s):
		return nil
	case back == nil || back.Trigger == v1alpha1.TriggerDrift || back.Trigger == v1alpha1.TriggerGitRevert:
		return &Event{Reason: v1alpha1.ReasonRolledBack, Message: "spec.template was rolled back and is not released again: a different template starts the next release"}
	}
	return &Event{Reason: v1alpha1.ReasonRolledBack, Message: fmt.Sprintf(
		"revision %s%s was rolled back and is not released again: a different template starts the next release", back.From, ofCommit(r.s.record.Commit))}
}

// dropped reports the fields of the given template that the API server does not keep; nil if it
// keeps all.
func dropped(r *report) *Event {
	resolved := r.s.record.Resolved
	if resolved == nil || len(resolved.Dropped) == 0 || resolved.Given != r.s.given {
		return nil
	}
	return &Event{Warning: true, Reason: v1alpha1.ReasonFieldsDropped, Message: bounded(fmt.Sprintf(
		"the API server drops %s: a feature is not enabled, or admission removes it, and pods run without; take it out of the template, or enable the feature",
		strings.Join(resolved.Dropped, ", ")))}
}

// rolledBackServes reports that pods of a version that was rolled back are left; nil if none are.
func rolledBackServes(r *report) *Event {
	revision, n := rolledBackPods(r.s)
	if n == 0 {
		return nil
	}
	return &Event{Warning: true, Reason: v1alpha1.ReasonRolledBackPods, Message: bounded(fmt.Sprintf(
		"%d of %d pods run revision %s, which was rolled back; they go before others as revision %s is released; to be rid of them first: sluice rollback %s -n %s",
		n, r.s.workload.Replicas, revision, r.s.record.UpdateRevision, r.s.release.Name, r.s.release.Namespace))}
}

// rolledBackPods returns the version that was rolled back and has the most pods while another
// version is released, and how many; empty if none has any. The release that fixes it may wait at
// its gates for long.
func rolledBackPods(s *snapshot) (revision string, pods int32) {
	if s.workload == nil || !s.record.underWay() || !s.hold().held() || s.record.isRollback() {
		return "", 0
	}
	for i := range s.history {
		k := &s.history[i]
		if k.stable() || k.Revision == s.record.UpdateRevision || k.Revision == stableRevision(s) {
			continue
		}
		if n := s.workload.Mover.Runs(k.Revision); n > pods {
			revision, pods = k.Revision, n
		}
	}
	return revision, pods
}

func holdMessage(held *v1alpha1.HeldWorkload) string {
	if held == nil {
		return "the native controller manages the workload"
	}
	return "the workload is taken over"
}

func ofCommit(commit string) string {
	if commit == "" {
		return ""
	}
	return " of commit " + commit
}
