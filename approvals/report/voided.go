package report

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Voided says why the pull request of g is closed: an answer to it no longer counts. Release is nil
// where it is gone.
func Voided(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) string {
	return "Closed by Sluice: " + voidedBecause(g, release) + " An answer to this pull request no longer counts."
}

func voidedBecause(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) string {
	if force := g.Forced(); force != nil {
		return fmt.Sprintf("the gate was forced by %s: %s.", Code(force.By), Code(force.Reason))
	}
	if release == nil || release.UID != g.Spec.ReleaseRef.UID || release.DeletionTimestamp != nil {
		return "the release was deleted."
	}
	status := &release.Status
	// The spec is there before the status of the attempt that it starts.
	asked := release.Annotations[v1alpha1.CommitAnnotation]
	named := func(reference v1alpha1.GateReference) bool { return reference.Name == g.Name }
	switch {
	case status.Attempt != g.Spec.Attempt && status.Rollback != nil:
		return fmt.Sprintf("revision %s was rolled back to revision %s.", Code(g.Spec.Revision), Code(status.RolledBackTo()))
	case status.Attempt != g.Spec.Attempt:
		return fmt.Sprintf("revision %s was superseded by revision %s, of commit %s.",
			Code(g.Spec.Revision), Code(status.UpdateRevision), commit(status.Commit))
	case asked != "" && asked != g.Spec.Commit:
		return fmt.Sprintf("revision %s was superseded by commit %s.", Code(g.Spec.Revision), commit(asked))
	case release.Annotations[v1alpha1.RollbackAnnotation] != "":
		return fmt.Sprintf("revision %s is being rolled back.", Code(g.Spec.Revision))
	case done(status):
		return "the release has completed without it."
	case slices.ContainsFunc(status.Gates, named) && !edited(g, release):
		return "its Gate was deleted. If the approval is still needed, another pull request asks for it."
	default:
		return "the steps of the release were changed. If the approval is still needed, another pull request asks for it."
	}
}

// edited reports whether the release asks for something else now where it asked for g.
func edited(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) bool {
	all := steps(release)
	if int(g.Spec.Step) >= len(all) || int(g.Spec.Index) >= len(all[g.Spec.Step].Gates) {
		return true
	}
	return !equality.Semantic.DeepEqual(all[g.Spec.Step].Gates[g.Spec.Index], g.Spec.Policy)
}
