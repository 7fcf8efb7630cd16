package report

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// refusals are the reasons for which a spec is not released until somebody changes something.
var refusals = []string{
	v1alpha1.ReasonInvalidTemplate, v1alpha1.ReasonInvalidStrategy, v1alpha1.ReasonNoTemplate, v1alpha1.ReasonWorkloadHeld,
	v1alpha1.ReasonWouldMixVersions,
}

// refusal says why the spec as it is now can't be released; empty if it can.
func refusal(release *v1alpha1.BatchRelease) string {
	stalled := meta.FindStatusCondition(release.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue || stalled.ObservedGeneration != release.Generation ||
		!slices.Contains(refusals, stalled.Reason) {
		return ""
	}
	return stalled.Message
}

// Waiting is what is to be posted, in this order, of commits that can't be released, or not yet, while the
// release of another one stands or goes on. What was told is kept apart from the report of the release,
// in status.refusal.
func Waiting(release *v1alpha1.BatchRelease, o Options) []forge.StatusRequest {
	last, context := release.Status.Refusal, o.Context(release.Namespace, release.Name)
	if last != nil && last.Context != context { // we had another name then
		last = nil
	}
	var next []forge.StatusRequest
	commit, now := waiting(release)
	if last != nil && last.State == string(forge.StatePending) && last.Commit != commit && last.Commit != release.Status.Commit {
		next = append(next, dropped(release, last).request(last.Commit, context))
	}
	if commit == "" || commit == release.Status.Commit || begun(release, last) {
		return next
	}
	if request := now.request(commit, context); due(request, last) {
		next = append(next, request)
	}
	return next
}

// begun reports whether the commit that was told last that it waits is being released, and was not told so
// yet. Until then nothing else remembers that it was told to wait.
func begun(release *v1alpha1.BatchRelease, last *v1alpha1.ForgeReport) bool {
	told := release.Status.Report
	return last != nil && last.State == string(forge.StatePending) && last.Commit == release.Status.Commit &&
		(told == nil || told.Commit != last.Commit)
}

// waiting is the commit that is not released, or not yet, and how it stands; empty if there is none.
func waiting(release *v1alpha1.BatchRelease) (commit string, now standing) {
	if why := refusal(release); why != "" {
		return release.Annotations[v1alpha1.CommitAnnotation], failure(why)
	}
	if queued := release.Status.Queued; queued != nil {
		return queued.Commit, pending(queuedBehind(&release.Status))
	}
	return "", standing{}
}

// queuedBehind says what a commit waits for.
func queuedBehind(status *v1alpha1.BatchReleaseStatus) string {
	var waits []string
	if status.Phase != v1alpha1.PhaseCompleted && status.Phase != "" {
		waits = append(waits, "queued behind "+cmp.Or(short(status.Commit), "revision "+status.UpdateRevision))
	}
	if stopped := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSuspended); stopped != nil {
		waits = append(waits, "waits: "+stopped.Message)
	}
	if len(waits) == 0 {
		return "waits for the release to go on"
	}
	return strings.Join(waits, "; ")
}

// dropped is the end of a commit that has waited in vain.
func dropped(release *v1alpha1.BatchRelease, last *v1alpha1.ForgeReport) standing {
	status, asked := &release.Status, release.Annotations[v1alpha1.CommitAnnotation]
	switch ended := endedWith(status, last.Commit); {
	case ended != nil:
		return endOf(ended, last.Description)
	case release.DeletionTimestamp != nil:
		return failure("the release was deleted before it began")
	case asked != last.Commit && asked != "":
		return failure(supersededBy + short(asked) + " before it began")
	case len(status.Quarantined) > 0:
		return failure("not released: the workload was rolled back to " + status.RollbackTo)
	default:
		return success("nothing to release: revision " + status.UpdateRevision + " is what it asks for")
	}
}
