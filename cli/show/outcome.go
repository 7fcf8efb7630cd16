package show

import (
	"cmp"
	"slices"
	"strings"

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
	// Drifted: it was completed, and somebody has changed the workload's template out of band since.
	Drifted
	// Superseded: another commit took its place before its end.
	Superseded
	// Unknown: nothing is known of it.
	Unknown
)

// OutcomeOf is how the release of what is given ended. What the controller has not looked at is in progress.
func OutcomeOf(release *v1alpha1.BatchRelease) Outcome {
	status := &release.Status
	switch {
	case status.ObservedGeneration < release.Generation:
		return UnderWay
	case status.State == v1alpha1.StateRejected && status.Phase != v1alpha1.PhaseRollingBack:
		return Rejected
	case status.Phase == v1alpha1.PhaseFailed, stalled(status):
		return Failed
	case status.Phase != v1alpha1.PhaseCompleted:
		return UnderWay
	case meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionDrifted):
		return Drifted
	case meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionQuarantined), unasked(status):
		return RolledBack
	default:
		return Completed
	}
}

// Standing is how a release stands, in one word: how it ended, or else its phase.
func Standing(release *v1alpha1.BatchRelease) string {
	switch OutcomeOf(release) {
	case Drifted:
		return "Drifted"
	case RolledBack:
		return "RolledBack"
	case Rejected:
		return "Rejected"
	case Failed:
		if release.Status.Phase != v1alpha1.PhaseFailed {
			return "Stalled"
		}
		return string(v1alpha1.PhaseFailed)
	default:
		return string(release.Status.Phase)
	}
}

// OutcomeAt is how the release of a commit ended, which is named by its beginning. Unknown is one that nobody has seen yet,
// did not change the template, or is long gone.
func OutcomeAt(release *v1alpha1.BatchRelease, commit string) Outcome {
	status, now := &release.Status, OutcomeOf(release)
	given := strings.HasPrefix(release.Annotations[v1alpha1.CommitAnnotation], commit)
	if strings.HasPrefix(status.Commit, commit) || given && now == Failed { // what can't be begun never gets into the status
		return now
	}
	for _, ended := range slices.Backward(status.Ended) {
		switch {
		case !strings.HasPrefix(ended.Commit, commit):
		case ended.Trigger.LeavesGit():
			return RolledBack
		default:
			return Completed
		}
	}
	if slices.ContainsFunc(status.Superseded, func(left string) bool { return strings.HasPrefix(left, commit) }) {
		return Superseded
	}
	return Unknown
}

// unasked reports whether a rollback was done that Git did not bring.
func unasked(status *v1alpha1.BatchReleaseStatus) bool {
	return status.RolledBackTo() != "" && status.Rollback.Trigger.LeavesGit()
}

// Progress is how far a release is, in one line.
func Progress(release *v1alpha1.BatchRelease) string {
	status := &release.Status
	if status.ObservedGeneration < release.Generation {
		return "waits for the controller to look at it"
	}
	words := cmp.Or(status.Message, string(status.Phase), "waits for the controller to look at it")
	if traffic := trafficLine(release); traffic != "" {
		words += "; " + traffic
	}
	return line(words)
}
