package handback

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// decision is what a Deployment gets back.
type decision struct {
	held v1alpha1.HeldWorkload
	// stable is the revision that it goes back to; empty if it keeps the template that it has.
	stable string
}

// decide says what a Deployment gets back that bears the annotation. The release is nil if it is gone.
// An annotation that can't be read tells nothing: the Deployment gets the default strategy.
func decide(d *appsv1.Deployment, sets []appsv1.ReplicaSet, release *v1alpha1.BatchRelease, proceed bool) decision {
	if recreate := d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType; !recreate && !d.Spec.Paused {
		// Somebody has taken it back and left the annotation: all that is left to do is to take that off.
		return decision{held: v1alpha1.HeldWorkload{Strategy: hold.EncodeStrategy(d.Spec.Strategy)}}
	}
	held := ptr.Deref(hold.Of(d), plan.Hold{})
	out := decision{held: held.HeldWorkload}
	switch {
	case proceed:
	case release != nil:
		out.stable = plan.LeftWith(release, &release.Status)
	case othersServe(d, sets):
		out.stable = held.Stable
	}
	return out
}

// othersServe tells whether pods of another version are left. If not, all steps were done.
func othersServe(d *appsv1.Deployment, sets []appsv1.ReplicaSet) bool {
	return slices.ContainsFunc(sets, func(set appsv1.ReplicaSet) bool {
		return metav1.IsControlledBy(&set, d) && ptr.Deref(set.Spec.Replicas, 1) > 0 &&
			digestOf(&set.Spec.Template) != digestOf(&d.Spec.Template)
	})
}

// digestOf can't fail: a template that was read always encodes.
func digestOf(template *corev1.PodTemplateSpec) string {
	digest, _ := podtemplate.Digest(template)
	return digest
}

// says tells people what a Deployment got back.
func (d decision) says(template string) string {
	strategy, paused := hold.DecodeStrategy(d.held.Strategy).Type, "not paused"
	if d.held.Paused {
		paused = "paused, as it was before"
	}
	return fmt.Sprintf("strategy %s, %s, %s", strategy, paused, template)
}
