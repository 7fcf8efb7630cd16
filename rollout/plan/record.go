package plan

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/order"
)

// record holds the durable part of a status. The state with its causes, the reason, the message and
// the conditions are blank, so that nothing can be decided by them. Objects behind its pointers
// are never changed, only replaced.
type record struct{ v1alpha1.BatchReleaseStatus }

// recordOf returns the record in the status of a release.
func recordOf(release *v1alpha1.BatchRelease) record {
	r := record{release.Status}
	r.State, r.StoppedBy, r.StalledBy = "", nil, ""
	r.PodTrouble = nil // watchPods sets it again
	r.Queued, r.Traffic = notAwaiting(r.Queued), persistentTraffic(r.Traffic)
	r.Reason, r.Message, r.Batch, r.Conditions = "", "", "", nil
	r.ObservedGeneration = release.Generation
	return r
}

// startedOver returns the record of a release whose workload was created again. Reports to a forge
// stay.
func startedOver(r record) record {
	return record{v1alpha1.BatchReleaseStatus{
		Attempt:            r.Attempt,
		Quarantined:        r.Quarantined,
		ObservedGeneration: r.ObservedGeneration,
		Ended:              r.Ended,
		Superseded:         r.Superseded,
		Log:                r.Log,
		Report:             r.Report,
		Refusal:            r.Refusal,
		Revert:             r.Revert,
	}}
}

// isRollback reports whether the attempt is a rollback, in progress or completed.
func (r *record) isRollback() bool { return r.Rollback != nil }

// rollingBack reports whether a rollback is in progress.
func (r *record) rollingBack() bool { return r.isRollback() && !r.completed() }

// revertsDrift reports whether the attempt is a rollback from a template that a person gave the
// workload by hand.
func (r *record) revertsDrift() bool {
	return r.isRollback() && r.Rollback.Trigger == v1alpha1.TriggerDrift
}

// leaves reports whether a rollback in progress leaves a template.
func (r *record) leaves(kept *Kept) bool { return r.rollingBack() && kept.Revision != r.RolledBackTo() }

// completed reports whether the attempt has completed.
func (r *record) completed() bool { return r.Phase == v1alpha1.PhaseCompleted }

// failed reports whether the attempt has failed.
func (r *record) failed() bool { return r.Phase == v1alpha1.PhaseFailed }

// idle reports whether no attempt is in progress.
func (r *record) idle() bool { return r.Resolved == nil || r.completed() }

// underWay reports whether the workload is taken over for an attempt in progress.
func (r *record) underWay() bool {
	return r.Resolved != nil && r.Held != nil && r.Phase != "" && !r.completed()
}

// entered reports whether a step was entered, so that pods may be moved.
func (r *record) entered() bool { return r.StepStartedAt != nil }

// releases reports whether a digest is that of the attempt's template.
func (r *record) releases(digest string) bool {
	return r.Resolved != nil && r.Resolved.Digest == digest
}

// isOf reports whether a revision is the attempt's, or another name of its template.
func (r *record) isOf(revision, digest string) bool {
	return revision == r.UpdateRevision || r.releases(digest)
}

// rollingPhase returns the phase of an attempt whose pods are moved.
func (r *record) rollingPhase() v1alpha1.Phase {
	if r.isRollback() {
		return v1alpha1.PhaseRollingBack
	}
	return v1alpha1.PhaseRollingUpdate
}

// ending returns the recorded end of a release with traffic; nil before its end.
func (r *record) ending() *v1alpha1.TrafficEnding {
	if r.Traffic == nil {
		return nil
	}
	return r.Traffic.Ending
}

// enteredShare returns the recorded target in proportion to the recorded replicas. It is all pods
// only where those were approved, or where there is no other version: elsewhere one old pod has
// stayed.
func (r *record) enteredShare() share {
	return share{value: int64(r.TargetReplicas), of: int64(r.Replicas)}
}

// shareAtEntry returns the share that the current step had when it was entered; nil if that is not
// recorded.
func (r *record) shareAtEntry() *share {
	if r.EnteredStep == nil {
		return nil
	}
	entered, err := parseShare(r.EnteredStep.Replicas)
	if err != nil {
		return nil
	}
	return &entered
}

// lastJump returns the last jump of the attempt; nil if there is none.
func (r *record) lastJump() *v1alpha1.EarlierJump {
	if jumps := r.Jumps(); len(jumps) > 0 {
		return &jumps[len(jumps)-1]
	}
	return nil
}

// jumpsOver reports whether a jump skips a gate of a step whose policy allows that.
func (r *record) jumpsOver(step int32, policy v1alpha1.GatePolicy) bool {
	over := func(jump v1alpha1.EarlierJump) bool { return jump.From <= step && step < jump.To }
	return policy.CanSkip() && slices.ContainsFunc(r.Jumps(), over)
}

// paused reports whether the release pauses before a pod.
func (r *record) paused() bool {
	return r.PausePoint != nil && r.PausePoint.Confirmed != r.PausePoint.Pod
}

// pausesBefore reports whether a pod has a pause point that is not confirmed.
func (r *record) pausesBefore(pod order.Pod) bool {
	at := r.PausePoint
	return pod.Pause && (at == nil || at.UID != pod.UID || at.Confirmed != pod.Name)
}

// inOrder reports whether as many pods as the step needs are recorded to have a place in the order.
func (r *record) inOrder(o *mover.Order) bool {
	return o.Pods == 0 || r.Order != nil && r.Order.Attempt == r.Attempt && r.Order.Unordered <= o.Unordered
}

// forcedWords lists the gates that were passed despite their policies, with the user and the
// reason.
func (r *record) forcedWords() string {
	var words []string
	for _, forced := range r.Forced {
		words = append(words, fmt.Sprintf("%s gate of batch %d by %s: %s", forced.Type, forced.Step+1, forced.By, forced.Reason))
	}
	return within(words, maxForced)
}
