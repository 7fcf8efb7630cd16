package workload

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// DaemonSet is held with update strategy OnDelete: its controller then replaces a pod only once
// somebody has deleted it. Every pod that it makes meanwhile, on a new node for example, is of the
// template.
type DaemonSet struct{ *appsv1.DaemonSet }

var _ Workload = &DaemonSet{}

// Object implements Workload.
func (d *DaemonSet) Object() client.Object { return d.DaemonSet }

// Kind implements Workload.
func (*DaemonSet) Kind() string { return kindDaemonSet }

// PodTemplate implements Workload.
func (d *DaemonSet) PodTemplate() *corev1.PodTemplateSpec { return &d.Spec.Template }

// Size implements Workload: it is on how many nodes the pods belong now.
func (d *DaemonSet) Size() int32 { return d.Status.DesiredNumberScheduled }

// Seen implements Workload.
func (d *DaemonSet) Seen() int64 { return d.Status.ObservedGeneration }

// PodSelector implements Workload.
func (d *DaemonSet) PodSelector() *metav1.LabelSelector { return d.Spec.Selector }

// Deadline implements Workload: the kind has none.
func (*DaemonSet) Deadline() *int32 { return nil }

// Foretell implements Workload: it is the hash of the ControllerRevision, which is that of the pod
// template.
func (d *DaemonSet) Foretell() string {
	return podtemplate.Hash(&d.Spec.Template, d.Status.CollisionCount)
}

// RevisionName returns the name of the ControllerRevision of a hash, which is also the label of its
// pods.
func (d *DaemonSet) RevisionName(hash string) string { return d.Name + "-" + hash }

// Own implements Workload.
func (d *DaemonSet) Own() v1alpha1.HeldWorkload {
	return v1alpha1.HeldWorkload{Strategy: encode(d.Spec.UpdateStrategy)}
}

// Limits implements Workload.
func (*DaemonSet) Limits(strategy string) (surge, unavailable *intstr.IntOrString) {
	rolling := daemonSetStrategy(strategy).RollingUpdate
	if rolling == nil {
		return nil, nil
	}
	return rolling.MaxSurge, rolling.MaxUnavailable
}

// OnDelete reports whether the update strategy is OnDelete.
func (d *DaemonSet) OnDelete() bool {
	return d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
}

// Secure implements Workload.
func (*DaemonSet) Secure(patch *kube.JSONPatch) {
	patch.Set("/spec/updateStrategy", appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType})
}

// GiveBack implements Workload.
func (*DaemonSet) GiveBack(patch *kube.JSONPatch, held v1alpha1.HeldWorkload) {
	patch.Set("/spec/updateStrategy", daemonSetStrategy(held.Strategy))
}

// Insecure implements Workload.
func (d *DaemonSet) Insecure() []string {
	if !d.OnDelete() {
		return []string{"spec.updateStrategy.type"}
	}
	return nil
}

// Kept implements Workload.
func (d *DaemonSet) Kept(held v1alpha1.HeldWorkload) []string {
	if d.Spec.UpdateStrategy.Type != daemonSetStrategy(held.Strategy).Type {
		return []string{"spec.updateStrategy.type"}
	}
	return nil
}

// Describe implements Workload.
func (*DaemonSet) Describe(held v1alpha1.HeldWorkload) string {
	return fmt.Sprintf("update strategy %s", daemonSetStrategy(held.Strategy).Type)
}

// daemonSetStrategy reads what Own wrote. What somebody else wrote there, and can't be read, or no
// API server takes, is the default strategy.
func daemonSetStrategy(text string) appsv1.DaemonSetUpdateStrategy {
	var strategy appsv1.DaemonSetUpdateStrategy
	if err := json.Unmarshal([]byte(text), &strategy); err != nil || !takesDaemonSet(strategy) {
		return appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType}
	}
	return strategy
}
