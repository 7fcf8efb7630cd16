package workload

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// Deployment is held paused and with strategy Recreate: its controller then scales, and rolls
// nothing.
type Deployment struct{ *appsv1.Deployment }

var _ Workload = &Deployment{}

// Object implements Workload.
func (d *Deployment) Object() client.Object { return d.Deployment }

// Kind implements Workload.
func (*Deployment) Kind() string { return kindDeployment }

// PodTemplate implements Workload.
func (d *Deployment) PodTemplate() *corev1.PodTemplateSpec { return &d.Spec.Template }

// Size implements Workload.
func (d *Deployment) Size() int32 { return ptr.Deref(d.Spec.Replicas, 1) }

// Seen implements Workload.
func (d *Deployment) Seen() int64 { return d.Status.ObservedGeneration }

// PodSelector implements Workload.
func (d *Deployment) PodSelector() *metav1.LabelSelector { return d.Spec.Selector }

// Deadline implements Workload.
func (d *Deployment) Deadline() *int32 { return d.Spec.ProgressDeadlineSeconds }

// Foretell implements Workload: it is the pod template hash.
func (d *Deployment) Foretell() string {
	return podtemplate.Hash(&d.Spec.Template, d.Status.CollisionCount)
}

// Own implements Workload.
func (d *Deployment) Own() v1alpha1.HeldWorkload {
	return v1alpha1.HeldWorkload{Strategy: encode(d.Spec.Strategy), Paused: d.Spec.Paused}
}

// Limits implements Workload.
func (*Deployment) Limits(strategy string) (surge, unavailable *intstr.IntOrString) {
	rolling := deploymentStrategy(strategy).RollingUpdate
	if rolling == nil {
		return nil, nil
	}
	return rolling.MaxSurge, rolling.MaxUnavailable
}

// Recreate reports whether the strategy is Recreate.
func (d *Deployment) Recreate() bool {
	return d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
}

// Secure implements Workload.
func (*Deployment) Secure(patch *kube.JSONPatch) {
	patch.
		Set("/spec/paused", true).
		Set("/spec/strategy", appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType})
}

// GiveBack implements Workload. It also removes a request for a native rollback: unpaused, the
// native controller would carry it out, and undo what was released. The API server counts the
// annotation as spec, so that a new one changes the generation.
func (d *Deployment) GiveBack(patch *kube.JSONPatch, held v1alpha1.HeldWorkload) {
	patch.
		Set("/spec/paused", held.Paused).
		Set("/spec/strategy", deploymentStrategy(held.Strategy))
	if RollbackTo(d) != "" {
		patch.Remove(kube.AnnotationPath(appsv1.DeprecatedRollbackTo))
	}
}

// RollbackTo returns the revision to which an annotation asks the native controller to roll back;
// empty if there is none. Only the Deployment controller reads the annotation, and not while the
// Deployment is paused.
func RollbackTo(w Workload) string {
	if w.Kind() != kindDeployment {
		return ""
	}
	return w.GetAnnotations()[appsv1.DeprecatedRollbackTo]
}

// Insecure implements Workload.
func (d *Deployment) Insecure() []string {
	var fields []string
	if !d.Spec.Paused {
		fields = append(fields, "spec.paused")
	}
	if !d.Recreate() {
		fields = append(fields, "spec.strategy.type")
	}
	return fields
}

// Kept implements Workload.
func (d *Deployment) Kept(held v1alpha1.HeldWorkload) []string {
	var fields []string
	if d.Spec.Paused != held.Paused {
		fields = append(fields, "spec.paused")
	}
	if d.Spec.Strategy.Type != deploymentStrategy(held.Strategy).Type {
		fields = append(fields, "spec.strategy.type")
	}
	return fields
}

// Describe implements Workload.
func (*Deployment) Describe(held v1alpha1.HeldWorkload) string {
	paused := "not paused"
	if held.Paused {
		paused = "paused, as it was before"
	}
	return fmt.Sprintf("strategy %s, %s", deploymentStrategy(held.Strategy).Type, paused)
}

// deploymentStrategy reads what Own wrote. What somebody else wrote there, and can't be read, or no
// API server takes, is the default strategy.
func deploymentStrategy(text string) appsv1.DeploymentStrategy {
	var strategy appsv1.DeploymentStrategy
	if err := json.Unmarshal([]byte(text), &strategy); err != nil || !takesDeployment(strategy) {
		return appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType}
	}
	return strategy
}

// encode can't fail: the strategies have nothing that JSON can't hold.
func encode(strategy any) string {
	data, _ := json.Marshal(strategy)
	return string(data)
}
