package mover

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/order"
)

// Task describes the wanted pods of a workload.
type Task struct {
	// Digest is that of the version that is released.
	Digest string
	// Revision is the name of that version.
	Revision string
	// Replicas is spec.replicas.
	Replicas int32
	Bounds
	// Target is how many pods are to run the new version. Reach is how many may, if spec.replicas has
	// grown since the step was entered: as many as the steps let through whose gates have passed.
	Target, Reach int32
	// Stable is the revision that was stable before.
	Stable string
	// Foreign is the revision of a template that somebody else has given the workload, and that was put
	// back; empty if there was none.
	Foreign string
	// Keep are how many pods of a version stay, by revision, whatever the target leaves to it: requests
	// go to them. A version that has fewer keeps those that it has. One that is missing keeps none.
	Keep map[string]int32
	// KeepAll says that all versions keep the pods that they have, up to spec.replicas each, because it
	// is unknown which of them get requests.
	KeepAll bool
	// OldStays says that versions that keep pods for requests may do so for long, or that most requests
	// may go to another one.
	OldStays bool
	// Grow are to how many pods a version other than the new one grows, by revision, before the new one
	// does, and also in a rollback. It keeps them too. A version that is rolled back is never among
	// them. The new one grows to the target, and where the release stands to as many of them as Grow
	// says.
	Grow map[string]int32
	// Most is how many pods there may be in all if that is more than the bounds allow. The target, what
	// Keep and Grow say, and updated pods beyond the target that may not go, have to fit in it:
	// otherwise the target is not reached.
	//
	// Keep, KeepAll, OldStays, Grow and Most are for requests that routes share between versions; they
	// are empty where no route does.
	Most int32
	// Limits are how far others may shrink now, by UID; one that is missing has none.
	Limits map[types.UID]Limit
	// Turn are other pods in the order in which they are to go, for a kind whose pods are deleted one
	// by one; nil for its own order.
	Turn []types.UID
	Mode
}

// Mode says which way pods may go.
type Mode struct {
	// Rollback says that the new version is the one to go back to. The others are not added to: the bad
	// one is among them.
	Rollback bool
	// Rescaling says that spec.replicas is not what the step was entered with, and Grown that it is
	// more.
	Rescaling, Grown bool
	// AwaitTermination says that a pod makes room for another only once it is gone, not when its
	// deletion has begun.
	AwaitTermination bool
	// Blocked says that the step waits for a gate: updated pods beyond the step go.
	Blocked bool
	// SteppingBack says that the step was jumped back to with its pods: pods beyond it go.
	SteppingBack bool
}

// Moves hold the changes that one pass may make.
type Moves struct {
	// Grow adds pods and Shrink takes some away. GrowsFirst says which comes first; the second depends
	// on the first.
	Grow, Shrink []Write
	GrowsFirst   bool
	// Small says that more of the same kind may come in a moment.
	Small bool
	// Native says that the native controller is about to do the same, as far as it can.
	Native bool
	// Narrows says that Grow updates no pod, and only makes fewer pods come back updated: it does not
	// rest on counts that are read live, as what comes back in another version is replaced again.
	Narrows bool
	// Tidies says that Grow is of no use to the pods that there are, and only to those that somebody
	// scales up to: it can wait for a while where all pods may be updated.
	Tidies bool
	// Guarded says that Grow writes to the workload alone, and only if its spec still is as decided on.
	// The workload need not be read.
	Guarded bool
	// Unread says that Shrink rests on counts that were not read live.
	Unread bool
	// Order says in which order other pods go; nil if nobody can choose that.
	Order *Order
}

// Order is in which order the other pods go, at the sizes that Moves comes to.
type Order struct {
	// Pods is how many other pods there are to be now, and Unordered how many of them need no place in
	// the order yet.
	Pods, Unordered int32
	// Shrinks says that some go.
	Shrinks bool
	Sorter
}

// Sorter puts pods in order.
type Sorter interface {
	// Sort returns what has to be written to the pods; nil if they are in order.
	Sort(Queue) Write
	// Limits returns how far others may shrink in the order of their pods.
	Limits(Queue) Limited
}

// Queue is in which order other pods go.
type Queue struct {
	// Pods of all versions, and the requested order in Keys.
	Pods []order.Pod
	Keys []v1alpha1.OrderKey
	// Pauses reports whether nothing goes from a pod on, because it has a pause point.
	Pauses func(order.Pod) bool
	Now    time.Time
}

// Limit is how far a version may shrink: not below Proven, because the native controller may not
// have seen the order of more pods, nor below Paused, because of a pause point, unless
// spec.replicas asks for it.
type Limit struct{ Proven, Paused int32 }

// Limited holds the pods that an order lets go.
type Limited struct {
	// Limits are by UID.
	Limits map[types.UID]Limit
	// Turn is Task.Turn, for a kind whose pods are deleted one by one.
	Turn []types.UID
	// Held is the pod with a pause point that is the next to go; nil if there is none.
	Held *order.Pod
	// Settles is when more pods may go, because their order is seen for certain; zero if time does not
	// help.
	Settles time.Time
}
