// Package hold defines the annotation of a held Deployment, and the one write that hands it back. The
// controller does that, and the command that does without it.
//
// All of it is in the annotation: who holds the Deployment, what it gets back, and which revision it
// goes back to if the release is gone.
package hold

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// Of reads the annotation; nil if there is none. One that can't be read counts as none.
func Of(d *appsv1.Deployment) *plan.Hold {
	text, found := d.Annotations[v1alpha1.HoldAnnotation]
	if !found {
		return nil
	}
	var held plan.Hold
	if err := json.Unmarshal([]byte(text), &held); err != nil || held.Release == "" {
		return nil
	}
	return &held
}

// Text is the annotation as it stands there, nil if there is none.
func Text(d *appsv1.Deployment) any {
	if text, found := d.Annotations[v1alpha1.HoldAnnotation]; found {
		return text
	}
	return nil
}

// EncodeStrategy can't fail: the type has nothing that JSON can't hold.
func EncodeStrategy(strategy appsv1.DeploymentStrategy) string {
	data, _ := json.Marshal(strategy)
	return string(data)
}

// Mover is a Deployment as its mover sees it, without its ReplicaSets.
func Mover(d *appsv1.Deployment) deployment.Mover {
	return deployment.Mover{
		Paused:   d.Spec.Paused,
		Recreate: d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType,
		Strategy: EncodeStrategy(d.Spec.Strategy),
	}
}

// DecodeStrategy reads what EncodeStrategy wrote. What somebody else wrote there, and can't be
// read, is the default strategy.
func DecodeStrategy(text string) appsv1.DeploymentStrategy {
	var strategy appsv1.DeploymentStrategy
	if err := json.Unmarshal([]byte(text), &strategy); err != nil || strategy.Type == "" {
		return appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType}
	}
	return strategy
}

// Limits are maxSurge and maxUnavailable of the strategy that a Deployment has, or gets back if it is taken over; nil
// where that has none.
func Limits(d *appsv1.Deployment, held *plan.Hold) (surge, unavailable *intstr.IntOrString) {
	strategy := d.Spec.Strategy
	if held != nil {
		strategy = DecodeStrategy(held.Strategy)
	}
	if strategy.RollingUpdate == nil {
		return nil, nil
	}
	return strategy.RollingUpdate.MaxSurge, strategy.RollingUpdate.MaxUnavailable
}

// AsDecided starts a patch of the Deployment that holds only while spec and hold are what was
// decided on. Its status, which changes with every pod, does not count.
func AsDecided(d *appsv1.Deployment) *kube.JSONPatch {
	patch := new(kube.JSONPatch).
		Test("/metadata/uid", d.UID).
		Test("/metadata/generation", d.Generation)
	if len(d.Annotations) == 0 {
		return patch.Test("/metadata/annotations", nil)
	}
	return patch.Test(kube.AnnotationPath(v1alpha1.HoldAnnotation), Text(d))
}

// SameDecided reports whether a patch that AsDecided began for one reading of a Deployment still holds for another, which is
// nil if the Deployment is gone.
func SameDecided(now, decided *appsv1.Deployment) bool {
	return now != nil && now.UID == decided.UID && now.Generation == decided.Generation &&
		Text(now) == Text(decided) && (len(now.Annotations) > 0) == (len(decided.Annotations) > 0)
}

// Set writes the annotation to a Deployment that may have no annotations yet.
func Set(patch *kube.JSONPatch, d *appsv1.Deployment, held plan.Hold) *kube.JSONPatch {
	data, _ := json.Marshal(held) // texts alone can't fail to encode
	if len(d.Annotations) > 0 {
		return patch.Set(kube.AnnotationPath(v1alpha1.HoldAnnotation), string(data))
	}
	return patch.Set("/metadata/annotations", map[string]string{v1alpha1.HoldAnnotation: string(data)})
}

// HandBack is the patch that gives a held Deployment back. Strategy, paused and the annotation go in
// one write, and so does the template unless it is nil: in any other order there is a moment in which
// the native controller rolls by itself, or removes every old pod.
func HandBack(d *appsv1.Deployment, held v1alpha1.HeldWorkload, template json.RawMessage) *kube.JSONPatch {
	patch := AsDecided(d).
		Remove(kube.AnnotationPath(v1alpha1.HoldAnnotation)).
		Set("/spec/paused", held.Paused).
		Set("/spec/strategy", DecodeStrategy(held.Strategy))
	if template != nil {
		patch.Set("/spec/template", template)
	}
	return patch
}

// Template is the JSON of a ReplicaSet's template as it was before the native controller, or we,
// added the hash label.
func Template(set *appsv1.ReplicaSet) json.RawMessage {
	template := set.Spec.Template.DeepCopy()
	delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	data, _ := json.Marshal(template) // a template that was read always encodes
	return data
}
