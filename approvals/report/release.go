package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/forge"
)

// How the end of a commit that something else took over from begins. What was told last is known by it.
const (
	supersededBy = "superseded by "
	rollingBack  = "rolling back to "
	stuckBack    = "rollback stuck on the way to "
	rolledBackTo = "rolled back to "
)

// stand is how the release of the present commit stands; false where there is nothing to say.
func stand(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, last *v1alpha1.ForgeReport) (standing, bool) {
	status := &release.Status
	switch {
	case status.Phase == "":
		return standing{}, false
	case takenBack(status, last):
		return backFrom(status, last), true
	case release.Annotations[v1alpha1.CommitAnnotation] == status.Commit && refusal(release) != "":
		return failure(refusal(release)), true
	case status.Phase == v1alpha1.PhaseCompleted:
		return completed(status), true
	case release.DeletionTimestamp != nil:
		return deleted(status, last)
	case status.Phase == v1alpha1.PhaseFailed:
		return failed(status)
	case status.Batch == "", status.Phase == v1alpha1.PhaseFinalizing:
		return standing{}, false
	case len(status.Gates) > 0:
		return blocked(status, gates)
	}
	return pending(going(status) + fmt.Sprintf("batch %s: updating to %d of %s", status.Batch, status.TargetReplicas, pods(status.Replicas))), true
}

// takenBack reports whether the present commit is one that is rolled back from, not to: the cluster
// was told to, and Git had the commit still. A revert in Git is released as a commit of its own, but for
// one that only follows such a rollback: it takes no more than the quarantine away.
func takenBack(status *v1alpha1.BatchReleaseStatus, last *v1alpha1.ForgeReport) bool {
	told := last != nil && last.Commit == status.Commit && saysBack(last.Description)
	return status.RollbackTo != "" && (len(status.Quarantined) > 0 || told)
}

// backFrom is how the commit stands that is rolled back from: it has failed, however far that is.
func backFrom(status *v1alpha1.BatchReleaseStatus, last *v1alpha1.ForgeReport) standing {
	to := status.RollbackTo
	switch status.Phase {
	case v1alpha1.PhaseCompleted:
		return failure(rolledBackTo + to + whyBack(status, last))
	case v1alpha1.PhaseFailed:
		return failure(stuckBack + to + ": " + status.Message)
	default:
		return failure(rollingBack + to + whyBack(status, last))
	}
}

// whyBack is the reason of a rollback, from what was told last of the commit.
func whyBack(status *v1alpha1.BatchReleaseStatus, last *v1alpha1.ForgeReport) string {
	if last == nil || last.Commit != status.Commit {
		return ""
	}
	for _, told := range []string{rollingBack + status.RollbackTo, rolledBackTo + status.RollbackTo} {
		if reason, found := strings.CutPrefix(last.Description, told); found {
			return reason
		}
	}
	switch failed := last.State == string(forge.StateFailure); {
	case strings.HasPrefix(last.Description, stuckBack):
		return "" // it was told why it was stuck instead
	case failed:
		return ": " + last.Description
	case last.State == string(forge.StateSuccess):
		return ": asked for after it was released"
	default:
		return ": asked for" + atBatch(last)
	}
}

// completed is how a release stands that has come to its end.
func completed(status *v1alpha1.BatchReleaseStatus) standing {
	count := fmt.Sprintf("%d/%d updated", status.Replicas, status.Replicas)
	if status.RollbackTo != "" {
		return success("reverted to " + status.RollbackTo + ": " + count)
	}
	return success("released: " + count + " to " + status.UpdateRevision)
}

// failed is how a release stands that makes no progress.
func failed(status *v1alpha1.BatchReleaseStatus) (standing, bool) {
	if status.Reason != v1alpha1.ReasonDeadlineExceeded { // the message speaks of something else for now
		return standing{}, false
	}
	return failure(going(status) + status.Message), true
}

// deleted is the end of a release whose object goes away before it has come to one. What failed
// before has been told.
func deleted(status *v1alpha1.BatchReleaseStatus, last *v1alpha1.ForgeReport) (standing, bool) {
	if last == nil || last.Commit != status.Commit || last.State != string(forge.StatePending) {
		return standing{}, false
	}
	return failure("the release was deleted" + atBatch(last)), true
}

// going is what stands before the words of a rollback that Git asks for.
func going(status *v1alpha1.BatchReleaseStatus) string {
	if status.RollbackTo == "" {
		return ""
	}
	return "reverting to " + status.RollbackTo + ": "
}

// left is the end of a release that another commit took over from; false where it has been told. One
// that had come to its end, or had failed, keeps what was said of it, but for a rollback.
func left(release *v1alpha1.BatchRelease, last *v1alpha1.ForgeReport) (standing, bool) {
	status := &release.Status
	if last == nil || status.Phase == "" || last.Commit == status.Commit {
		return standing{}, false
	}
	by := cmp.Or(short(status.Commit), "revision "+status.UpdateRevision)
	open, failed := last.State == string(forge.StatePending), last.State == string(forge.StateFailure)
	switch back := status.RollbackTo != ""; {
	case back && open:
		return failure(rolledBackTo + status.RollbackTo + " by " + by + atBatch(last)), true
	case back && failed && !ended(last.Description):
		return failure(rolledBackTo + status.RollbackTo + " by " + by + ": " + last.Description), true
	case open:
		return failure(supersededBy + by + atBatch(last)), true
	}
	return standing{}, false
}

// ended reports whether a description is one that nothing of the same attempt follows.
func ended(description string) bool {
	return strings.HasPrefix(description, supersededBy) || saysBack(description)
}

// saysBack reports whether a description tells of a commit that is rolled back from.
func saysBack(description string) bool {
	return slices.ContainsFunc([]string{rollingBack, stuckBack, rolledBackTo}, func(beginning string) bool {
		return strings.HasPrefix(description, beginning)
	})
}

var batchNumber = regexp.MustCompile(`\bbatch ([0-9]+/[0-9]+)`)

// atBatch is where the release was when it was last told of; the status speaks of another by now.
func atBatch(last *v1alpha1.ForgeReport) string {
	if found := batchNumber.FindStringSubmatch(last.Description); found != nil {
		return " at batch " + found[1]
	}
	return ""
}

// short is a commit as people name it.
func short(sha string) string { return sha[:min(len(sha), 7)] }

func pods(n int32) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}
