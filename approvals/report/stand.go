package report

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// position is the state of a release, as far as reports tell states apart. Only this file reads the
// phase, the state and the conditions of a status.
type position int

const (
	// notSeen: the controller has not looked at it yet.
	notSeen position = iota
	// goingBack: the commit is, or was, rolled back from.
	goingBack
	// notReleasable: the commit can't be released as it is.
	notReleasable
	// changedSince: it was released, and somebody has changed the workload since.
	changedSince
	// atItsEnd: it has completed.
	atItsEnd
	// goingAway: the object is deleted before the release has completed.
	goingAway
	// withoutProgress: it makes none within the deadline.
	withoutProgress
	// standingStill: it waits until somebody lets it go on, makes room for it, or fixes what refuses
	// its writes.
	standingStill
	// between: there is nothing to say before it has come further.
	between
	// afterGates: the gates of the last batch have passed, and the old pods and the routes are seen to.
	afterGates
	// atGates: the batch is done and waits for gates.
	atGates
	// updating: the batch is being updated.
	updating
)

func positionOf(release *v1alpha1.BatchRelease) position {
	status := &release.Status
	switch {
	case !seen(status):
		return notSeen
	case takenBack(status):
		return goingBack
	case release.Annotations[v1alpha1.CommitAnnotation] == status.Commit && refusing(release) != nil:
		return notReleasable
	case drift(status) != nil:
		return changedSince
	case done(status):
		return atItsEnd
	case release.DeletionTimestamp != nil:
		return goingAway
	case stuck(status):
		return withoutProgress
	case failing(status), status.State == "": // the message is about something else, or the status of an earlier version, for now
		return between
	case heldByTrain(release):
		return between
	case stands(status):
		return standingStill
	case !inBatch(status), status.Phase == v1alpha1.PhaseFinalizing:
		return between
	case ending(status):
		return afterGates
	case len(status.Gates) > 0:
		return atGates
	default:
		return updating
	}
}

// stands reports whether a release waits until somebody does something, or what its namespace has
// no room for is gone.
func stands(status *v1alpha1.BatchReleaseStatus) bool {
	if at := status.State; at.OnHold() || at.Waits() && !at.AtGates() || at == v1alpha1.StateNativeRollout {
		return true
	}
	return status.StalledBy == v1alpha1.StallWriteRefused || blockedTraffic(status) != nil
}

// refuses reports whether a problem must be fixed before a spec is released at all.
func refuses(cause v1alpha1.StallCause) bool {
	switch cause {
	case v1alpha1.StallInvalidTemplate, v1alpha1.StallInvalidStrategy, v1alpha1.StallNoTemplate, v1alpha1.StallWorkloadHeld,
		v1alpha1.StallWouldMixVersions, v1alpha1.StallUnguarded:
		return true
	case v1alpha1.StallDeadlineExceeded, v1alpha1.StallGateRejected, v1alpha1.StallTrafficBlocked, v1alpha1.StallWorkloadShared,
		v1alpha1.StallWriteRefused:
	}
	return false
}

// refusing returns the condition that keeps the spec as it is now from being released; nil if it
// can be.
func refusing(release *v1alpha1.BatchRelease) *metav1.Condition {
	if release.Status.ObservedGeneration != release.Generation || !refuses(release.Status.StalledBy) {
		return nil
	}
	return meta.FindStatusCondition(release.Status.Conditions, v1alpha1.ConditionStalled)
}

// takenBack reports whether the release is rolled back from the present commit, not to it: a user
// or the cluster started the rollback, and Git still had the commit. A revert in Git is released as
// a commit of its own, unless it follows such a rollback: then it only ends the quarantine. A
// rollback to nothing is one whose workload was replaced since.
func takenBack(status *v1alpha1.BatchReleaseStatus) bool {
	return status.RolledBackTo() != "" && leavesCommit(status.Rollback.Trigger)
}

// leavesCommit reports whether a rollback with a trigger is one from the present commit. Git may
// have another one by now if a train returns.
func leavesCommit(trigger v1alpha1.RollbackTrigger) bool {
	return trigger.LeavesGit() || trigger == v1alpha1.TriggerTrain
}

// drift returns the condition of a workload that somebody has changed since its release was
// completed: the commit does not tell what runs. It is nil if nobody has.
func drift(status *v1alpha1.BatchReleaseStatus) *metav1.Condition {
	found := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDrifted)
	if !done(status) || found == nil || found.Status != metav1.ConditionTrue {
		return nil
	}
	return found
}

// seen reports whether the controller has looked at a release.
func seen(status *v1alpha1.BatchReleaseStatus) bool { return status.Phase != "" }

// done reports whether a release or rollback has completed.
func done(status *v1alpha1.BatchReleaseStatus) bool { return status.Phase == v1alpha1.PhaseCompleted }

// failing reports whether a release or rollback does not go on, for the time being.
func failing(status *v1alpha1.BatchReleaseStatus) bool { return status.Phase == v1alpha1.PhaseFailed }

// stuck reports whether no progress was made within the deadline: by a release, or by a member of
// the train.
func stuck(status *v1alpha1.BatchReleaseStatus) bool { return status.State == v1alpha1.StateFailed }

// broken reports whether a release does not go on because it went wrong, whatever for.
func broken(status *v1alpha1.BatchReleaseStatus) bool {
	return failing(status) || status.State.WentWrong()
}

// stop returns the condition of a release that people have stopped; nil if nobody has.
func stop(status *v1alpha1.BatchReleaseStatus) *metav1.Condition {
	return meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSuspended)
}

// inBatch reports whether a release has begun with its first batch.
func inBatch(status *v1alpha1.BatchReleaseStatus) bool { return status.Entered() }

// batchOf returns the batch that a release is at, counted from 1, and how many there are; 0 before
// the first.
func batchOf(release *v1alpha1.BatchRelease) (batch, batches int32) {
	if !inBatch(&release.Status) {
		return 0, 0
	}
	batch = release.Status.CurrentStepIndex + 1
	return batch, max(int32(len(steps(release))), batch)
}
