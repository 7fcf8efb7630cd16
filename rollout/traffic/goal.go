package traffic

import "time"

// Goal holds the present wishes of a release for its traffic.
type Goal struct {
	Way Way
	// Stable is the revision that serves before the release, or that a rollback goes to, and Canary the
	// one that is released.
	Stable, Canary string
	// Share of the step.
	Share Share
	// Pods of the canary in the step, and whether they are Available. Worth is Pods, plus one where a
	// scaling rounded the percentage down that is rounded up otherwise.
	Pods, Worth int32
	Available   bool
	// Stuck says that the API server refuses more pods of the canary now.
	Stuck bool
	// Replicas is spec.replicas, and Least how many pods are enough for all requests: spec.replicas -
	// maxUnavailable.
	Replicas, Least int32
	// Ready is how many pods of any version are ready.
	Ready int32
	// KeepOld keeps all pods of the stable side, whatever it gets.
	KeepOld bool
	// Overload lets a side get more requests than its pods are meant for, if the step says so.
	Overload bool
	// Told is how requests were shared when routes could be read last; it counts where none can.
	Told Told
	// Alone says that no version has pods but the one that serves in the end.
	Alone bool
	// Lost says that the workload has no version any more of the revision that the stable side selects.
	Lost bool
	// Unwritable are sides whose Services the API server refuses to write now.
	Unwritable []SideName
	// ReadyFor is how long endpoints must have been ready, and DrainFor how long pods stay after their
	// share was lowered.
	ReadyFor, DrainFor time.Duration
	// Timed is for how long the release was so since it last made progress (Standing.Timed).
	Timed time.Duration
	// Stage is that of the release, as in Seen.
	Stage string
	// Patience is for how long the status of routes is waited for where nobody gets more requests
	// (Way.bounded).
	Patience time.Duration
}

// Told records how routes shared requests with the canary of the goal, by the status. Without
// Stable they shared none.
type Told struct {
	Stable string
	Weight int32
}

// Way is which way a release goes.
type Way int

// The ways.
const (
	// Forward goes towards the share of the step.
	Forward Way = iota
	// Stand gives the canary side no more than it has: the release is stopped, or has failed.
	Stand
	// Back takes all requests from the canary side, and then gives the routes back.
	Back
	// End gives the routes back once the canary side alone has pods.
	End
	// Leave gives the routes back at once.
	Leave
	// Rest does so, and then deletes the Services: no release is in progress.
	Rest
)

// bounded reports whether a way waits for the status of routes for a limited time only. Such a way
// takes requests from the canary side, or gives the routes back: one write does that. It keeps pods
// for Gateways that do not follow, which must end although a dead Gateway with an entry in the
// status never reports. A way that gives a version more is never bounded.
func (w Way) bounded() bool {
	switch w {
	case Back, End, Leave, Rest:
		return true
	case Forward, Stand:
	}
	return false
}
