package inplace

import "k8s.io/apimachinery/pkg/types"

// Pod is a pod with a place.
type Pod struct {
	Name string
	UID  types.UID
	// Version is its resourceVersion. A deletion is guarded by UID and Version.
	Version string
	// Index is, of a StatefulSet, the ordinal less spec.ordinals.start. It is outside of 0 to
	// spec.replicas - 1 where the pod is being scaled down.
	Index int32
	Node  string
	// Revision is the label controller-revision-hash, without the name of the StatefulSet.
	Revision string
	// Ready and Available are conditions of a pod that is not terminating.
	Ready, Available bool
	// Terminating says that the pod is going away: it is being deleted, or has ended, and the native
	// controller deletes it.
	Terminating bool
	// Lost says that the node of a DaemonSet's pod is gone, or not ready: nothing on it can become
	// available.
	Lost bool
}
