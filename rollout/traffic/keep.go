package traffic

// keepPods says how many pods each side needs.
func keepPods(n *next) {
	r := n.goal.Replicas
	n.Keep, n.Grow = map[string]int32{}, map[string]int32{}
	stays := func(revision string, pods int32) { n.Keep[revision] = max(n.Keep[revision], pods) }
	stable, canary := n.seen.Stable.Revision, n.seen.Canary.Revision
	forward := n.goal.Way == Forward || n.goal.Way == Stand
	switch {
	case !n.Held:
		keepUnheld(n, forward)
		return
	case !n.drained():
		stays(stable, r)
		stays(canary, r)
		n.KeepAll = blind(n)
	default:
		n.KeepAll = stable == "" && (n.shares.low < all || n.goal.KeepOld) || canary == "" && !n.shares.nothing()
		stays(stable, PartOf(r, all-n.shares.low))
		enough := r
		if n.goal.Way == Back || !n.aligned() {
			enough = n.goal.Least
		}
		stays(canary, PartOf(enough, n.shares.high))
		if n.shares.matched {
			stays(canary, 1)
		}
	}
	if n.goal.KeepOld && (forward || n.goal.Way == End) {
		stays(stable, r)
	}
	if n.goal.Way != End {
		growStable(n, stable, forward)
	} else if old := oldAtEnd(n); old > 0 {
		n.Most = n.goal.Pods + old
	}
	growCanary(n)
}

// keepUnheld does the same where no route is held: none ever was, or all were given back.
func keepUnheld(n *next, forward bool) {
	if !n.forgotten() {
		keepSides(n)
	}
	if forward {
		n.Keep[n.goal.Stable] = max(n.Keep[n.goal.Stable], n.goal.Replicas)
	}
	if n.begins > 0 {
		n.Grow[n.seen.Stable.Revision], n.Most = n.begins, n.goal.Pods+n.begins
	}
}

// growStable says to how many pods the stable side grows for the requests that it is to get, and
// how many there may be.
func growStable(n *next, stable string, forward bool) {
	n.Grow[stable] = shareOfStable(n, all-min(n.shares.low, n.Target, n.fits()), forward)
	if forward {
		n.Most = n.goal.Pods + n.Grow[stable]
	}
}

// shareOfStable returns the pods that the stable side needs for a percentage of the requests.
func shareOfStable(n *next, percent int32, forward bool) int32 {
	if n.goal.KeepOld && forward {
		return n.goal.Replicas
	}
	return PartOf(n.goal.Replicas, percent)
}

// growCanary says to how many pods the canary side grows for the requests that it has, where it
// doesn't grow to all that the step says: the release stands, or its pods have to wait. Otherwise
// every pod of a scale-up would be of the stable side. It doesn't grow for requests that the
// release takes from it, such as somebody else's share.
func growCanary(n *next) {
	waits := n.goal.Way == Stand || n.goal.Way == End || n.goal.Way == Forward && n.HoldsUp && !n.comesToNothing()
	if pods := min(n.goal.Pods, PartOf(n.goal.Replicas, n.shares.high)); waits && pods > 0 && n.aligned() {
		n.Grow[n.seen.Canary.Revision] = pods
	}
}

// keepSides keeps the pods of both sides: data planes may not know yet that the routes were given
// back.
func keepSides(n *next) {
	n.Keep = map[string]int32{n.seen.Stable.Revision: n.goal.Replicas, n.seen.Canary.Revision: n.goal.Replicas}
	n.KeepAll = blind(n)
}

// blind reports whether nobody can say which version a side sends its requests to: it is not there,
// is not the release's, is not what the release made of it, or is not looked at since the release
// names no Service any more.
func blind(n *next) bool { return n.seen.Stable.Revision == "" || n.seen.Canary.Revision == "" }

// keepAll keeps all pods, because it is unknown which of them get requests. Both sides follow
// spec.replicas as requests were shared last.
func keepAll(n *next) {
	n.HoldsUp = n.goal.Way == Forward
	n.KeepAll = true
	told, forward := n.goal.Told, n.goal.Way == Forward || n.goal.Way == Stand
	if told.Stable == "" || !forward && n.goal.Way != End {
		return
	}
	n.Grow = map[string]int32{n.goal.Canary: min(n.goal.Pods, PartOf(n.goal.Replicas, told.Weight))}
	if forward {
		n.Grow[told.Stable] = shareOfStable(n, all-told.Weight, forward)
	}
	n.Most = n.goal.Pods + max(n.Grow[told.Stable], oldAtEnd(n))
}

// oldAtEnd returns how many old pods may stay at the end on top of spec.replicas.
func oldAtEnd(n *next) int32 {
	if n.goal.Way == End && n.goal.KeepOld {
		return n.goal.Replicas
	}
	return 0
}

// PartOf returns the pods that a percentage of the requests needs, rounded up: 3 for 25% of 10.
func PartOf(pods, percent int32) int32 {
	return int32((int64(pods)*int64(percent) + all - 1) / all)
}
