package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// Traffic holds the routes and Services of a release with routes.
type Traffic struct {
	// Stable and Canary are the Services of the two sides, and Second those of a second Service of the
	// user, if there are Two.
	Stable, Canary Side
	Second         struct{ Stable, Canary Side }
	Two            bool
	Routes         []Route
	// Off says that the controller runs without --traffic.
	Off bool
}

// Side is the Service of a side, with its EndpointSlices.
type Side struct {
	Made bool
	// Revision is the one that it selects.
	Revision string
	Version  int64
	// Edited says that somebody has made it select other pods of that revision: none.
	Edited bool
	// Slices holds the counts of the EndpointSlices.
	Slices Slices
}

// Slices are the endpoints of a Service as its EndpointSlices have them: of the revision that it
// selected then.
type Slices struct {
	Revision     string
	Ready, Going int32
}

// Route is a route, and what its data plane makes of it.
type Route struct {
	// Name of the route, which refers to the Second Service or to the first. It is missing while it is
	// Gone.
	Name                string
	Second              bool
	Gone                bool
	Version, Generation int64
	// Held says that the release holds it, by its annotation, which says the weight and the matches.
	// It is Shared if it refers to the sides, else to the user's Service.
	Held, Shared bool
	Weight       int32
	Matched      bool
	// Matches lists the matched requests.
	Matches []v1alpha1.RequestMatch
	// Told is the generation that its status tells of, and Since when it began to. Written is when it,
	// or what it refers to, was last written.
	Told           int64
	Since, Written time.Time
	// Silent says that its status does not tell any more.
	Silent bool
	// View is the earlier configuration, by which the data plane may still send requests.
	View View
}

// The seconds of a release with traffic: longer than anything else takes that happens before time
// goes by.
const (
	readySeconds = 1800
	drainSeconds = 3600
	// settling is how much time goes by in one event.
	settling = (readySeconds + 1) * time.Second
)

// addRoutes gives a world routes to the pods of the workload.
func addRoutes(w *World, spec *v1alpha1.Traffic) {
	w.Traffic = &Traffic{}
	for _, r := range spec.Routes {
		second := r.Service != Name
		w.Traffic.Two = w.Traffic.Two || second
		w.Traffic.Routes = append(w.Traffic.Routes, Route{Name: r.Name, Second: second, Version: w.next(), Generation: 1, Told: 1, View: View{Direct: true}})
	}
}

func (t *Traffic) clone() *Traffic {
	if t == nil {
		return nil
	}
	c := *t
	c.Routes = slices.Clone(t.Routes)
	return &c
}

// The sides of the second Service.
const (
	secondStable traffic.SideName = "second stable"
	secondCanary traffic.SideName = "second canary"
)

func (t *Traffic) side(name traffic.SideName) *Side {
	switch name {
	case traffic.StableSide:
		return &t.Stable
	case traffic.CanarySide:
		return &t.Canary
	case secondStable:
		return &t.Second.Stable
	default:
		return &t.Second.Canary
	}
}

// names returns those of the Services of a side.
func (t *Traffic) names(side traffic.SideName) []traffic.SideName {
	switch {
	case !t.Two:
		return []traffic.SideName{side}
	case side == traffic.StableSide:
		return []traffic.SideName{side, secondStable}
	default:
		return []traffic.SideName{side, secondCanary}
	}
}

// sides returns the names of all Services of sides.
func (t *Traffic) sides() []traffic.SideName {
	return slices.Concat(t.names(traffic.StableSide), t.names(traffic.CanarySide))
}

// of returns the names of the two Services that a route is to refer to.
func (r *Route) of() (stable, canary traffic.SideName) {
	if r.Second {
		return secondStable, secondCanary
	}
	return traffic.StableSide, traffic.CanarySide
}

// made reports whether a Service of a side is there.
func (t *Traffic) made() bool {
	return slices.ContainsFunc(t.sides(), func(name traffic.SideName) bool { return t.side(name).Made })
}

func (t *Traffic) route(name string) *Route {
	for i := range t.Routes {
		if t.Routes[i].Name == name {
			return &t.Routes[i]
		}
	}
	return nil
}

// held reports whether the release holds a route, or one refers to the sides whose annotation was
// taken away.
func (t *Traffic) held() bool {
	return slices.ContainsFunc(t.Routes, func(r Route) bool { return r.Held || r.Shared })
}

// strays reports whether a route refers to the sides though nobody can tell for whom.
func (t *Traffic) strays() bool {
	return slices.ContainsFunc(t.Routes, func(r Route) bool { return r.Shared && !r.Held })
}

// writeRoute writes a route.
func writeRoute(w *World, r *Route, change func(*Route)) {
	rememberViews(w)
	change(r)
	r.Generation++
	r.Version = w.next()
}

// writeSide writes the Service of a side.
func writeSide(w *World, s *Side, change func(*Side)) {
	rememberViews(w)
	change(s)
	s.Version = w.next()
}

// syncSlices runs one turn of the EndpointSlice controller.
func syncSlices(w *World, name traffic.SideName) bool {
	side := w.Traffic.side(name)
	is := endpointsOf(w, side)
	changed := side.Slices != is
	side.Slices = is
	return changed
}

// endpointsOf returns those of the pods that a Service selects.
func endpointsOf(w *World, side *Side) Slices {
	if !side.Made {
		return Slices{}
	}
	is := Slices{Revision: side.Revision}
	if s := w.Set(side.Revision); s != nil && !side.Edited {
		is.Ready, is.Going = s.Pods.ready(), s.Pods.Going
	}
	return is
}

// follows reports whether the status of a route is about to tell of what was written.
func (r *Route) follows() bool { return !r.Gone && !r.Silent && r.Told != r.Generation }

// silence has the status of a route tell no more.
func silence(w *World, name string) bool {
	r := w.Traffic.route(name)
	changed := !r.Gone && !r.Silent
	r.Silent = r.Silent || changed
	return changed
}

// speak has it tell again.
func speak(w *World, name string) bool {
	r := w.Traffic.route(name)
	changed := r.Silent
	r.Silent = false
	return changed
}

// accept has the status of a route tell that it is in effect as it is.
func accept(w *World, name string) bool {
	r := w.Traffic.route(name)
	if !r.follows() {
		return false
	}
	r.Told, r.Since = r.Generation, w.Now
	return true
}

// trafficTurns returns those of the others that move requests.
func trafficTurns(w *World) []Event {
	if w.Traffic == nil {
		return nil
	}
	var events []Event
	for _, name := range w.Traffic.sides() {
		events = append(events, Event{Kind: SyncSlices, Text: string(name)})
	}
	for i := range w.Traffic.Routes {
		events = append(events, Event{Kind: Accept, Text: w.Traffic.Routes[i].Name})
	}
	return events
}

// mendedTraffic returns what people put in order in the end: routes that are missing, and a
// controller without --traffic. The release itself claims routes again that have lost the
// annotation.
func mendedTraffic(w *World) []Event {
	events := []Event{{Kind: TurnOn}}
	for i := range w.Traffic.Routes {
		events = append(events, Event{Kind: CreateRoute, Text: w.Traffic.Routes[i].Name})
	}
	return events
}

// trafficIdle reports, at little cost, that an event would change nothing.
func (e Event) trafficIdle(s *State) bool {
	if s.Traffic == nil {
		return true
	}
	switch e.Kind {
	case SyncSlices:
		side := s.Traffic.side(traffic.SideName(e.Text))
		return side.Slices == endpointsOf(s.World, side)
	case Accept:
		return !s.Traffic.route(e.Text).follows()
	case TurnOn:
		return !s.Traffic.Off
	case Speak:
		return !s.Traffic.route(e.Text).Silent
	default:
		return false
	}
}

func (e Event) applyToTraffic(s *State) bool {
	if s.Traffic == nil {
		return false
	}
	switch e.Kind {
	case SyncSlices:
		return syncSlices(s.World, traffic.SideName(e.Text))
	case Accept:
		return accept(s.World, e.Text)
	case RestoreRoute:
		return restoreRoute(s.World, e.Text, e.N > 0)
	case DeleteRoute:
		return deleteRoute(s.World, e.Text)
	case CreateRoute:
		return createRoute(s.World, e.Text)
	case DeleteService:
		return deleteService(s.World, traffic.SideName(e.Text))
	case ForgetTraffic:
		return forgetTraffic(s.World)
	case Silence:
		return silence(s.World, e.Text)
	case Speak:
		return speak(s.World, e.Text)
	case StripRoute:
		return stripRoute(s.World, e.Text)
	case ShareRouteAgain:
		return shareRouteAgain(s.World, e.Text, e.N)
	case EditService:
		return editService(s.World, traffic.SideName(e.Text))
	case TurnOff, TurnOn:
		return s.turn(e.Kind == TurnOff)
	default:
		return s.settle()
	}
}

// settle lets time go by, in which the controller looks at what there is and finds nothing to do.
// No cache lags as long as that.
func (s *State) settle() bool {
	before := s.key()
	s.Lag.Traffic = nil
	s.Process.recall(s.World)
	s.Process.lookAtTraffic(s.World)
	s.watch(settling)
	s.Process.lookAtTraffic(s.World)
	return s.observer == nil || s.key() != before
}

// showTraffic tells of the sides and the routes.
func showTraffic(w *World, text *strings.Builder) {
	if w.Traffic == nil {
		return
	}
	for _, name := range w.Traffic.sides() {
		if side := w.Traffic.side(name); side.Made {
			fmt.Fprintf(text, " %s=%s(%d", name, side.Revision, side.Slices.Ready)
			if side.Edited {
				text.WriteString(", edited")
			}
			if side.Slices.Revision != side.Revision {
				text.WriteString(" of " + side.Slices.Revision)
			}
			if side.Slices.Going > 0 {
				fmt.Fprintf(text, ", %d going", side.Slices.Going)
			}
			text.WriteString(")")
		}
	}
	for i := range w.Traffic.Routes {
		showRoute(w, text, &w.Traffic.Routes[i])
	}
}

func showRoute(w *World, text *strings.Builder, r *Route) {
	fmt.Fprintf(text, " %s=", r.Name)
	switch {
	case r.Gone:
		text.WriteString("gone")
	case r.Shared:
		fmt.Fprintf(text, "%d%%", r.Weight)
	default:
		text.WriteString("all")
	}
	if r.Matched {
		text.WriteString("+matches")
	}
	if r.Shared != r.Held {
		fmt.Fprintf(text, ", held %t", r.Held)
	}
	if view := viewOf(w, r); r.Told != r.Generation {
		text.WriteString("?")
	} else if len(view.Gets) != len(w.Traffic.now(r).Gets) || view.Direct != w.Traffic.now(r).Direct {
		text.WriteString("~")
	}
}
