package handback

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// decide says what a Deployment gets back that bears the annotation, as the controller would. The release is nil if it is
// gone. An annotation that can't be read tells nothing: the Deployment gets the default strategy.
func decide(d *appsv1.Deployment, release *v1alpha1.BatchRelease, proceed bool) plan.Left {
	w := &plan.Workload{
		UID: d.UID, Digest: digestOf(&d.Spec.Template), Hold: hold.Of(d), Mover: hold.Mover(d),
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
	if left.Revision == "" && release != nil && d.Spec.Paused && w.Hold != nil && w.Hold.Emptied {
		left.Revision = release.Status.UpdateRevision // it has the stable template only as long as it has no pods
	}
	return left
}

// digestOf can't fail: a template that was read always encodes.
func digestOf(template *corev1.PodTemplateSpec) string {
	digest, _ := podtemplate.Digest(template)
	return digest
}

// says tells people what a Deployment got back.
func says(left plan.Left, template string) string {
	strategy, paused := hold.DecodeStrategy(left.Strategy).Type, "not paused"
	if left.Paused {
		paused = "paused, as it was before"
	}
	return fmt.Sprintf("strategy %s, %s, %s", strategy, paused, template)
}
