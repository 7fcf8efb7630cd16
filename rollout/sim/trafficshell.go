package sim

import (
	"maps"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// written are what a process knows of its own writes to routes and Services, until the cache has them.
type written struct {
	routes []Route
	sides  map[traffic.SideName]Side
}

func (t written) clone() written {
	return written{slices.Clone(t.routes), maps.Clone(t.sides)}
}

// recallTraffic forgets what the cache has by now.
func (p *Process) recallTraffic(w *World) {
	if w.Traffic == nil {
		return
	}
	lag := w.Lag.Traffic
	p.written.routes = slices.DeleteFunc(p.written.routes, func(r Route) bool {
		return lag == nil || r.Version <= lag.route(r.Name).Version
	})
	for name, side := range p.written.sides {
		if lag == nil || side.Version <= lag.side(name).Version {
			delete(p.written.sides, name)
		}
	}
}

// traffic is what the process has of the traffic.
func (p *Process) traffic(w *World) *Traffic {
	if w.Traffic == nil {
		return nil
	}
	seen := w.Traffic.clone()
	if w.Lag.Traffic != nil {
		seen = w.Lag.Traffic.clone()
	}
	for _, r := range p.written.routes {
		*seen.route(r.Name) = r
	}
	for name, side := range p.written.sides {
		side.Slices = seen.side(name).Slices
		*seen.side(name) = side
	}
	return seen
}

// lookAtTraffic notes what the process sees, for how long that has been so.
func (p *Process) lookAtTraffic(w *World) *traffic.Seen {
	there := p.traffic(w)
	if there == nil || w.Release.Purged {
		return nil
	}
	spec := p.view(w).Spec.Strategy.Traffic
	var seen traffic.Seen
	p.trafficWatch, seen = p.trafficWatch.Looked(there.seen(spec), w.Now)
	return &seen
}

// seen is what the plan sees of it.
func (t *Traffic) seen(spec *v1alpha1.Traffic) traffic.Seen {
	s := traffic.Seen{Stable: t.Stable.seen(), Canary: t.Canary.seen(), Services: t.Stable.Made || t.Canary.Made}
	for i := range t.Routes {
		r := &t.Routes[i]
		if named := spec != nil; named || r.Held {
			s.Routes = append(s.Routes, r.seen(named))
		}
	}
	return s
}

func (s *Side) seen() traffic.Side {
	seen := traffic.Side{Made: s.Made, Revision: s.Revision}
	if s.Made && s.Slices.Revision == s.Revision {
		seen.Ready, seen.Empty = s.Slices.Ready, s.Slices.Ready+s.Slices.Going == 0
	}
	return seen
}

func (r *Route) seen(named bool) traffic.Route {
	seen := traffic.Route{TrafficRoute: routeOf(r.Name), Named: named}
	if r.Gone {
		seen.Problem = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficRouteNotFound}
		return seen
	}
	seen.Held, seen.Generation, seen.Whole, seen.Accepted = r.Held, r.Generation, r.Shared, r.Told == r.Generation
	seen.Share = traffic.Share{Weight: r.Weight, Matches: r.Matches}
	return seen
}

func routeOf(name string) v1alpha1.TrafficRoute {
	return v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: name, Service: Name}
}

// lookAtTraffic has the pass see what the process sees.
func (x *pass) lookAtTraffic() {
	x.facts.Traffic, x.sawTraffic = x.process.lookAtTraffic(x.world), x.process.traffic(x.world)
}

// overtaken reports whether routes have changed that the pass can't know of.
func (x *pass) overtaken(before *Traffic) bool {
	for i := range before.Routes {
		if r := &before.Routes[i]; x.sawTraffic.route(r.Name).Version != r.Version {
			return true
		}
	}
	return false
}

// moveTraffic does one write to a route or to Services, if they are what was decided on.
func (x *pass) moveTraffic(a plan.Traffic) {
	switch w := a.Write.(type) {
	case traffic.PointSide:
		x.writeSide(w.Name, w.Revision)
	case traffic.DropSides:
		for _, name := range sides {
			if x.report.Ended == "" && x.world.Traffic.side(name).Made {
				x.writeSide(name, "")
			}
		}
	case traffic.ShareRoute:
		x.writeRoute(w.Route.Name, func(r *Route) {
			r.Held, r.Shared, r.Weight, r.Matched, r.Matches = true, true, w.Share.Weight, len(w.Share.Matches) > 0, w.Share.Matches
		})
	case traffic.RestoreRoute:
		x.writeRoute(w.Route.Name, func(r *Route) { r.Held, r.Shared, r.Weight, r.Matched, r.Matches = false, false, 0, false, nil })
	}
	x.lookAtTraffic()
}

// writeSide makes the Service of a side, or has it select another revision, or deletes it.
func (x *pass) writeSide(name traffic.SideName, revision string) {
	seen, now := x.process.traffic(x.world).side(name), x.world.Traffic.side(name)
	if seen.Version == now.Version {
		x.world.writeSide(now, func(s *Side) {
			s.Made, s.Revision = revision != "", revision
			if revision == "" {
				s.Slices = Slices{}
			}
		})
	} else {
		x.outdated("the " + string(name) + " Service")
	}
	if x.process.written.sides == nil {
		x.process.written.sides = map[traffic.SideName]Side{}
	}
	x.process.written.sides[name] = *now
}

func (x *pass) writeRoute(name string, change func(*Route)) {
	seen, now := x.process.traffic(x.world).route(name), x.world.Traffic.route(name)
	if seen.Version == now.Version && !now.Gone {
		x.world.writeRoute(now, change)
	} else {
		x.outdated("the route " + name)
	}
	x.process.written.routes = slices.DeleteFunc(x.process.written.routes, func(r Route) bool { return r.Name == name })
	x.process.written.routes = append(x.process.written.routes, *now)
}
