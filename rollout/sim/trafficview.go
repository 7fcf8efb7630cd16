package sim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// View holds the pods that may get requests: any pod that is ready, by the user's Service, if it is
// Direct, and else at most so many percent for each revision.
type View struct {
	Direct bool
	Gets   []Gets
}

// Gets is the most that a revision gets by a side.
type Gets struct {
	Side     traffic.SideName
	Revision string
	Percent  int32
	Matched  bool
}

// now returns who gets requests by what a route says.
func (t *Traffic) now(r *Route) View {
	switch {
	case r.Gone:
		return View{}
	case !r.Shared:
		return View{Direct: true}
	}
	var view View
	stable, canary := r.of()
	if r.Weight < 100 {
		view = view.and(View{Gets: []Gets{{Side: stable, Revision: t.side(stable).Revision, Percent: 100 - r.Weight}}})
	}
	if r.Weight > 0 || r.Matched {
		view = view.and(View{Gets: []Gets{{Side: canary, Revision: t.side(canary).Revision, Percent: r.Weight, Matched: r.Matched}}})
	}
	return view
}

// and returns the most that anybody gets by one of two views.
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

// viewOf returns the view of one route. The earlier configuration of a data plane counts until the
// route's status has told for long enough that it is in effect as it is now: for readySeconds for
// new requests, and for drainSeconds for those that are on their way. Where nobody gets more
// requests, a status that does not tell is waited for no longer than patience, and what its data
// plane does then is past help.
func viewOf(w *World, r *Route) View {
	now, told := w.Traffic.now(r), time.Duration(0)
	ready, drain := trafficTimes(w)
	switch {
	case w.Release.Spec.Strategy.Traffic == nil: // nobody can see what happens to a route that is neither named nor held, nor knows its times
		told = w.Now.Sub(r.Written)
	case r.Told == r.Generation:
		told = min(w.Now.Sub(r.Since), w.Now.Sub(r.Written))
	}
	if waitsBounded(w) {
		told = max(told, w.Now.Sub(r.Written)-patienceOf(w))
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

// waitsBounded reports whether the release goes back, or away, or is at its end, or none is in
// progress. The status names no release once a workload is deleted in a rollback, and created
// again.
func waitsBounded(w *World) bool {
	status := w.Release.Status
	ending := status.Traffic != nil && status.Traffic.Ending != nil
	idle := status.Phase == v1alpha1.PhaseCompleted || status.Resolved == nil && w.Workload.Hold == nil
	return w.Release.Deleting || status.Rollback != nil || ending || idle
}

// patienceOf returns for how long the status of a route is waited for then: half of the progress
// deadline, and 5 minutes at most.
func patienceOf(w *World) time.Duration { return min(w.deadline()/2, 5*time.Minute) }

// trafficTimes returns readySeconds and drainSeconds of the release.
func trafficTimes(w *World) (ready, drain time.Duration) {
	of := v1alpha1.Traffic{}
	if spec := w.Release.Spec.Strategy.Traffic; spec != nil {
		of = *spec
	}
	return time.Duration(ptr.Deref(of.ReadySeconds, v1alpha1.DefaultTrafficReadySeconds)) * time.Second,
		time.Duration(ptr.Deref(of.DrainSeconds, v1alpha1.DefaultTrafficDrainSeconds)) * time.Second
}

// rememberViews has the data planes go on by what there is until they have what is written next.
func rememberViews(w *World) {
	for i := range w.Traffic.Routes {
		r := &w.Traffic.Routes[i]
		r.View, r.Written = viewOf(w, r), w.Now
	}
}
