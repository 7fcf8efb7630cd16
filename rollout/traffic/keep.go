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
		if !n.forgotten() {
			n.keepSides()
		}
		if forward {
			stays(n.goal.Stable, r)
		}
		return
	case !n.drained():
		stays(stable, r)
		stays(canary, r)
		n.KeepAll = n.blind()
	default:
		n.KeepAll = stable == "" && (n.low < all || n.goal.KeepOld) || canary == "" && !n.nothing()
		stays(stable, partOf(r, all-n.low))
		enough := r
		if n.goal.Way == Back || !n.aligned() {
			enough = n.goal.Least
		}
		stays(canary, partOf(enough, n.high))
		if n.matched {
			stays(canary, 1)
		}
	}
	if n.goal.KeepOld && (forward || n.goal.Way == End) {
		stays(stable, r)
	}
	if n.goal.Way != End {
		n.grow(stable, forward)
	}
}

// grow says to how many pods the stable side grows for the requests that it is to get, and how many there may be.
func (n *next) grow(stable string, forward bool) {
	r := n.goal.Replicas
	n.Grow[stable] = partOf(r, all-min(n.low, n.Target))
	if n.goal.KeepOld && forward {
		n.Grow[stable] = r
	}
	if forward {
		n.Most = n.goal.Pods + n.Grow[stable]
	}
}

// keepSides keeps the pods of both sides: what forwards requests may not know yet that the routes were given back.
func (n *next) keepSides() {
	n.Keep = map[string]int32{n.seen.Stable.Revision: n.goal.Replicas, n.seen.Canary.Revision: n.goal.Replicas}
	n.KeepAll = n.blind()
}

// blind reports whether nobody can say which version a side sends its requests to: it is not there, is not the release's, is not what the
// release made of it, or is not looked at since the release names no Service any more.
func (n *next) blind() bool { return n.seen.Stable.Revision == "" || n.seen.Canary.Revision == "" }

// freeze keeps all pods: nobody can say which of them get requests.
func (n *next) freeze() {
	n.HoldsUp = n.goal.Way == Forward
	n.KeepAll = true
}

// partOf is how many of all pods a share of the requests needs.
func partOf(pods, percent int32) int32 {
	return int32((int64(pods)*int64(percent) + all - 1) / all)
}
