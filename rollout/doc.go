// Package rollout releases Deployments in place: it takes a Deployment over, scales its
// ReplicaSets batch by batch, and hands it back.
//
// The package is the thin shell around rollout/plan. A pass observes, asks the plan, carries
// its actions out, and asks again until there is nothing left to do; then it writes the
// status, once:
//
//	caches ─► observe ─► plan.Next ─► actions, each guarded by the version it rests on
//	                        ▲  │
//	     live reads, replies┘  └► status ─► events
//
// What a write answers is newer than what the cache holds for a while. The shell remembers
// it until the cache has caught up, so that it reads its own writes.
//
// The package writes BatchRelease.status, finalizer and annotations, the Deployment while it
// is taken over, the replicas of its ReplicaSets, ControllerRevisions, and Gates except
// their status.
package rollout
