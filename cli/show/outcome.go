package show

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Outcome is the end of a release, or UnderWay.
type Outcome int

// The outcomes.
const (
	// UnderWay: nothing is settled yet, and nobody knows how long it takes.
	UnderWay Outcome = iota
	// Completed: all pods run the template of the spec.
	Completed
	// Failed: it made no progress in time, or can't be released as it is given. It takes a person to go
	// on.
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
	// RefusedInGit: it was completed, and the newest commit in Git is not applied to it.
	RefusedInGit
)

// OutcomeOf returns the outcome of the template that the spec gives. The release is in progress
// while the controller has not observed the spec, and while the template waits for a resume, the
// end of a freeze, or room.
func OutcomeOf(release *v1alpha1.BatchRelease) Outcome {
	outcome := lastOutcome(release)
	if outcome == Completed && release.Status.State == v1alpha1.StateWaiting {
		return UnderWay
	}
	return outcome
}

// lastOutcome returns the outcome of the last template that the controller began to release.
func lastOutcome(release *v1alpha1.BatchRelease) Outcome {
	status := &release.Status
	switch {
	case status.ObservedGeneration < release.Generation:
		return UnderWay
	case rejected(status):
		return Rejected
	case stalled(status):
		return Failed
	}
	switch status.Phase {
	case v1alpha1.PhaseFailed:
		return Failed
	case v1alpha1.PhaseCompleted:
		return completedAs(status)
	case v1alpha1.PhaseInitial, v1alpha1.PhaseRollingUpdate, v1alpha1.PhaseRollingBack, v1alpha1.PhaseFinalizing:
	}
	return UnderWay
}

// rejected reports whether a gate of a release was rejected, and no rollback has begun.
func rejected(status *v1alpha1.BatchReleaseStatus) bool {
	return status.State == v1alpha1.StateRejected && status.Phase != v1alpha1.PhaseRollingBack
}

// completedAs returns the outcome of a template that was released or rolled back.
func completedAs(status *v1alpha1.BatchReleaseStatus) Outcome {
	switch {
	case meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionDrifted):
		return Drifted
	case status.Rollback == nil && len(status.Run.Returned()) > 0:
		return RolledBack
	case meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionQuarantined), unasked(status):
		return RolledBack
	default:
		return Completed
	}
}

// Standing returns how a release stands, in one word: how it ended, or else its phase.
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
	case UnderWay:
		return underWayStanding(&release.Status)
	default:
		return string(release.Status.Phase)
	}
}

// The words for a release in progress. The phase is RollingUpdate in all of them.
const (
	rolling = "Rolling"
	waiting = "Waiting"
	onHold  = "OnHold"
)

// underWayStanding says whether a release in progress rolls, waits for a gate or for room, or is
// on hold until somebody lets it go on.
func underWayStanding(status *v1alpha1.BatchReleaseStatus) string {
	switch {
	case status.Stops() == v1alpha1.StopTrainReturns:
		return waiting
	case status.State.OnHold(), status.Stops() != "":
		return onHold
	case status.State.Waits(), lacksWorkload(status) && status.Phase == "":
		return waiting
	case status.Phase == v1alpha1.PhaseRollingUpdate:
		return rolling
	}
	return string(status.Phase)
}

// refused stands for a release whose newest commit in Git is not applied.
const refused = "Refused"

// WaitsForGit names what such a release needs.
const WaitsForGit = "fix in Git"

// StandingRefused returns the word for a release whose newest commit is not applied, from the word
// for it without that. A release in progress, or one that needs attention anyway, keeps its word.
func StandingRefused(standing string) string {
	if standing == string(v1alpha1.PhaseCompleted) || standing == "" {
		return refused
	}
	return standing
}

// OutcomeAt returns how the release of a commit ended, which is named by its beginning. Unknown is
// one that nobody has seen yet, did not change the template, or is long gone.
func OutcomeAt(release *v1alpha1.BatchRelease, commit string) Outcome {
	status, now := &release.Status, lastOutcome(release)
	given := strings.HasPrefix(release.Annotations[v1alpha1.CommitAnnotation], commit)
	if strings.HasPrefix(status.Commit, commit) || given && now == Failed { // what can't be begun never gets into the status
		return now
	}
	for _, ended := range slices.Backward(status.Ended) {
		switch {
		case !strings.HasPrefix(ended.Commit, commit):
		case ended.Trigger.LeavesGit(), ended.Trigger == v1alpha1.TriggerTrain:
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

// Progress returns how far a release is, in one line.
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
