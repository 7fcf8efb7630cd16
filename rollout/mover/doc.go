// Package mover says what a release asks of that which moves the pods of its workload.
//
// The course of a release (steps, gates, queue, stop, jump, rollback, history) is the same for
// every kind of workload: it knows targets, such as "3 of 10 updated, then these gates", and counts
// of pods. How pods get there past a native controller is a matter of the kind, and has a package
// of its own: rollout/mover/deployment. The two meet here:
//
//	          ┌── Native, Bounds, Count, Has: what there is ◄──┐
//	course ───┤                                                ├─── Mover
//	          └── Task ──► Move, Keep ──► Moves ──► Write ─────┘
//
// A Mover is a value: a workload and its pods as they were seen. What it answers are values too; a
// shell carries out the writes. Every answer is made for the next pass alone: whatever happens in
// between, the course asks again.
package mover
