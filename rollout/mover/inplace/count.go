package inplace

import "github.com/sluice-dev/sluice/rollout/mover"

// Count counts the pods of places that are not going away.
func Count(places []Place) mover.Count {
	var c mover.Count
	for _, p := range places {
		if p.Missing() {
			continue
		}
		ready, available, stays := one(p.Pod.Ready), one(p.Pod.Available), one(!p.Crowded)
		c.Current++
		c.Ready += ready
		c.Available += available
		c.StayingReady += ready * stays
		c.Staying += available * stays
	}
	c.Most = c.Current
	return c
}

// CountStatus counts as many updated pods as wanted by the status, which does not say which pods
// are ready: the others are taken to be first. For 4 places of which 2 are updated, 3 ready pods
// are 1 updated one and 2 others.
func CountStatus(s Status, places, updated int32) (ofUpdated, ofOthers mover.Count) {
	current := max(s.Current-updated, 0)
	split := func(all int32) (mine, others int32) {
		mine = min(max(all-current, 0), updated)
		return mine, min(max(all-mine, 0), places-updated)
	}
	ready, othersReady := split(s.Ready)
	available, othersAvailable := split(s.Available)
	return counted(updated, updated, ready, available), counted(places-updated, current, othersReady, othersAvailable)
}

func counted(wanted, current, ready, available int32) mover.Count {
	return mover.Count{
		Wanted: wanted, Current: current, Most: max(wanted, current),
		Ready: ready, Available: available, Staying: available, StayingReady: ready,
	}
}
