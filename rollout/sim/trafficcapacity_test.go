package sim

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// bearsShare: by what the pass has seen, the side that gets more has as many ready pods as its
// share takes of those that are enough for all requests: spec.replicas - maxUnavailable. Requests
// go back to the next percent that the stable side bears.
func bearsShare(_ *World, c change) string {
	share, before, is := c.sharing()
	spec := c.pass.release.Spec.Strategy.Traffic
	if !is || spec == nil {
		return ""
	}
	replicas := c.pass.workload.Replicas
	_, unavailable := c.pass.workload.bounds(replicas)
	least, to := max(replicas-unavailable, 0), share.Share.Weight
	stable, canary := c.seen.Stable.Ready, c.seen.Canary.Ready
	switch {
	case !before.Shared && before.Held && to == before.Weight:
		return "" // what somebody has given back for a moment is borne as it was before, though pods may have failed since
	case !before.Shared && stable < min(max(percentOf(least, 100-to), 1), readySeen(c.pass)) && to < 100:
		return fmt.Sprintf("%d stable pods are ready, of %d that are enough, and begin with %d%%", stable, least, 100-to)
	case spec.AllowOverload:
		return "" // whoever sets it knows better what pods bear
	case (!before.Shared || to > before.Weight) && c.worth()*100 < to*least:
		return fmt.Sprintf("%d canary pods are ready, of %d that are enough, and get %d%%", canary, least, to)
	case before.Shared && to < before.Weight && canary > 0 && stable*100 <= (99-to)*least:
		return fmt.Sprintf("%d stable pods are ready, of %d that are enough, and get %d%%", stable, least, 100-to)
	default:
		return ""
	}
}

// judgeCapacity is T9 for what a pass leaves alone, whatever the release waits for: once everybody
// has come to rest, and the times are over that requests wait for, each side has the pods for its
// share of the requests.
func judgeCapacity(s *State, back heldBack) {
	status, spec := s.Release.Status, s.Release.Spec.Strategy.Traffic
	under := status.Held != nil && status.Entered() && status.Phase != v1alpha1.PhaseCompleted && status.Attempt == past(s.World).Attempt
	if s.Traffic == nil || spec == nil || spec.AllowOverload || !under || s.Workload.Hold == nil || s.Release.Deleting ||
		back.takeOver || back.grow || back.shrink || !allSettled(s.World) || !trafficSettled(s.World) || s.Traffic.untold() || !allAvailable(s.World) {
		return
	}
	seen := s.Process.lookAtTraffic(s.World)
	ready, drain := trafficTimes(s.World)
	if !s.Traffic.Off && (min(seen.Stable.Steady, seen.Canary.Steady) < ready || seen.InEffect < max(ready, drain)) {
		return
	}
	_, unavailable := s.Workload.bounds(s.Workload.Replicas)
	least := max(s.Workload.Replicas-unavailable, 0)
	stable, canary := s.Traffic.seenSide(traffic.StableSide).Ready, s.Traffic.seenSide(traffic.CanarySide).Ready
	rounded := int32(0)
	if status.Rollback != nil { // requests go back to the next percent that the stable side bears
		rounded = least - 1
	}
	for i := range s.Traffic.Routes {
		r := &s.Traffic.Routes[i]
		switch {
		case r.Gone || !r.Shared || !r.Held:
		case s.Traffic.Off && canary >= status.TargetReplicas: // nobody can take requests back from a step that asks for too few pods
		case worthOf(s.World, status, s.Workload.Replicas, canary)*100 < r.Weight*least:
			s.breach("T9 each side has the pods for its requests, whatever a release waits for",
				fmt.Sprintf("%d canary pods, of %d that are enough for all, get %d%%", canary, least, r.Weight))
		case stable*100+rounded < (100-r.Weight)*least:
			s.breach("T9 each side has the pods for its requests, whatever a release waits for",
				fmt.Sprintf("%d stable pods, of %d that are enough for all, get %d%%", stable, least, 100-r.Weight))
		}
	}
}

// mayForward reports whether a route may send requests to the sides: one is shared, or was so long
// ago that its status has told the process of it for drainSeconds.
func mayForward(s *State) bool {
	if s.Traffic == nil || !s.Traffic.held() && !s.Traffic.made() {
		return false
	}
	seen := s.Process.lookAtTraffic(s.World)
	_, drain := trafficTimes(s.World)
	return s.Traffic.held() || s.Traffic.untold() || seen == nil || max(seen.InEffect, seen.Observed) < drain
}

// readySeen returns how many pods of any version are ready by the statuses of ReplicaSets that the pass
// has seen.
func readySeen(x *pass) int32 {
	var n int32
	for i := range x.sets {
		n += x.sets[i].Status.Ready
	}
	return n
}

// worth returns the pods that the canary's ready pods stand for.
func (c change) worth() int32 {
	return worthOf(c.pass.world, c.pass.intent, c.pass.workload.Replicas, c.seen.Canary.Ready)
}

// worthOf returns the pods that so many pods of the canary count for: one more where the workload was
// scaled, since the step's percentage is rounded down then.
func worthOf(w *World, status *v1alpha1.BatchReleaseStatus, replicas, ready int32) int32 {
	steps := stepsOf(w, status)
	if past(w).Sizes.unscaled() || int(status.CurrentStepIndex) >= len(steps) {
		return ready
	}
	return max(ready, min(Target(steps[status.CurrentStepIndex], replicas), ready+1))
}

// overtaken reports whether routes have changed that the pass can't know of.
func overtaken(x *pass, before *Traffic) bool {
	for i := range before.Routes {
		if r := &before.Routes[i]; x.sawTraffic.route(r.Name).Version != r.Version {
			return true
		}
	}
	return false
}
