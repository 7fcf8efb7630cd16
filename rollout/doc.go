// Package rollout releases workloads in place: it takes a Deployment, StatefulSet or DaemonSet
// over, moves its pods batch by batch, and hands it back.
//
// The package is the thin shell around rollout/plan. A pass observes, asks the plan, carries its
// actions out, and asks again until there is nothing left to do; then it writes the status, once:
//
//	caches ─► observe ─► plan.Next ─► actions, each guarded by the version it rests on
//	                        ▲  │
//	     live reads, replies┘  └► status ─► events
//
// What a write answers is newer than what the cache holds for a while. The shell remembers
// it until the cache has caught up, so that it reads its own writes.
//
// Each kind reads and writes what its pods are in with parts of its own (parts.go): replicasets.go,
// ordinals.go and nodes.go.
//
// The package writes BatchRelease.status, finalizer and annotations, the workload while it
// is taken over, the replicas of a Deployment's ReplicaSets, ControllerRevisions, and Gates except
// their status. It deletes pods of StatefulSets and DaemonSets.
package rollout
