package report

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/plain"
)

// A train reports for its members: a commit that changes a hundred of them costs the statuses of
// one release. A member reports only what people must act on, and then how that ended.

// worthReporting reports whether a member of a train reports a post; any other release always does.
// The last post decides for the end of what was reported before.
func worthReporting(release *v1alpha1.BatchRelease, post Post, last *v1alpha1.ForgeReport) bool {
	kind, pending := post.Content.Kind, post.Status.State == forge.StatePending
	switch {
	case release.Spec.Train == "":
		return true
	case last != nil && last.Commit == post.Status.SHA: // one post that it goes on, and then the end
		return !pending || last.Content == nil || last.Content.Kind != kind
	case goesBack(kind):
		return release.Status.Rollback != nil && release.Status.Rollback.Trigger != v1alpha1.TriggerTrain
	default:
		return kind == v1alpha1.ReportStopped || stateOf(kind) == forge.StateFailure
	}
}

// heldByTrain reports whether a member waits for its train, or for what holds all members. The
// train reports that.
func heldByTrain(release *v1alpha1.BatchRelease) bool {
	status := &release.Status
	switch {
	case release.Spec.Train == "":
		return false
	case status.Stops() != "":
		return !stoppedAlone(status)
	default:
		return release.WaitsForTrain() || status.State == v1alpha1.StateNativeRollout
	}
}

// stoppedAlone reports whether a member is stopped for a reason of its own.
func stoppedAlone(status *v1alpha1.BatchReleaseStatus) bool {
	return slices.ContainsFunc(status.StoppedBy, func(cause v1alpha1.StopCause) bool { return !cause.OfRun() })
}

// ofRun counts the members of a train's run in a standing, which shows them in place of pods: the
// number of pods changes with each member that begins.
func (s standing) ofRun(release *v1alpha1.BatchRelease) standing {
	if len(release.Spec.Members) == 0 || release.Status.Run == nil {
		return s
	}
	s.train, s.members = true, int32(len(release.Status.Run.Members))
	for _, m := range release.Status.Run.Members {
		if m.Steps > release.Status.CurrentStepIndex {
			s.through++
		}
	}
	return s
}

// revertTrain says how people bring Git in line with the members that have returned.
func revertTrain(train *v1alpha1.BatchRelease) string {
	how := "put the templates back that the members ran before"
	if commit := train.Status.Commit; isCommit.MatchString(commit) { // people copy the command
		how = "run 'git revert " + plain.Commit(commit) + "'"
		if stable := train.Status.Run; stable != nil && isCommit.MatchString(stable.StableCommit) {
			how += ", and revert what else changed members since " + plain.Commit(stable.StableCommit)
		}
		how += ", and push"
	}
	return "Sluice opens no pull request for a train: " + how + "; until then the members stay as they are"
}

// RevertsAlone reports whether a member asks by itself for its template to be put back in Git. Its
// train does so for all members that return in a run.
func RevertsAlone(release, train *v1alpha1.BatchRelease) bool {
	if train == nil || train.Status.Run == nil {
		return true
	}
	run := train.Status.Run.Members
	at := slices.IndexFunc(run, func(m v1alpha1.RunMember) bool { return m.Name == release.Name })
	return at < 0 || train.Status.Phase == v1alpha1.PhaseCompleted && !run[at].Returns
}

// completedRun returns how a run stands that has completed. One in which some members have returned
// has failed: the commit does not tell what they run.
func completedRun(release *v1alpha1.BatchRelease) standing {
	status := &release.Status
	now := completed(status)
	back := len(status.Run.Returned())
	if back == 0 || status.Rollback != nil {
		return now
	}
	return of(v1alpha1.ReportFailed, fmt.Sprintf("%s released, %d returned: %s",
		plain.Count(len(status.Run.Members)-back, "member"), back, status.Run.Message))
}
