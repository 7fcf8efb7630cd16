package plan

import (
	"slices"
	"time"
)

// Wake is a time at which a release is decided on again though nothing has changed.
type Wake struct {
	// After is how long from now.
	After time.Duration
	Why   WakeReason
}

// WakeReason says why a release is decided on again. The set is closed: time counts for nothing
// else.
type WakeReason string

// The reasons of the planner.
const (
	WakeRefused     WakeReason = "a refused write is sent again"
	WakeUnanswered  WakeReason = "a write that was not answered is sent again"
	WakeBatchMoves  WakeReason = "small moves of pods are collected"
	WakeDeadline    WakeReason = "the progress deadline runs"
	WakePodsChecked WakeReason = "updated pods that are not available are checked"
	WakePodOrder    WakeReason = "the native controller sees the order of pods"
	WakePausePoint  WakeReason = "a pod with a pause point is checked"
	WakeTraffic     WakeReason = "requests wait for a time that the release sets"
	WakeOldPods     WakeReason = "old pods are kept for a while"
	WakePreflight   WakeReason = "the namespace is checked for room"
	WakeTemplate    WakeReason = "a template that the API server refused is tried again"
	WakeDrift       WakeReason = "drift is reverted"
	WakeFreezeEnds  WakeReason = "a freeze ends"
	WakeUnobserved  WakeReason = "the native controller has not observed the workload"
)

// The reasons of the shell, which observes and writes.
const (
	WakeCountsWritten WakeReason = "a status that only counts pods is written"
	WakeConflict      WakeReason = "what was decided on has changed"
	WakeGateUnseen    WakeReason = "a new gate is missing in the cache"
	WakePodsUnseen    WakeReason = "the watch of pods has not seen a write"
	WakeNodes         WakeReason = "more nodes are read"
	WakeVacantNodes   WakeReason = "the pod of a node is gone"
	WakeRouteKind     WakeReason = "the API server does not serve a kind of route"
	WakeRouteProblem  WakeReason = "a route could not be shared"
)

// Sooner returns the earlier of two wakes. One without a reason is none.
func Sooner(a, b Wake) Wake {
	if a.Why == "" || b.Why != "" && b.After < a.After {
		return b
	}
	return a
}

// First returns the earliest wake; none if there is no wake.
func First(wakes []Wake) Wake {
	var first Wake
	for _, w := range wakes {
		first = Sooner(first, w)
	}
	return first
}

// wakesOf returns the wakes of a decision, with the end of a freeze.
func wakesOf(d Decision) []Wake {
	if freeze := d.snap.release.Frozen(d.snap.now); freeze != nil && freeze.Until != nil {
		d = d.wakeAt(freeze.Until.Time, WakeFreezeEnds)
	}
	wakes := slices.Clone(d.wakes)
	slices.SortStableFunc(wakes, func(a, b Wake) int { return int(a.After - b.After) })
	return slices.CompactFunc(wakes, func(a, b Wake) bool { return a.Why == b.Why })
}
