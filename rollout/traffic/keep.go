package traffic

// keep says how many pods each side needs.
func (n *next) keep() {
	r := n.goal.Replicas
	n.Keep, n.Grow = map[string]int32{}, map[string]int32{}
	stays := func(revision string, pods int32) { n.Keep[revision] = max(n.Keep[revision], pods) }
	stable, canary := n.seen.Stable.Revision, n.seen.Canary.Revision
	forward := n.goal.Way == Forward || n.goal.Way == Stand
	switch {
	case !n.Held:
		n.keepUnheld(forward)
		return
	case !n.drained():
		stays(stable, r)
		stays(canary, r)
		n.KeepAll = n.blind()
	default:
		n.KeepAll = stable == "" && (n.low < all || n.goal.KeepOld) || canary == "" && !n.nothing()
		stays(stable, PartOf(r, all-n.low))
		enough := r
		if n.goal.Way == Back || !n.aligned() {
			enough = n.goal.Least
		}
		stays(canary, PartOf(enough, n.high))
		if n.matched {
			stays(canary, 1)
		}
	}
	if n.goal.KeepOld && (forward || n.goal.Way == End) {
		stays(stable, r)
	}
	if n.goal.Way != End {
		n.grow(stable, forward)
	} else if old := n.oldAtEnd(); old > 0 {
		n.Most = n.goal.Pods + old
	}
	n.growCanary()
}

// keepUnheld says so where no route is held: none ever was, or all were given back.
func (n *next) keepUnheld(forward bool) {
	if !n.forgotten() {
		n.keepSides()
	}
	if forward {
		n.Keep[n.goal.Stable] = max(n.Keep[n.goal.Stable], n.goal.Replicas)
	}
	if n.begins > 0 {
		n.Grow[n.seen.Stable.Revision], n.Most = n.begins, n.goal.Pods+n.begins
	}
}

// grow says to how many pods the stable side grows for the requests that it is to get, and how many
// there may be.
func (n *next) grow(stable string, forward bool) {
	n.Grow[stable] = n.shareOfStable(all-min(n.low, n.Target, n.fits()), forward)
	if forward {
		n.Most = n.goal.Pods + n.Grow[stable]
	}
}

// shareOfStable returns the pods that the stable side needs for a percentage of the requests.
func (n *next) shareOfStable(percent int32, forward bool) int32 {
	if n.goal.KeepOld && forward {
		return n.goal.Replicas
	}
	return PartOf(n.goal.Replicas, percent)
}

// growCanary says to how many pods the canary side grows for the requests that it has, where it
// doesn't grow to all that the step says: the release stands, or its pods have to wait. Otherwise
// all that somebody scales the workload up to would be pods of the stable side.
func (n *next) growCanary() {
	waits := n.goal.Way == Stand || n.goal.Way == End || n.goal.Way == Forward && n.HoldsUp
	if pods := min(n.goal.Pods, PartOf(n.goal.Replicas, n.high)); waits && pods > 0 && n.aligned() {
		n.Grow[n.seen.Canary.Revision] = pods
	}
}

// keepSides keeps the pods of both sides: data planes may not know yet that the routes were given
// back.
func (n *next) keepSides() {
	n.Keep = map[string]int32{n.seen.Stable.Revision: n.goal.Replicas, n.seen.Canary.Revision: n.goal.Replicas}
	n.KeepAll = n.blind()
}

// blind reports whether nobody can say which version a side sends its requests to: it is not there,
// is not the release's, is not what the release made of it, or is not looked at since the release
// names no Service any more.
func (n *next) blind() bool { return n.seen.Stable.Revision == "" || n.seen.Canary.Revision == "" }

// freeze keeps all pods, because it is unknown which of them get requests. Both sides follow
// spec.replicas as requests were shared last.
func (n *next) freeze() {
	n.HoldsUp = n.goal.Way == Forward
	n.KeepAll = true
	told, forward := n.goal.Told, n.goal.Way == Forward || n.goal.Way == Stand
	if told.Stable == "" || !forward && n.goal.Way != End {
		return
	}
	n.Grow = map[string]int32{n.goal.Canary: min(n.goal.Pods, PartOf(n.goal.Replicas, told.Weight))}
	if forward {
		n.Grow[told.Stable] = n.shareOfStable(all-told.Weight, forward)
	}
	n.Most = n.goal.Pods + max(n.Grow[told.Stable], n.oldAtEnd())
}

// oldAtEnd returns how many old pods may stay at the end on top of spec.replicas.
func (n *next) oldAtEnd() int32 {
	if n.goal.Way == End && n.goal.KeepOld {
		return n.goal.Replicas
	}
	return 0
}

// PartOf returns the pods that a percentage of the requests needs, rounded up: 3 for 25% of 10.
func PartOf(pods, percent int32) int32 {
	return int32((int64(pods)*int64(percent) + all - 1) / all)
}
