package report

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/forge"
)

// refusals are the reasons for which a spec is not released until somebody changes something.
var refusals = []string{
	v1alpha1.ReasonInvalidTemplate, v1alpha1.ReasonInvalidStrategy, v1alpha1.ReasonNoTemplate, v1alpha1.ReasonWorkloadHeld,
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

// Refusal is what is to be posted of a commit that can't be released, while the release of another one
// stands or goes on; false where there is nothing, or it is told. What was told is kept apart from the
// report of the release, in status.refusal.
func Refusal(release *v1alpha1.BatchRelease, o Options) (forge.StatusRequest, bool) {
	commit, why := release.Annotations[v1alpha1.CommitAnnotation], refusal(release)
	if why == "" || commit == "" || commit == release.Status.Commit {
		return forge.StatusRequest{}, false
	}
	request := failure(why).request(commit, o.Context(release.Namespace, release.Name))
	return request, due(request, release.Status.Refusal)
}
