package daemonset

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// Mover is a DaemonSet with its pods. It implements mover.Mover.
type Mover struct {
	// Workload has as Replicas the status.desiredNumberScheduled less the lost nodes that have a pod.
	// A node that is gone is not taken off: the native controller does that, and until then one node
	// too many is on the safe side. Status.Misscheduled (D6) is less the lost nodes that it counts.
	inplace.Workload

	// OnDelete says that spec.updateStrategy.type is OnDelete.
	OnDelete bool
	// Unnamed says why Update is not known, though the native controller has seen the template; empty
	// if it is.
	Unnamed string
	// NameComes reports whether it is so because no ControllerRevision of the template is known yet.
	NameComes bool
	// Vacant are nodes whose pod is gone, and whose next one is not made yet.
	Vacant []string
}

var _ mover.Mover = Mover{}

// Native implements mover.Mover: a DaemonSet that is held has the strategy OnDelete (D2).
func (m Mover) Native() mover.Native {
	return mover.Native{
		Secured:   m.OnDelete,
		Unsecured: v1alpha1.ReasonStrategyChanged,
		Free:      !m.OnDelete,
		Ours:      m.OnDelete,
		Contained: m.OnDelete,
		Own:       v1alpha1.HeldWorkload{Strategy: m.Strategy},

		LostTakesTemplate: true, // D1
	}
}

// Bounds implements mover.Mover: maxUnavailable is rounded up, and at least one pod may be
// unavailable (updatedDesiredNodeCounts of the native controller). A node has one pod at a time.
func (Mover) Bounds(_, unavailable *intstr.IntOrString, replicas int32) mover.Bounds {
	return mover.Bounds{Unavailable: max(inplace.Unavailable(unavailable, replicas, true), 1)}
}

// Has implements mover.Mover: the native controller keeps the revisions of its template and of the
// pods that there are.
func (m Mover) Has(revision string) bool {
	of := func(pod inplace.Pod) bool { return pod.Revision == revision }
	return revision != "" && (m.Observed && m.Update == revision || slices.ContainsFunc(m.Pods, of))
}

// failure says that no pod is deleted while nobody can tell the versions apart.
func (m Mover) failure() *mover.Failure {
	if m.Unnamed == "" {
		return nil
	}
	return &mover.Failure{Reason: v1alpha1.ReasonFailedDelete, Message: m.Unnamed}
}

// Refill implements mover.Mover.
func (Mover) Refill(mover.Beginning) mover.Write { return nil }

// Refilled implements mover.Mover.
func (Mover) Refilled(_ string, behind int64) bool { return behind == 0 }
