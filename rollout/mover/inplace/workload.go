package inplace

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/order"
)

// Workload is a workload whose pods have places. It implements the methods of mover.Mover that are
// the same for every kind: the native controller makes all that its pods need.
type Workload struct {
	// Strategy is spec.updateStrategy as JSON, to be put back later.
	Strategy string
	// Observed reports whether the native controller has seen the workload as it is.
	Observed bool
	// Replicas is the number of places that are to have a pod.
	Replicas int32
	// Digest is the digest of spec.template, and Update the revision of the template in the native
	// controller's words, without the name of the workload.
	Digest, Update string
	Status         Status
	// Listed reports whether Pods are known, and Live whether they were read live in this pass.
	Listed, Live bool
	// Pods are all pods that the workload owns, with terminating ones.
	Pods []Pod
}

// Status holds the counts in the status of a workload.
type Status struct {
	// Current counts all pods, and Ready, Available and Updated some of them.
	Current, Ready, Available, Updated int32
	// Misscheduled counts the nodes of a DaemonSet that have a pod and are to have none.
	Misscheduled int32
}

// DefaultUnavailable is the default of maxUnavailable.
var DefaultUnavailable = intstr.FromInt32(1)

// Unavailable returns maxUnavailable in pods, at most as many as replicas; 0 for a value that the
// API refuses on input.
func Unavailable(value *intstr.IntOrString, replicas int32, roundUp bool) int32 {
	if value == nil {
		value = &DefaultUnavailable
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(value, int(replicas), roundUp)
	if err != nil {
		return 0
	}
	return int32(min(n, int(replicas)))
}

// Serving implements mover.Mover: one version serves, as pods are replaced in place.
func (Workload) Serving(_, revision string) string { return revision }

// Runs implements mover.Mover.
func (w Workload) Runs(revision string) int32 {
	n := int32(0)
	for i := range w.Pods {
		if w.Pods[i].Revision == revision && !w.Pods[i].Terminating {
			n++
		}
	}
	return n
}

// MayAct implements mover.Mover: until the native controller has seen the latest change, it may act
// on the one before.
func (Workload) MayAct(_ string, _ int32, behind int64) bool { return behind > 0 }

// Make implements mover.Mover.
func (Workload) Make(mover.Task) mover.Write { return nil }

// Now implements mover.Mover: nothing is written to the pods that go.
func (Workload) Now(mover.Task) mover.Moves { return mover.Moves{} }

// Prepare implements mover.Mover.
func (Workload) Prepare(mover.Beginning) ([]mover.Write, v1alpha1.Awaited) { return nil, "" }

// Give implements mover.Mover.
func (Workload) Give(string) []mover.Write { return nil }

// Finish implements mover.Mover.
func (Workload) Finish(string) []mover.Write { return nil }

// Restore implements mover.Mover.
func (Workload) Restore([]order.Pod) mover.Write { return nil }

// Clear implements mover.Mover: the native controller takes the pods away, in any version.
func (Workload) Clear(mover.Task) []mover.Write { return nil }
