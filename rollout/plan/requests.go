package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// requestedBy returns the user who claims to have made the request that is recorded now.
func requestedBy(release *v1alpha1.BatchRelease) string {
	return boundedTo(release.Annotations[v1alpha1.RequestedByAnnotation], maxUser)
}

// maxUser limits the recorded name of a user, in runes.
const maxUser = 500

// answered returns the annotations to remove once a request is recorded: the request, and the
// user's name.
func answered(release *v1alpha1.BatchRelease, annotation string) []string {
	if _, named := release.Annotations[v1alpha1.RequestedByAnnotation]; named {
		return []string{annotation, v1alpha1.RequestedByAnnotation}
	}
	return []string{annotation}
}

// forgetAsker removes the name of a user who requested something else than a rollback or a retry,
// as this pass records it. A name that stayed would count for later requests of others.
func forgetAsker(d Decision) Decision {
	annotations := d.snap.release.Annotations
	_, named := annotations[v1alpha1.RequestedByAnnotation]
	_, rollback := annotations[v1alpha1.RollbackAnnotation]
	_, retry := annotations[v1alpha1.RetryAnnotation]
	if !named || rollback || retry || d.statusFirst || d.needs.Any() {
		return d
	}
	return d.do(Annotate{Reason: "the request is recorded", Remove: []string{v1alpha1.RequestedByAnnotation}})
}
