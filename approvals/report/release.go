package report

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/plain"
)

// stand returns how the release of the present commit stands, with the gates of it that were
// forced; false where there is nothing to say.
func stand(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, last *v1alpha1.ForgeReport) (standing, bool) {
	now, known := unmarked(release, gates, last)
	now.forced = release.Status.Forced
	return now.ofRun(release), known
}

func unmarked(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, last *v1alpha1.ForgeReport) (standing, bool) {
	status := &release.Status
	switch positionOf(release) {
	case goingBack:
		return backFrom(status, last), true
	case notReleasable:
		return of(v1alpha1.ReportNotReleasable, refusing(release).Message), true
	case changedSince:
		return of(v1alpha1.ReportDrifted, drift(status).Message), true
	case atItsEnd:
		return completedRun(release), true
	case goingAway:
		return deleted(status, last)
	case withoutProgress:
		return inRelease(release, v1alpha1.ReportFailed, status.Message), true
	case standingStill:
		return inRelease(release, v1alpha1.ReportStopped, standsFor(release)), true
	case atGates:
		return blocked(release, gates)
	case afterGates:
		return endOfTraffic(release), true
	case updating:
		return inRelease(release, v1alpha1.ReportUpdating, ""), true
	default: // notSeen, between
		return standing{}, false
	}
}

// inRelease returns the standing of a release in progress.
func inRelease(release *v1alpha1.BatchRelease, kind v1alpha1.ReportKind, detail string) standing {
	status, now := &release.Status, of(kind, detail)
	now.Batch, now.Batches = batchOf(release)
	now.toward, now.target, now.replicas = status.RolledBackTo(), status.TargetReplicas, status.Replicas
	now.requests = requestsOf(release, int(status.CurrentStepIndex))
	if trouble := status.PodTrouble; trouble != nil {
		now.trouble = trouble.Words(status.TargetReplicas)
	}
	return now
}

// completed returns the standing of a release that has completed.
func completed(status *v1alpha1.BatchReleaseStatus) standing {
	if status.Rollback != nil {
		return endedAt(v1alpha1.ReportReverted, status.RolledBackTo(), status.Replicas)
	}
	return endedAt(v1alpha1.ReportReleased, status.UpdateRevision, status.Replicas)
}

// endedAt returns the standing of a release after which all pods run a revision.
func endedAt(kind v1alpha1.ReportKind, revision string, replicas int32) standing {
	now := of(kind, "")
	now.Revision, now.replicas = revision, replicas
	return now
}

// deleted returns the end of a release whose object is deleted before the release has ended. An
// earlier failure has been reported.
func deleted(status *v1alpha1.BatchReleaseStatus, last *v1alpha1.ForgeReport) (standing, bool) {
	if last == nil || last.Commit != status.Commit || !open(last) {
		return standing{}, false
	}
	now := of(v1alpha1.ReportDeleted, "")
	now.Batch, now.Batches = batchTold(last)
	return now, true
}

// endedWith returns how the release of a commit ended, nil if that is not known.
func endedWith(status *v1alpha1.BatchReleaseStatus, commit string) *v1alpha1.EndedRelease {
	for i := range slices.Backward(status.Ended) {
		if status.Ended[i].Commit == commit {
			return &status.Ended[i]
		}
	}
	return nil
}

// endOf returns how a release ended that another has followed since. A rollback has the cause that
// was reported last.
func endOf(ended *v1alpha1.EndedRelease, last *v1alpha1.ForgeReport) standing {
	var now standing
	switch {
	case leavesCommit(ended.Trigger):
		now = endedAt(v1alpha1.ReportRolledBack, ended.Revision, ended.Replicas)
		if told := last.Content; told != nil && goesBack(told.Kind) {
			now.Cause, now.ByHand = told.Cause.DeepCopy(), told.ByHand
		}
		return now
	case ended.Trigger != "":
		now = endedAt(v1alpha1.ReportReverted, ended.Revision, ended.Replicas)
	default:
		now = endedAt(v1alpha1.ReportReleased, ended.Revision, ended.Replicas)
	}
	now.forced = ended.Forced
	return now
}

// open reports whether the only report of a commit is that it goes on, or waits.
func open(last *v1alpha1.ForgeReport) bool { return last.State == string(forge.StatePending) }

// batchTold returns the batch that a release was at in the last report; the status is at another by
// now.
func batchTold(last *v1alpha1.ForgeReport) (batch, batches int32) {
	if last.Content == nil {
		return 0, 0
	}
	return last.Content.Batch, last.Content.Batches
}

// final reports whether what was reported last is the outcome that stays of a release. A failure
// whose kind is not known stays: it may be the end.
func final(last *v1alpha1.ForgeReport) bool {
	switch {
	case open(last):
		return false
	case last.State == string(forge.StateSuccess), last.Content == nil:
		return true
	}
	switch last.Content.Kind {
	case v1alpha1.ReportSuperseded, v1alpha1.ReportDrifted:
		return true
	case v1alpha1.ReportRolledBack:
		return last.Content.PullRequest == 0
	default:
		return false
	}
}

// left returns the end of a release that another commit took over from; false where it has been
// reported. One that had completed, or had failed, keeps its report, except after a rollback.
func left(release *v1alpha1.BatchRelease, last *v1alpha1.ForgeReport) (standing, bool) {
	status := &release.Status
	if last == nil || !seen(status) || last.Commit == status.Commit {
		return standing{}, false
	}
	if ended := endedWith(status, last.Commit); ended != nil && !final(last) {
		return endOf(ended, last), true
	}
	by, back := cmp.Or(plain.Commit(status.Commit), "revision "+status.UpdateRevision), status.Rollback != nil
	kind := v1alpha1.ReportSuperseded
	if back {
		kind = v1alpha1.ReportRolledBack
	}
	now := of(kind, "")
	now.by, now.Revision = by, status.RolledBackTo()
	switch {
	case open(last):
		now.Batch, now.Batches = batchTold(last)
		return now, true
	case back && failed(last):
		now.Cause = last.Content.Cause.DeepCopy()
		return now, true
	default:
		return standing{}, false
	}
}

// failed reports whether the last report is a failure after which something of the same attempt can
// follow.
func failed(last *v1alpha1.ForgeReport) bool {
	return last.State == string(forge.StateFailure) && last.Content != nil &&
		last.Content.Kind != v1alpha1.ReportSuperseded && !goesBack(last.Content.Kind)
}
