package traffic

import "github.com/sluice-dev/sluice/api/v1alpha1"

// awaits notes what has to come first, of several things the first.
func (n *next) awaits(what v1alpha1.TrafficAwaited) {
	if n.Awaits == "" {
		n.Awaits = what
	}
	n.untimed = n.untimed || what != v1alpha1.AwaitedDrain
}

// awaitsRoute notes that routes have to be in effect, and which is the first.
func (n *next) awaitsRoute(is func(*Route) bool) {
	if n.Awaits != "" {
		return
	}
	n.Awaits = v1alpha1.AwaitedRoutes
	for i := range n.seen.Routes {
		if is(&n.seen.Routes[i]) {
			n.Route = &n.seen.Routes[i].TrafficRoute
			return
		}
	}
}

// awaitsEndpoints notes that a side needs endpoints.
func (n *next) awaitsEndpoints(side *Side) {
	n.untimed = true
	n.namesEndpoints(side)
}

// steady reports whether a side has so many ready endpoints, and for long enough.
func (n *next) steady(side *Side, least int32) bool {
	switch {
	case side.Ready < least:
		n.awaitsEndpoints(side)
	case n.has(side.Steady, n.goal.ReadyFor):
		return true
	default:
		n.namesEndpoints(side)
		n.lacksTime(true, side.Steady, n.goal.ReadyFor)
	}
	return false
}

func (n *next) namesEndpoints(side *Side) {
	if n.Awaits == "" {
		n.Awaits, n.Service = v1alpha1.AwaitedEndpoints, side.Fewest
	}
}
