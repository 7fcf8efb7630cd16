package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// tell puts a decision into the values that others read (state, stoppedBy, stalledBy), and into words: the reason, the message and
// the conditions of the status, and the events. The planner decides nothing by any of them; they are compared with those
// that were told before only to see what is news.
func tell(before *look, d Decision) Plan {
	d = tellable(d)
	state := d.standing()
	status := d.record
	status.Batch = d.batchNow()
	told := telling{Decision: d, state: state, before: &before.Release.Status, status: &status}
	status.Reason, status.Message = told.words()
	status.State, status.StoppedBy, status.StalledBy = told.value(), d.stop().causes(), told.stalled().cause
	told.setConditions()
	status.Images, status.Log = told.images(), told.log()
	if stood := told.before; status.Phase != stood.Phase || status.CurrentStepIndex != stood.CurrentStepIndex ||
		status.CurrentStepState != stood.CurrentStepState {
		status.LastUpdateTime = d.time()
	}
	return Plan{
		Actions: d.actions, Status: status, StatusFirst: d.statusFirst, Records: d.records,
		Needs: d.needs, Wake: told.wake(), Timed: d.excused(), PodLooks: d.looks, Events: append(told.events(), told.news()...),
	}
}

// telling is a decision as it is put into words.
type telling struct {
	Decision
	state  State
	before *v1alpha1.BatchReleaseStatus
	status *v1alpha1.BatchReleaseStatus
}

// tellable is a decision with the counts, and the refused write, to report to people.
func tellable(d Decision) Decision {
	if there := d.Workload != nil && !d.Workload.Deleting; there && !(d.completed() && d.Release.Status.Phase == v1alpha1.PhaseCompleted) {
		d = countAll(d)
		if d.underWay() && d.entered() && d.held() && !d.empty {
			d = count(d) // pods come and go also where nothing can be decided of them
		}
	}
	switch {
	case d.statusFirst: // the next turn tells
	case d.refused == nil && d.record.RefusedWrite == nil:
	case d.refused == nil:
		d = d.with(func(r *record) { r.RefusedWrite = nil })
	default:
		told := d.refusedWrite()
		d = d.with(func(r *record) { r.RefusedWrite = &told })
	}
	return d
}

// standing is the state of the release once the decision is carried out. For what is about to go away it is how far that is.
func (d Decision) standing() State {
	ref := d.Release.Spec.WorkloadRef
	switch s := found(d.look).(type) {
	case Absent, WorkloadHeld:
		return s
	case Leaving:
		if d.Workload == nil || d.Workload.Deleting {
			return Absent{ref.Kind, ref.Name}
		}
	case Unsecured, Replaced:
	}
	return reached(d.look)
}

// batchNow is the current step, counted from 1. What is completed keeps the number of steps that it had.
func (d Decision) batchNow() string {
	stood := &d.Release.Status
	if d.completed() && stood.Phase == v1alpha1.PhaseCompleted && stood.Attempt == d.record.Attempt {
		return stood.Batch
	}
	return d.batchWord()
}

// conditions in the order in which they are set.
func (t *telling) setConditions() {
	t.status.Conditions = slices.Clone(t.before.Conditions)
	stalled := t.stalled()
	reason, message := t.status.Reason, t.status.Message
	phase := t.record.Phase
	_, preparing := t.state.(Preparing)
	t.setPods()
	t.set(v1alpha1.ConditionTakenOver, t.record.Held != nil, holdMessage(t.record.Held), orWord(reason, v1alpha1.ReasonCompleted))
	t.setOrDrop(v1alpha1.ConditionStalled, stalled.event())
	t.setOrDrop(v1alpha1.ConditionSuspended, t.suspension())
	t.setOrDrop(v1alpha1.ConditionQuarantined, t.quarantine())
	t.setDrifted()
	t.setBeyond()
	t.setOrDrop(v1alpha1.ConditionRolledBackServes, t.undoneServes())
	t.setOrDrop(v1alpha1.ConditionFieldsDropped, t.dropped())
	t.setPreflight()
	under := preparing || phase != "" && !t.completed() && !t.failed()
	t.set(v1alpha1.ConditionReconciling, under, message, orWord(reason, v1alpha1.ReasonCompleted))
	moving := under && !preparing && t.record.CurrentStepState != v1alpha1.StepBlocking && !t.stopped().any() && t.refused == nil
	t.set(v1alpha1.ConditionProgressing, moving, message, orWord(reason, v1alpha1.ReasonCompleted))
	ready := t.ready()
	if stalled.cause != "" {
		ready, reason, message = false, string(stalled.cause), stalled.message
	}
	t.set(v1alpha1.ConditionReady, ready, message, orWord(reason, v1alpha1.ReasonTakingOver))
}

// ready reports whether all pods run what was released last.
func (t *telling) ready() bool {
	_, completed := t.state.(Completed)
	_, waiting := t.state.(Waiting)
	return completed || waiting && t.completed() && !t.drifts()
}

// setPods says of the pods of all versions what a Deployment says of its own: whether enough are available and why some
// can't be made. The Deployment itself can't: while it is held its strategy is another one, and of failures it says nothing.
func (t *telling) setPods() {
	if t.Workload == nil || t.Workload.Deleting {
		t.drop(v1alpha1.ConditionAvailable)
		t.drop(v1alpha1.ConditionReplicaFailure)
		return
	}
	// It contains no numbers: it is written when it changes, at rest too.
	if t.pods.All.Staying >= t.Workload.Replicas-t.bounds().Unavailable {
		t.set(v1alpha1.ConditionAvailable, true, "at least replicas - maxUnavailable pods are available", v1alpha1.ReasonMinimumAvailable)
	} else {
		t.set(v1alpha1.ConditionAvailable, false, "fewer than replicas - maxUnavailable pods are available", v1alpha1.ReasonMinimumUnavailable)
	}
	t.setOrDrop(v1alpha1.ConditionReplicaFailure, t.replicaFailure())
}

// replicaFailure is why pods can't be made or deleted; nil if they can. A ReplicaSet's own reason need
// not be one that a condition of ours may have.
func (t *telling) replicaFailure() *Event {
	failure := t.pods.Failure
	if failure == nil {
		return nil
	}
	reason := v1alpha1.ReasonFailedCreate
	if failure.Reason == v1alpha1.ReasonFailedDelete {
		reason = v1alpha1.ReasonFailedDelete
	}
	return &Event{Reason: reason, Message: failure.Message}
}

// suspension is why the release is suspended, in a rollback too; nil if it is not.
func (t *telling) suspension() *Event {
	var all Stop
	if t.Release.Spec.Suspend {
		all = append(all, Suspended{})
	}
	if freeze := t.Release.Frozen(t.Now); freeze != nil {
		all = append(all, Frozen{*freeze})
	}
	if !all.any() {
		return nil
	}
	return &Event{Reason: all.reason(), Message: t.stopWords(all)}
}

// setDrifted keeps the condition while the workload is not as it was released, or spec.template not as Git has it.
func (t *telling) setDrifted() {
	change := t.change()
	_, absent := t.state.(Absent)
	switch {
	case change != nil:
		reason := change.Kind
		if _, known := whatChanged[reason]; !known { // somebody has written into the annotation
			reason = v1alpha1.ReasonHoldRemoved
		}
		t.set(v1alpha1.ConditionDrifted, true, change.Message, reason)
	case t.pastGit:
		t.set(v1alpha1.ConditionDrifted, true, pastGitWords, v1alpha1.ReasonChangedPastGit)
	case !absent && t.drifts():
		t.set(v1alpha1.ConditionDrifted, true, t.driftedWords(), v1alpha1.ReasonTemplateChanged)
	case !absent:
		t.drop(v1alpha1.ConditionDrifted)
	}
}

// setPreflight keeps the condition while the release lasts whose preflight had something to say.
func (t *telling) setPreflight() {
	t.drop(conditionPreflight)
	switch told := t.preflight(); {
	case t.Preflight != nil && told != nil:
		t.set(v1alpha1.ConditionPreflightFailed, t.Preflight.Fails(), told.Message, told.Reason)
	case t.Preflight != nil, t.record.Attempt != t.before.Attempt, t.completed() && t.before.Phase != v1alpha1.PhaseCompleted:
		t.drop(v1alpha1.ConditionPreflightFailed)
	}
}

// conditionPreflight is what an earlier version wrote in the place of PreflightFailed: true for warnings, and false for no room.
const conditionPreflight = "Preflight"

func holdMessage(held *v1alpha1.HeldWorkload) string {
	if held == nil {
		return "the native controller manages the workload"
	}
	return "the workload is taken over"
}
