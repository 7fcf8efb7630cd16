// Package order turns pods into an order, and into the deletion costs that enforce it; pure.
//
// It has no say in which pods go: the ReplicaSet controller removes pods by their stage (not ready
// before ready), then by their deletion cost. Order works through that cost:
//
//	pods ──► Sort ──► Costs ──► annotations of the pods that go next
//	              └─► Going ──► Free: how many may go now, in this order
//
// The costs are the lowest there are, rising in the order of the pods, so that one write for each
// pod is enough however often its ReplicaSet shrinks, and pods that stay keep the cost they have.
//
// # When the ReplicaSet controller knows
//
// It reads pods and ReplicaSets through two caches, so that it may act on a new size before it has
// seen a cost that was written earlier. But all pods come through one cache in the order of their
// writes: once it counts a pod that was created after a cost was written, it has seen the cost. The
// costs are therefore written before the updated ReplicaSet grows, each with the number of updated
// pods that there can be by then, and a cost counts once there are more.
package order
