package sim

import "fmt"

// bearsShare: by what the pass has seen, the side that gets more has as many ready pods as its share takes of those that are enough for all
// requests: spec.replicas - maxUnavailable. Requests go back to the next percent that the stable side bears.
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
	case !before.Shared && stable < min(max(percentOf(least, 100-to), 1), c.pass.ready()) && to < 100:
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

// ready is how many pods of any version are ready by the statuses of ReplicaSets that the pass has seen.
func (x *pass) ready() int32 {
	var n int32
	for i := range x.sets {
		n += x.sets[i].Status.Ready
	}
	return n
}

// worth is how many pods those of the canary count for. Where the workload was scaled, a step has one fewer than it asks for, as its percentage
// is rounded down then.
func (c change) worth() int32 {
	w, status, ready := c.pass.world, c.pass.intent, c.seen.Canary.Ready
	steps := w.steps(status)
	if w.Past.Sizes.unscaled() || int(status.CurrentStepIndex) >= len(steps) {
		return ready
	}
	return max(ready, min(Target(steps[status.CurrentStepIndex], c.pass.workload.Replicas), ready+1))
}
