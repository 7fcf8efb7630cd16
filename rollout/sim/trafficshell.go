package sim

import (
	"maps"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// written holds a process's own writes to routes and Services until the cache has them.
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

// traffic returns what the process has of the traffic.
func (p *Process) traffic(w *World) *Traffic {
	if w.Traffic == nil {
		return nil
	}
	seen := w.Traffic.clone()
	if w.Lag.Traffic != nil {
		seen = w.Lag.Traffic.clone()
		seen.Off = w.Traffic.Off
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
	release := p.view(w)
	spec := release.Spec.Strategy.Traffic
	switch {
	case !there.Off:
	case spec == nil && release.Status.Traffic == nil:
		return nil
	default:
		return &traffic.Seen{Off: &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficDisabled}}
	}
	seen := there.seen(spec)
	seen.Stage = traffic.StageOf(release.object(), release.Status)
	p.trafficWatch, seen = p.trafficWatch.Looked(seen, w.Now)
	return &seen
}

// seen returns what the plan sees of it.
func (t *Traffic) seen(spec *v1alpha1.Traffic) traffic.Seen {
	s := traffic.Seen{Stable: t.seenSide(traffic.StableSide), Canary: t.seenSide(traffic.CanarySide), Services: t.made()}
	for i := range t.Routes {
		r := &t.Routes[i]
		if named := spec != nil; named || r.Held {
			s.Routes = append(s.Routes, r.seen(named))
		}
	}
	return s
}

// seenSide returns what all Services of a side have in common.
func (t *Traffic) seenSide(name traffic.SideName) traffic.Side {
	seen := t.side(name).seen()
	for _, name := range t.names(name)[1:] {
		second := t.side(name).seen()
		if seen.Revision != second.Revision {
			return traffic.Side{Made: seen.Made && second.Made}
		}
		seen.Made, seen.Empty, seen.Ready = seen.Made && second.Made, seen.Empty && second.Empty, min(seen.Ready, second.Ready)
		seen.Outdated = seen.Outdated || second.Outdated
	}
	return seen
}

func (s *Side) seen() traffic.Side {
	seen := traffic.Side{Made: s.Made, Revision: s.Revision, Outdated: s.Edited}
	if s.Made && !s.Edited && s.Slices.Revision == s.Revision {
		seen.Ready, seen.Empty = s.Slices.Ready, s.Slices.Ready+s.Slices.Going == 0
	}
	return seen
}

func (r *Route) seen(named bool) traffic.Route {
	seen := traffic.Route{TrafficRoute: routeOf(r.Name), Named: named}
	if r.Second {
		seen.Service = secondService
	}
	if r.Gone {
		seen.Problem, seen.Accepted = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficRouteNotFound}, true
		return seen
	}
	seen.Held, seen.Generation, seen.Accepted = r.Held || named && r.Shared, r.Generation, r.Told == r.Generation // (route.Reclaimed)
	seen.Whole = r.Held && r.Shared
	if !seen.Accepted {
		seen.Pending = []string{"its Gateway"}
	}
	seen.Share = traffic.Share{Weight: r.Weight, Matches: r.Matches}
	return seen
}

// secondService is the user's second Service.
const secondService = Name + "-admin"

func routeOf(name string) v1alpha1.TrafficRoute {
	return v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: name, Service: Name}
}

// lookAtTraffic has the pass see what the process sees.
func lookAtTraffic(x *pass) {
	x.facts.Traffic, x.sawTraffic = x.process.lookAtTraffic(x.world), x.process.traffic(x.world)
}

// moveTraffic does one write to a route or to Services, if they have not changed since.
func moveTraffic(x *pass, a plan.Traffic) {
	switch w := a.Write.(type) {
	case traffic.PointSide:
		writeSides(x, x.world.Traffic.names(w.Name), w.Revision)
	case traffic.DropSides:
		writeSides(x, x.world.Traffic.sides(), "")
	case traffic.ShareRoute:
		writeRouteSeen(x, w.Route.Name, func(r *Route) {
			r.Held, r.Shared, r.Weight, r.Matched, r.Matches = true, true, w.Share.Weight, len(w.Share.Matches) > 0, w.Share.Matches
		})
	case traffic.RestoreRoute:
		writeRouteSeen(x, w.Route.Name, func(r *Route) { r.Held, r.Shared, r.Weight, r.Matched, r.Matches = false, false, 0, false, nil })
	}
	lookAtTraffic(x)
}

// writeSides writes Services one after the other. The process may end between two of them.
func writeSides(x *pass, names []traffic.SideName, revision string) {
	writes := 0
	for _, name := range names {
		if is := x.process.traffic(x.world).side(name); is.Revision == revision && is.Made == (revision != "") && !is.Edited {
			continue
		}
		if writes > 0 && x.wrotePart() {
			return
		}
		if writeSideSeen(x, name, revision); x.report.Ended != "" {
			return
		}
		writes++
	}
}

// writeSideSeen makes the Service of a side, or has it select another revision, or deletes it.
func writeSideSeen(x *pass, name traffic.SideName, revision string) {
	seen, now := x.process.traffic(x.world).side(name), x.world.Traffic.side(name)
	if seen.Version == now.Version {
		writeSide(x.world, now, func(s *Side) {
			s.Made, s.Revision, s.Edited = revision != "", revision, false
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

func writeRouteSeen(x *pass, name string, change func(*Route)) {
	seen, now := x.process.traffic(x.world).route(name), x.world.Traffic.route(name)
	if seen.Version == now.Version && !now.Gone {
		writeRoute(x.world, now, change)
	} else {
		x.outdated("the route " + name)
	}
	x.process.written.routes = slices.DeleteFunc(x.process.written.routes, func(r Route) bool { return r.Name == name })
	x.process.written.routes = append(x.process.written.routes, *now)
}
