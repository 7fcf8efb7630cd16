package deployment

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/jsonpatch"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/strategy"
)

// Object is a Deployment. It is held paused and with strategy Recreate: its controller then scales,
// and rolls nothing.
type Object struct{ *appsv1.Deployment }

// Object implements workload.Workload.
func (d *Object) Object() kinds.Object { return d.Deployment }

// Kind implements workload.Workload.
func (*Object) Kind() string { return kinds.Deployment }

// PodTemplate implements workload.Workload.
func (d *Object) PodTemplate() *corev1.PodTemplateSpec { return &d.Spec.Template }

// Size implements workload.Workload.
func (d *Object) Size() int32 { return ptr.Deref(d.Spec.Replicas, 1) }

// Seen implements workload.Workload.
func (d *Object) Seen() int64 { return d.Status.ObservedGeneration }

// PodSelector implements workload.Workload.
func (d *Object) PodSelector() *metav1.LabelSelector { return d.Spec.Selector }

// Deadline implements workload.Workload.
func (d *Object) Deadline() *int32 { return d.Spec.ProgressDeadlineSeconds }

// Foretell implements workload.Workload: it is the pod template hash.
func (d *Object) Foretell() string {
	return podtemplate.Hash(&d.Spec.Template, d.Status.CollisionCount)
}

// Own implements workload.Workload. Where a policy has paused a followed Deployment, its note says
// what spec.paused was.
func (d *Object) Own() v1alpha1.HeldWorkload {
	own := v1alpha1.HeldWorkload{Strategy: strategy.Encode(d.Spec.Strategy), Paused: d.Spec.Paused}
	if note := strategy.Noted(d); note != "" {
		own.Paused = note == "true"
	}
	return own
}

// Limits implements workload.Workload.
func (*Object) Limits(own string) (surge, unavailable *intstr.IntOrString) {
	rolling := strategyOf(own).RollingUpdate
	if rolling == nil {
		return nil, nil
	}
	return rolling.MaxSurge, rolling.MaxUnavailable
}

// Recreate reports whether the strategy is Recreate.
func (d *Object) Recreate() bool {
	return d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
}

// Secure implements workload.Workload.
func (*Object) Secure(patch *jsonpatch.Patch) {
	patch.
		Set("/spec/paused", true).
		Set("/spec/strategy", appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType})
}

// GiveBack implements workload.Workload. It also removes a request for a native rollback: unpaused,
// the native controller would carry it out, and undo what was released. The API server counts the
// annotation as spec, so that a new one changes the generation.
func (d *Object) GiveBack(patch *jsonpatch.Patch, held v1alpha1.HeldWorkload) {
	patch.
		Set("/spec/paused", held.Paused).
		Set("/spec/strategy", strategyOf(held.Strategy))
	if d.RollbackTo() != "" {
		patch.Remove(jsonpatch.AnnotationPath(appsv1.DeprecatedRollbackTo))
	}
}

// RollbackTo implements workload.Workload. Only the Deployment controller reads the annotation, and
// not while the Deployment is paused.
func (d *Object) RollbackTo() string { return d.GetAnnotations()[appsv1.DeprecatedRollbackTo] }

// RevisionName implements workload.Workload: ReplicaSets have the templates.
func (*Object) RevisionName(string) string { return "" }

// Trim implements workload.Workload. Pods are counted by their ReplicaSets.
func (d *Object) Trim() {
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Status.ObservedGeneration, CollisionCount: d.Status.CollisionCount}
}

// Mover implements workload.Workload.
func (d *Object) Mover(string) mover.Mover { return From(d) }

// From returns a Deployment as its mover sees it, without its ReplicaSets.
func From(d *Object) Mover {
	return Mover{Paused: d.Spec.Paused, PausedByPolicy: d.Spec.Paused && !d.Own().Paused, Recreate: d.Recreate(), Strategy: d.Own().Strategy}
}

// Insecure implements workload.Workload.
func (d *Object) Insecure() []string {
	var fields []string
	if !d.Spec.Paused {
		fields = append(fields, "spec.paused")
	}
	if !d.Recreate() {
		fields = append(fields, "spec.strategy.type")
	}
	return fields
}

// Kept implements workload.Workload.
func (d *Object) Kept(held v1alpha1.HeldWorkload) []string {
	var fields []string
	if d.Spec.Paused != held.Paused {
		fields = append(fields, "spec.paused")
	}
	if d.Spec.Strategy.Type != strategyOf(held.Strategy).Type {
		fields = append(fields, "spec.strategy.type")
	}
	return fields
}

// Describe implements workload.Workload.
func (*Object) Describe(held v1alpha1.HeldWorkload) string {
	paused := "not paused"
	if held.Paused {
		paused = "paused, as it was before"
	}
	return fmt.Sprintf("strategy %s, %s", strategyOf(held.Strategy).Type, paused)
}

// strategyOf returns the strategy that Own wrote.
func strategyOf(text string) appsv1.DeploymentStrategy {
	return strategy.Decode(text, takes, appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType})
}

// takes reports whether the API server takes a strategy, by ValidateDeploymentStrategy.
func takes(own appsv1.DeploymentStrategy) bool {
	rolling := own.RollingUpdate
	switch own.Type {
	case appsv1.RecreateDeploymentStrategyType:
		return rolling == nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		return rolling == nil || strategy.IsCount(rolling.MaxSurge) && strategy.IsShare(rolling.MaxUnavailable) &&
			!(strategy.IsNone(rolling.MaxSurge) && strategy.IsNone(rolling.MaxUnavailable))
	default:
		return false
	}
}
