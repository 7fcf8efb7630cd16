package handback

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// decide says what a workload gets back that bears the annotation, as the controller would. The
// release is nil if it is gone. An annotation that can't be read tells nothing: the workload gets
// the default strategy.
func decide(object workload.Workload, release *v1alpha1.BatchRelease, proceed bool) plan.Left {
	w := &plan.Workload{
		UID: object.GetUID(), Digest: digestOf(object.PodTemplate()), Hold: hold.Of(object), Mover: hold.Mover(object),
	}
	var left plan.Left
	if release == nil {
		left = plan.LetGo(w, v1alpha1.DeletionRevert, nil)
	} else {
		left = plan.LetGo(w, release.Spec.DeletionPolicy, &release.Status)
	}
	if proceed {
		left.Revision = ""
	}
	if left.Revision == "" && release != nil && !w.Mover.Native().Free && w.Hold != nil && w.Hold.Emptied {
		left.Revision = release.Status.UpdateRevision // it has the stable template only as long as it has no pods
	}
	return left
}

// digestOf returns the digest of a template. A template that was read always encodes.
func digestOf(template *corev1.PodTemplateSpec) string {
	digest, _ := podtemplate.Digest(template)
	return digest
}

// says tells people what a workload got back, and what was taken from it.
func says(w workload.Workload, left plan.Left, template string) string {
	words := fmt.Sprintf("%s, %s", w.Describe(left.HeldWorkload), template)
	if to := w.RollbackTo(); to != "" {
		words += fmt.Sprintf(", without the annotation %s=%s", appsv1.DeprecatedRollbackTo, to)
	}
	return words
}
