package sim

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// restoreRoute applies the route again as it was. A replacement of the whole route takes the hold
// off too, which else says how it was shared.
func restoreRoute(w *World, name string, all bool) bool {
	r := w.Traffic.route(name)
	if r == nil || r.Gone || !r.Shared && !(all && r.Held) {
		return false
	}
	writeRoute(w, r, func(r *Route) {
		if r.Shared, r.Held = false, r.Held && !all; !r.Held {
			r.Weight, r.Matched, r.Matches = 0, false, nil
		}
	})
	r.View = View{Direct: true} // whoever gets requests meanwhile does so by their doing
	return true
}

// stripRoute takes the annotation off a route, by which the release holds it. It is no change of
// its spec.
func stripRoute(w *World, name string) bool {
	r := w.Traffic.route(name)
	if r == nil || !r.Held || w.Release.Spec.Strategy.Traffic == nil {
		return false // of one that is not named nobody could know any more
	}
	r.Held, r.Version = false, w.next()
	if !r.Shared {
		r.Weight, r.Matched, r.Matches = 0, false, nil
	}
	return true
}

// shareRouteAgain applies rules to a route that somebody read in mid-release, with the canary's
// weight at that time. Where no release names the route, or one that goes can't know
// of it any more, it is out of scope.
func shareRouteAgain(w *World, name string, weight int32) bool {
	r, known := w.Traffic.route(name), w.Release.Spec.Strategy.Traffic != nil && w.Release.Finalizer && !w.Release.Deleting
	if r == nil || r.Gone || r.Shared || !known || w.Traffic.Off || w.Lag.Traffic != nil {
		return false
	}
	writeRoute(w, r, func(r *Route) {
		r.Shared, r.Held, r.Weight, r.Matched, r.Matches = true, false, weight, false, nil
	})
	return true
}

// deleteRoute deletes a route, and CreateRoute makes it again as it was in the beginning.
func deleteRoute(w *World, name string) bool {
	r := w.Traffic.route(name)
	if r == nil || r.Gone {
		return false
	}
	*r = Route{Name: name, Second: r.Second, Gone: true, Version: w.next(), Generation: r.Generation}
	return true
}

// createRoute makes a route again.
func createRoute(w *World, name string) bool {
	r := w.Traffic.route(name)
	if r == nil || !r.Gone {
		return false
	}
	*r = Route{Name: name, Second: r.Second, Version: w.next(), Generation: r.Generation + 1, View: View{Direct: true}}
	return true
}

// deleteService deletes the Service of a side.
func deleteService(w *World, name traffic.SideName) bool {
	side := w.Traffic.side(name)
	if !side.Made {
		return false
	}
	writeSide(w, side, func(s *Side) { *s = Side{} })
	return true
}

// editService edits the selector of the Service of a side.
func editService(w *World, name traffic.SideName) bool {
	side := w.Traffic.side(name)
	if !side.Made || side.Edited {
		return false
	}
	writeSide(w, side, func(s *Side) { s.Edited = true })
	return true
}

// forgetTraffic takes the traffic out of the release. A shared route without annotation
// excludes it: no controller could know of the route any more.
func forgetTraffic(w *World) bool {
	if w.Release.Purged || w.Release.Spec.Strategy.Traffic == nil || w.Traffic.strays() {
		return false
	}
	spec := *w.Release.Spec
	spec.Strategy.Traffic, spec.Strategy.Steps = nil, withoutTraffic(spec.Strategy.Steps)
	w.updateRelease(func(r *Release) { r.Spec, r.Generation = &spec, r.Generation+1 })
	return true
}

// beyondStep reports whether more pods run the new version than the step says, as the native
// controller has made them.
func beyondStep(w *World) bool {
	status := w.Release.Status
	update := w.setOf(status.UpdateRevision) // routes are of Deployments
	return update != nil && update.Replicas > status.TargetReplicas
}

func withoutTraffic(steps []v1alpha1.Step) []v1alpha1.Step {
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].Traffic, steps[i].Matches = "", nil
	}
	return steps
}

// turn starts the controller with or without --traffic. Without it, nothing but the status tells
// that a route is held: one that was shared by a process that did not live to say so is out of
// scope.
func (s *State) turn(off bool) bool {
	told := s.Release.Status.Traffic
	if s.Traffic.Off == off || off && s.Traffic.held() && (told == nil || told.StableRevision == "") {
		return false
	}
	s.Traffic.Off, s.Process = off, &Process{}
	return true
}
