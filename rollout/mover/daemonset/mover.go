package daemonset

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/order"
)

// Mover is a DaemonSet with its pods. It implements mover.Mover.
type Mover struct {
	// OnDelete says that spec.updateStrategy.type is OnDelete.
	OnDelete bool
	// Strategy is spec.updateStrategy as JSON, to be put back later.
	Strategy string
	// Observed says that the native controller has seen the DaemonSet as it is.
	Observed bool
	// Replicas is how many nodes are to have a pod: status.desiredNumberScheduled less the lost nodes
	// that have one. A node that is gone is not taken off: the native controller does that, and until
	// then one node too many is on the safe side.
	Replicas int32
	// Digest is that of spec.template, and Update the revision of the template, as its pods are
	// labelled.
	Digest, Update string
	// Unnamed says why Update is not known, though the native controller has seen the template; empty
	// if it is.
	Unnamed string
	Status  Status
	// Listed says that Pods is known, and Live that it was read in this pass.
	Listed, Live bool
	// Pods that the DaemonSet owns, with terminating ones.
	Pods []inplace.Pod
	// Vacant are nodes whose pod is gone, and whose next one is not made yet.
	Vacant []string
}

// Status holds the counts in the status of a DaemonSet.
type Status struct {
	// Updated, Ready, Available and Current are updatedNumberScheduled, numberReady, numberAvailable
	// and currentNumberScheduled.
	Updated, Ready, Available, Current int32
	// Misscheduled is numberMisscheduled (D6), less the lost nodes that it counts.
	Misscheduled int32
}

var _ mover.Mover = Mover{}

// DefaultUnavailable is what a DaemonSet has for maxUnavailable by default.
var DefaultUnavailable = intstr.FromInt32(1)

// Native implements mover.Mover: a DaemonSet that is held has the strategy OnDelete (D2).
func (m Mover) Native() mover.Native {
	return mover.Native{
		Secured:   m.OnDelete,
		Unsecured: v1alpha1.ReasonStrategyChanged,
		Free:      !m.OnDelete,
		Ours:      m.OnDelete,
		Own:       v1alpha1.HeldWorkload{Strategy: m.Strategy},
	}
}

// Bounds implements mover.Mover: maxUnavailable is rounded up, and at least one pod may be
// unavailable (updatedDesiredNodeCounts of the native controller). A node has one pod at a time.
func (Mover) Bounds(_, unavailable *intstr.IntOrString, replicas int32) mover.Bounds {
	if unavailable == nil {
		unavailable = &DefaultUnavailable
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(unavailable, int(replicas), true)
	if err != nil { // whoever takes the value in refuses it
		n = 0
	}
	return mover.Bounds{Unavailable: int32(max(min(n, int(replicas)), 1))}
}

// Has implements mover.Mover: the native controller keeps the revisions of its template and of the
// pods that there are.
func (m Mover) Has(revision string) bool {
	of := func(pod inplace.Pod) bool { return pod.Revision == revision }
	return revision != "" && (m.Observed && m.Update == revision || slices.ContainsFunc(m.Pods, of))
}

// Serving implements mover.Mover: pods are replaced in place, and one version serves.
func (Mover) Serving(_, revision string) string { return revision }

// Runs implements mover.Mover.
func (m Mover) Runs(revision string) int32 { return inplace.Running(m.Pods, revision) }

// failure says that no pod is deleted while nobody can tell the versions apart.
func (m Mover) failure() *mover.Failure {
	if m.Unnamed == "" {
		return nil
	}
	return &mover.Failure{Reason: v1alpha1.ReasonFailedDelete, Message: m.Unnamed}
}

// MayAct implements mover.Mover: until the native controller has seen the strategy, it may delete
// pods under the one before (D9).
func (Mover) MayAct(_ string, _ int32, behind int64) bool { return behind > 0 }

// Make implements mover.Mover: updated pods need nothing but the template.
func (Mover) Make(mover.Task) mover.Write { return nil }

// Now implements mover.Mover: nothing is written to the pods that go.
func (Mover) Now(mover.Task) mover.Moves { return mover.Moves{} }

// Prepare implements mover.Mover.
func (Mover) Prepare(mover.Beginning) ([]mover.Write, v1alpha1.Awaited) { return nil, "" }

// Give implements mover.Mover.
func (Mover) Give(string) []mover.Write { return nil }

// Finish implements mover.Mover.
func (Mover) Finish(string) []mover.Write { return nil }

// Restore implements mover.Mover.
func (Mover) Restore([]order.Pod) mover.Write { return nil }

// Clear implements mover.Mover: the native controller takes the pods away that no node is to have.
func (Mover) Clear(mover.Task) []mover.Write { return nil }

// Refill implements mover.Mover.
func (Mover) Refill(mover.Beginning) mover.Write { return nil }

// Refilled implements mover.Mover.
func (Mover) Refilled(_ string, behind int64) bool { return behind == 0 }
