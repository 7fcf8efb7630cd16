package daemonset

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/jsonpatch"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/mover/strategy"
)

// Object is a DaemonSet. It is held with update strategy OnDelete: its controller then replaces a
// pod only once somebody has deleted it. Every pod that it makes meanwhile, on a new node for
// example, is of the template.
type Object struct{ *appsv1.DaemonSet }

// Object implements workload.Workload.
func (d *Object) Object() kinds.Object { return d.DaemonSet }

// Kind implements workload.Workload.
func (*Object) Kind() string { return kinds.DaemonSet }

// PodTemplate implements workload.Workload.
func (d *Object) PodTemplate() *corev1.PodTemplateSpec { return &d.Spec.Template }

// Size implements workload.Workload: it is on how many nodes the pods belong now.
func (d *Object) Size() int32 { return d.Status.DesiredNumberScheduled }

// Seen implements workload.Workload.
func (d *Object) Seen() int64 { return d.Status.ObservedGeneration }

// PodSelector implements workload.Workload.
func (d *Object) PodSelector() *metav1.LabelSelector { return d.Spec.Selector }

// Deadline implements workload.Workload: the kind has none.
func (*Object) Deadline() *int32 { return nil }

// Foretell implements workload.Workload: it is the hash of the ControllerRevision, which is that of
// the pod template.
func (d *Object) Foretell() string {
	return podtemplate.Hash(&d.Spec.Template, d.Status.CollisionCount)
}

// RevisionName implements workload.Workload: the hash is also the label of the pods.
func (d *Object) RevisionName(hash string) string { return d.Name + "-" + hash }

// Own implements workload.Workload.
func (d *Object) Own() v1alpha1.HeldWorkload {
	return v1alpha1.HeldWorkload{Strategy: cmp.Or(strategy.Noted(d), strategy.Encode(d.Spec.UpdateStrategy))}
}

// Limits implements workload.Workload.
func (*Object) Limits(own string) (surge, unavailable *intstr.IntOrString) {
	rolling := strategyOf(own).RollingUpdate
	if rolling == nil {
		return nil, nil
	}
	return rolling.MaxSurge, rolling.MaxUnavailable
}

// OnDelete reports whether the update strategy is OnDelete.
func (d *Object) OnDelete() bool {
	return d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
}

// Secure implements workload.Workload.
func (*Object) Secure(patch *jsonpatch.Patch) {
	patch.Set("/spec/updateStrategy", appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType})
}

// GiveBack implements workload.Workload.
func (*Object) GiveBack(patch *jsonpatch.Patch, held v1alpha1.HeldWorkload) {
	patch.Set("/spec/updateStrategy", strategyOf(held.Strategy))
}

// RollbackTo implements workload.Workload.
func (*Object) RollbackTo() string { return "" }

// Trim implements workload.Workload.
func (*Object) Trim() {}

// Mover implements workload.Workload.
func (d *Object) Mover(string) mover.Mover { return From(d) }

// From returns a DaemonSet as its mover sees it, without its pods, and the digest of its template
// and its name.
func From(d *Object) Mover {
	status := &d.Status
	return Mover{
		OnDelete: d.OnDelete(),
		Workload: inplace.Workload{
			Strategy: d.Own().Strategy, Observed: d.Seen() >= d.Generation, Replicas: d.Size(), Status: inplace.Status{
				Updated: status.UpdatedNumberScheduled, Ready: status.NumberReady, Available: status.NumberAvailable,
				Current: status.CurrentNumberScheduled, Misscheduled: status.NumberMisscheduled,
			},
		},
	}
}

// Insecure implements workload.Workload.
func (d *Object) Insecure() []string {
	if !d.OnDelete() {
		return []string{"spec.updateStrategy.type"}
	}
	return nil
}

// Kept implements workload.Workload.
func (d *Object) Kept(held v1alpha1.HeldWorkload) []string {
	if d.Spec.UpdateStrategy.Type != strategyOf(held.Strategy).Type {
		return []string{"spec.updateStrategy.type"}
	}
	return nil
}

// Describe implements workload.Workload.
func (*Object) Describe(held v1alpha1.HeldWorkload) string {
	return fmt.Sprintf("update strategy %s", strategyOf(held.Strategy).Type)
}

// strategyOf returns the strategy that Own wrote.
func strategyOf(text string) appsv1.DaemonSetUpdateStrategy {
	return strategy.Decode(text, takes, appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType})
}

// takes reports whether the API server takes a strategy, by ValidateDaemonSetUpdateStrategy.
func takes(own appsv1.DaemonSetUpdateStrategy) bool {
	rolling := own.RollingUpdate
	switch own.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return true
	case appsv1.RollingUpdateDaemonSetStrategyType:
		return rolling == nil ||
			strategy.IsShare(rolling.MaxSurge) && strategy.IsShare(rolling.MaxUnavailable) && surgesOrNot(rolling)
	default:
		return false
	}
}

// surgesOrNot reports whether one of the limits is more than none, and the other is none. By
// default pods don't surge, and one may be unavailable.
func surgesOrNot(rolling *appsv1.RollingUpdateDaemonSet) bool {
	surges := rolling.MaxSurge != nil && !strategy.IsNone(rolling.MaxSurge)
	return surges == strategy.IsNone(rolling.MaxUnavailable)
}
