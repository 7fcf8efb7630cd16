package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// supersededBy begins the end of a commit that another took over from. What was told last is known by it.
const supersededBy = "superseded by "

// driftedFrom begins what is said of a commit whose workload somebody has changed since.
const driftedFrom = "drifted: "

// stops are the reasons of a release that stands still until somebody lets it go on, makes room for it, or
// mends what refuses its writes.
var stops = []string{
	v1alpha1.ReasonSuspended, v1alpha1.ReasonFrozen, v1alpha1.ReasonPausePoint, v1alpha1.ReasonDrifted,
	v1alpha1.ReasonChangedPastGit, v1alpha1.ReasonWillNotFit, v1alpha1.ReasonNativeRollout,
	v1alpha1.ReasonWriteRefused, v1alpha1.ReasonInvalidStrategy,
}

// stand is how the release of the present commit stands, with a mark if gates of it were forced; false where
// there is nothing to say.
func stand(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, last *v1alpha1.ForgeReport) (standing, bool) {
	now, known := unmarked(release, gates, last)
	now.text += forced(release.Status.Forced)
	return now, known
}

// forced names those who passed gates past their policies, in the words that a description has room for.
func forced(gates []v1alpha1.ForcedGate) string {
	var words []string
	for _, one := range gates {
		word := fmt.Sprintf("gate %d forced by %s: %s", one.Step+1, one.By, one.Reason)
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, "; ") + ")"
}

func unmarked(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, last *v1alpha1.ForgeReport) (standing, bool) {
	status := &release.Status
	switch {
	case status.Phase == "":
		return standing{}, false
	case takenBack(status):
		return backFrom(status, last), true
	case release.Annotations[v1alpha1.CommitAnnotation] == status.Commit && refusal(release) != "":
		return failure(refusal(release)), true
	case drifted(status) != "":
		return failure(drifted(status)), true
	case status.Phase == v1alpha1.PhaseCompleted:
		return completed(status), true
	case release.DeletionTimestamp != nil:
		return deleted(status, last)
	case status.Phase == v1alpha1.PhaseFailed:
		return failed(status)
	case slices.Contains(stops, status.Reason):
		return pending(status.Message), true
	case status.Batch == "", status.Phase == v1alpha1.PhaseFinalizing:
		return standing{}, false
	case len(status.Gates) > 0:
		return blocked(status, gates)
	}
	return pending(going(status) + fmt.Sprintf("batch %s: updating to %d of %s", status.Batch, status.TargetReplicas, pods(status.Replicas))), true
}

// completed is how a release stands that has come to its end.
func completed(status *v1alpha1.BatchReleaseStatus) standing {
	if status.RollbackTo != "" {
		return success(revertedTo(status.RollbackTo, status.Replicas))
	}
	return success(releasedTo(status.UpdateRevision, status.Replicas))
}

// drifted says what somebody has changed of the workload since the release was completed: the commit does
// not tell what runs. It is empty if nothing is.
func drifted(status *v1alpha1.BatchReleaseStatus) string {
	found := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDrifted)
	if status.Phase != v1alpha1.PhaseCompleted || found == nil || found.Status != metav1.ConditionTrue {
		return ""
	}
	return driftedFrom + found.Message
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

// endedWith is the end that the release of a commit came to, nil if none is known.
func endedWith(status *v1alpha1.BatchReleaseStatus, commit string) *v1alpha1.EndedRelease {
	for i := range slices.Backward(status.Ended) {
		if status.Ended[i].Commit == commit {
			return &status.Ended[i]
		}
	}
	return nil
}

// endOf is how a release ended that another has followed since. A rollback says why in the words that were told last.
func endOf(ended *v1alpha1.EndedRelease, told string) standing {
	switch {
	case slices.Contains(leaving, ended.Trigger):
		return failure(rolledBackTo + wordsBack(told, ended.Revision))
	case ended.Trigger != "":
		return success(revertedTo(ended.Revision, ended.Replicas) + forced(ended.Forced))
	default:
		return success(releasedTo(ended.Revision, ended.Replicas) + forced(ended.Forced))
	}
}

// settled reports whether what was told last is what stays of a release that came to its end.
func settled(last *v1alpha1.ForgeReport) bool {
	told := func(beginning string) bool { return strings.HasPrefix(last.Description, beginning) }
	return last.State == string(forge.StateSuccess) ||
		last.State == string(forge.StateFailure) && !asksGit.MatchString(last.Description) && slices.ContainsFunc([]string{supersededBy, rolledBackTo, driftedFrom}, told)
}

func releasedTo(revision string, n int32) string {
	return fmt.Sprintf("released: %d/%d updated to %s", n, n, revision)
}

func revertedTo(revision string, n int32) string {
	return fmt.Sprintf("reverted to %s: %d/%d updated", revision, n, n)
}

// left is the end of a release that another commit took over from; false where it has been told. One
// that had come to its end, or had failed, keeps what was said of it, but for a rollback.
func left(release *v1alpha1.BatchRelease, last *v1alpha1.ForgeReport) (standing, bool) {
	status := &release.Status
	if last == nil || status.Phase == "" || last.Commit == status.Commit {
		return standing{}, false
	}
	if ended := endedWith(status, last.Commit); ended != nil && !settled(last) {
		return endOf(ended, last.Description), true
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
