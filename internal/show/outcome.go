package show

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Outcome is how a release ended, or that it has not.
type Outcome int

// The outcomes.
const (
	// UnderWay: nothing is settled yet, and nobody knows how long it takes.
	UnderWay Outcome = iota
	// Completed: what is given runs.
	Completed
	// Failed: it made no progress in time, or can't be released as it is given. It takes a person to go on.
	Failed
	// RolledBack: an earlier template runs, and not because Git asked for it.
	RolledBack
	// Rejected: a gate was rejected, and the release holds.
	Rejected
)

// OutcomeOf is how the release of what is given ended. What the controller has not looked at is under way.
func OutcomeOf(release *v1alpha1.BatchRelease) Outcome {
	status := &release.Status
	switch {
	case status.ObservedGeneration < release.Generation:
		return UnderWay
	case status.Reason == v1alpha1.ReasonGateRejected && status.Phase != v1alpha1.PhaseRollingBack:
		return Rejected
	case status.Phase == v1alpha1.PhaseFailed, stalled(status):
		return Failed
	case status.Phase != v1alpha1.PhaseCompleted:
		return UnderWay
	case meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionQuarantined), unasked(status):
		return RolledBack
	default:
		return Completed
	}
}

// unasked tells whether a rollback was done that Git did not bring.
func unasked(status *v1alpha1.BatchReleaseStatus) bool {
	return status.RollbackTo != "" && status.Rollback != nil && status.Rollback.Trigger != v1alpha1.TriggerGitRevert &&
		status.Rollback.Trigger != v1alpha1.TriggerDrift
}

// Progress is how far a release is, in one line.
func Progress(release *v1alpha1.BatchRelease) string {
	status := &release.Status
	if status.ObservedGeneration < release.Generation {
		return "waits for the controller to look at it"
	}
	return oneLine(cmp.Or(status.Message, string(status.Phase), "waits for the controller to look at it"))
}
