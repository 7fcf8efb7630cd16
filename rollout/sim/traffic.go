package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// Traffic is who gets requests, of a release with routes.
type Traffic struct {
	// Stable and Canary are the Services of the two sides.
	Stable, Canary Side
	Routes         []Route
}

// Side is the Service of a side, with its EndpointSlices.
type Side struct {
	Made bool
	// Revision is the one that it selects.
	Revision string
	Version  int64
	// Slices are what the EndpointSlices say.
	Slices Slices
}

// Slices are the endpoints of a Service as its EndpointSlices have them: of the revision that it selected then.
type Slices struct {
	Revision     string
	Ready, Going int32
}

// Route is a route, and what its data plane makes of it.
type Route struct {
	// Name of the route. It is missing while it is Gone.
	Name                string
	Gone                bool
	Version, Generation int64
	// Held says that the release holds it. It is Shared if it refers to the sides, with the weight and the matches, else to the user's Service.
	Held, Shared bool
	Weight       int32
	Matched      bool
	// Matches are what is Matched.
	Matches []v1alpha1.RequestMatch
	// Told is the generation that its status tells of, and Since when it began to. Written is when it, or what it refers to, was last written.
	Told           int64
	Since, Written time.Time
	// View is who may still get requests by what the data plane had of it before.
	View View
}

// View is who may get requests: any pod that is ready, by the user's Service, if it is Direct, and else at most so many percent for
// each revision.
type View struct {
	Direct bool
	Gets   []Gets
}

// Gets is what a revision gets at most by a side.
type Gets struct {
	Side     traffic.SideName
	Revision string
	Percent  int32
	Matched  bool
}

// The seconds of a release with traffic: longer than anything else takes that happens before time goes by.
const (
	readySeconds = 1800
	drainSeconds = 3600
	// settling is how much time goes by in one event.
	settling = (readySeconds + 1) * time.Second
)

// routed gives a world routes to the pods of the workload.
func (w *World) routed(spec *v1alpha1.Traffic) {
	w.Traffic = &Traffic{}
	for _, r := range spec.Routes {
		w.Traffic.Routes = append(w.Traffic.Routes, Route{Name: r.Name, Version: w.next(), Generation: 1, Told: 1, View: View{Direct: true}})
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

func (t *Traffic) side(name traffic.SideName) *Side {
	if name == traffic.StableSide {
		return &t.Stable
	}
	return &t.Canary
}

func (t *Traffic) route(name string) *Route {
	for i := range t.Routes {
		if t.Routes[i].Name == name {
			return &t.Routes[i]
		}
	}
	return nil
}

// held reports whether the release holds a route.
func (t *Traffic) held() bool {
	return slices.ContainsFunc(t.Routes, func(r Route) bool { return r.Held })
}

// now is who gets requests by what a route says.
func (t *Traffic) now(r *Route) View {
	switch {
	case r.Gone:
		return View{}
	case !r.Shared:
		return View{Direct: true}
	}
	var view View
	if r.Weight < 100 {
		view = view.and(View{Gets: []Gets{{Side: traffic.StableSide, Revision: t.Stable.Revision, Percent: 100 - r.Weight}}})
	}
	if r.Weight > 0 || r.Matched {
		view = view.and(View{Gets: []Gets{{Side: traffic.CanarySide, Revision: t.Canary.Revision, Percent: r.Weight, Matched: r.Matched}}})
	}
	return view
}

// and is the most that anybody gets by one of two views.
func (v View) and(other View) View {
	all := View{Direct: v.Direct || other.Direct, Gets: slices.Clone(v.Gets)}
	for _, o := range other.Gets {
		i := slices.IndexFunc(all.Gets, func(g Gets) bool { return g.Side == o.Side && g.Revision == o.Revision })
		if i < 0 {
			all.Gets = append(all.Gets, o)
			continue
		}
		g := &all.Gets[i]
		g.Percent, g.Matched = max(g.Percent, o.Percent), g.Matched || o.Matched
	}
	slices.SortFunc(all.Gets, func(a, b Gets) int {
		return cmp.Or(strings.Compare(string(a.Side), string(b.Side)), strings.Compare(a.Revision, b.Revision))
	})
	return all
}

// of is what a revision gets by both sides.
func (v View) of(revision string) Gets {
	all := Gets{Revision: revision}
	for _, g := range v.Gets {
		if g.Revision == revision {
			all.Percent, all.Matched = min(all.Percent+g.Percent, 100), all.Matched || g.Matched
		}
	}
	return all
}

// by is what a revision gets by one side.
func (v View) by(side traffic.SideName, revision string) Gets {
	for _, g := range v.Gets {
		if g.Side == side && g.Revision == revision {
			return g
		}
	}
	return Gets{Side: side, Revision: revision}
}

// view is who may get requests, by the routes or by what their data planes still go by.
func (w *World) view() View {
	var view View
	for i := range w.Traffic.Routes {
		view = view.and(w.viewOf(&w.Traffic.Routes[i]))
	}
	return view
}

// viewOf is that of one route. What a data plane had before counts until the route's status has told for long enough that it is in
// effect as it is now: for readySeconds for new requests, and for drainSeconds for those that are on their way.
func (w *World) viewOf(r *Route) View {
	now, told := w.Traffic.now(r), time.Duration(0)
	ready, drain := w.trafficTimes()
	switch {
	case w.Release.Spec.Strategy.Traffic == nil: // nobody can see what happens to a route that is neither named nor held, nor knows its times
		told = w.Now.Sub(r.Written)
	case r.Told == r.Generation:
		told = min(w.Now.Sub(r.Since), w.Now.Sub(r.Written))
	}
	switch {
	case r.Gone || told >= max(drain, ready):
		return now
	case told >= ready:
		return now.and(View{Gets: r.View.Gets})
	default:
		return now.and(r.View)
	}
}

// trafficTimes are readySeconds and drainSeconds of the release.
func (w *World) trafficTimes() (ready, drain time.Duration) {
	of := v1alpha1.Traffic{}
	if spec := w.Release.Spec.Strategy.Traffic; spec != nil {
		of = *spec
	}
	return time.Duration(ptr.Deref(of.ReadySeconds, v1alpha1.DefaultTrafficReadySeconds)) * time.Second,
		time.Duration(ptr.Deref(of.DrainSeconds, v1alpha1.DefaultTrafficDrainSeconds)) * time.Second
}

// remember has the data planes go on by what there is until they have what is written next.
func (w *World) remember() {
	for i := range w.Traffic.Routes {
		r := &w.Traffic.Routes[i]
		r.View, r.Written = w.viewOf(r), w.Now
	}
}

// writeRoute writes a route.
func (w *World) writeRoute(r *Route, change func(*Route)) {
	w.remember()
	change(r)
	r.Generation++
	r.Version = w.next()
}

// writeSide writes the Service of a side.
func (w *World) writeSide(s *Side, change func(*Side)) {
	w.remember()
	change(s)
	s.Version = w.next()
}

// SyncSlices is one turn of the EndpointSlice controller.
func (w *World) SyncSlices(name traffic.SideName) bool {
	side := w.Traffic.side(name)
	is := w.endpoints(side)
	changed := side.Slices != is
	side.Slices = is
	return changed
}

// endpoints are those of the pods that a Service selects.
func (w *World) endpoints(side *Side) Slices {
	if !side.Made {
		return Slices{}
	}
	is := Slices{Revision: side.Revision}
	if s := w.Set(side.Revision); s != nil {
		is.Ready, is.Going = s.Pods.ready(), s.Pods.Going
	}
	return is
}

// Accept has the status of a route tell that it is in effect as it is.
func (w *World) Accept(name string) bool {
	r := w.Traffic.route(name)
	if r.Gone || r.Told == r.Generation {
		return false
	}
	r.Told, r.Since = r.Generation, w.Now
	return true
}

// RestoreRoute is what somebody does who applies the route again as it was. Whoever replaces all of it takes the hold off too.
func (w *World) RestoreRoute(name string, all bool) bool {
	r := w.Traffic.route(name)
	if r == nil || r.Gone || !r.Shared && !(all && r.Held) {
		return false
	}
	w.writeRoute(r, func(r *Route) {
		r.Shared, r.Held, r.Weight, r.Matched, r.Matches = false, r.Held && !all, 0, false, nil
	})
	r.View = View{Direct: true} // whoever gets requests meanwhile does so by their doing
	return true
}

// DeleteRoute deletes a route, and CreateRoute makes it again as it was in the beginning.
func (w *World) DeleteRoute(name string) bool {
	r := w.Traffic.route(name)
	if r == nil || r.Gone {
		return false
	}
	*r = Route{Name: name, Gone: true, Version: w.next(), Generation: r.Generation}
	return true
}

// CreateRoute makes a route again.
func (w *World) CreateRoute(name string) bool {
	r := w.Traffic.route(name)
	if r == nil || !r.Gone {
		return false
	}
	*r = Route{Name: name, Version: w.next(), Generation: r.Generation + 1, View: View{Direct: true}}
	return true
}

// DeleteService deletes the Service of a side.
func (w *World) DeleteService(name traffic.SideName) bool {
	side := w.Traffic.side(name)
	if !side.Made {
		return false
	}
	w.writeSide(side, func(s *Side) { *s = Side{} })
	return true
}

// ForgetTraffic takes the traffic out of the release.
func (w *World) ForgetTraffic() bool {
	if w.Release.Purged || w.Release.Spec.Strategy.Traffic == nil {
		return false
	}
	spec := *w.Release.Spec
	spec.Strategy.Traffic, spec.Strategy.Steps = nil, slices.Clone(spec.Strategy.Steps)
	for i := range spec.Strategy.Steps {
		spec.Strategy.Steps[i].Traffic, spec.Strategy.Steps[i].Matches = "", nil
	}
	w.updateRelease(func(r *Release) { r.Spec, r.Generation = &spec, r.Generation+1 })
	return true
}

// settled reports whether nobody but the process and people has anything left to do for the traffic, apart from time.
func (w *World) trafficSettled() bool {
	if w.Traffic == nil {
		return true
	}
	for _, name := range sides {
		if side := w.Traffic.side(name); side.Slices != w.endpoints(side) {
			return false
		}
	}
	return !slices.ContainsFunc(w.Traffic.Routes, func(r Route) bool { return !r.Gone && r.Told != r.Generation })
}

var sides = []traffic.SideName{traffic.StableSide, traffic.CanarySide}

// trafficTurns are those of the others that move requests.
func (w *World) trafficTurns() []Event {
	if w.Traffic == nil {
		return nil
	}
	var events []Event
	for _, name := range sides {
		events = append(events, Event{Kind: SyncSlices, Text: string(name)})
	}
	for i := range w.Traffic.Routes {
		events = append(events, Event{Kind: Accept, Text: w.Traffic.Routes[i].Name})
	}
	return events
}

// missingRoutes are made again in the end.
func (w *World) missingRoutes() []Event {
	var events []Event
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
		return side.Slices == s.endpoints(side)
	case Accept:
		r := s.Traffic.route(e.Text)
		return r.Gone || r.Told == r.Generation
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
		return s.World.SyncSlices(traffic.SideName(e.Text))
	case Accept:
		return s.World.Accept(e.Text)
	case RestoreRoute:
		return s.World.RestoreRoute(e.Text, e.N > 0)
	case DeleteRoute:
		return s.World.DeleteRoute(e.Text)
	case CreateRoute:
		return s.World.CreateRoute(e.Text)
	case DeleteService:
		return s.World.DeleteService(traffic.SideName(e.Text))
	case ForgetTraffic:
		return s.World.ForgetTraffic()
	default:
		return s.settle()
	}
}

// settle lets time go by, in which the controller looks at what there is and finds nothing to do. No cache lags as long as that.
func (s *State) settle() bool {
	before := s.Key()
	s.Lag.Traffic = nil
	s.Process.recall(s.World)
	s.Process.lookAtTraffic(s.World)
	s.watch(settling)
	s.Process.lookAtTraffic(s.World)
	return s.Key() != before
}

// showTraffic tells of the sides and the routes.
func (w *World) showTraffic(text *strings.Builder) {
	if w.Traffic == nil {
		return
	}
	for _, name := range sides {
		if side := w.Traffic.side(name); side.Made {
			fmt.Fprintf(text, " %s=%s(%d", name, side.Revision, side.Slices.Ready)
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
		w.showRoute(text, &w.Traffic.Routes[i])
	}
}

func (w *World) showRoute(text *strings.Builder, r *Route) {
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
	if view := w.viewOf(r); r.Told != r.Generation {
		text.WriteString("?")
	} else if len(view.Gets) != len(w.Traffic.now(r).Gets) || view.Direct != w.Traffic.now(r).Direct {
		text.WriteString("~")
	}
}
