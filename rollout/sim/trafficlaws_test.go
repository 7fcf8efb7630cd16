package sim

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// trafficLaws are about who gets requests, of a release with routes.
var trafficLaws = []law{
	{"T1 no write gives requests to a side without ready endpoints", givesToReady},
	{"T2 no pods go that the share of their version needs", keepsServing},
	{"T3 the new version gets what the steps allow whose predecessors' gates have passed", withinShare},
	{"T3 no pods of the new version come that requests reach past the routes", comesShared},
	{"T4 a side that gets requests selects what it did", keepsSides},
	{"T4 the Services of the sides are deleted when nobody forwards requests to them", dropsUnused},
	{"T5 a workload is handed back, and a release goes, when no route is held", leavesRoutes},
	{"T5 the pods of a release that is deleted are handed back when nobody is sent to them by its routes", leavesServed},
	{"T6 old pods are kept until the end where they are to be", keepsOldPods},
	{"T7 what is stopped gives the new version no more", raisesNothing},
	{"T9 no write gives a side more requests than its ready pods are enough for", bearsShare},
}

// sharing returns the write that shares a route, if it is one, and the route before.
func (c change) sharing() (share traffic.ShareRoute, before *Route, is bool) {
	a, moved := c.action.(plan.Traffic)
	if !moved {
		return share, nil, false
	}
	if share, is = a.Write.(traffic.ShareRoute); is {
		before = c.traffic.route(share.Route.Name)
	}
	return share, before, is
}

func givesToReady(w *World, c change) string {
	share, before, is := c.sharing()
	if !is || !slices.ContainsFunc(c.pass.sets, func(s Set) bool { return s.Status.Ready > 0 }) {
		return "" // where no pod is ready that a cache knows of
	}
	had, to := int32(0), share.Share.Weight
	if before.Shared {
		had = before.Weight
	}
	more := to > had || len(share.Share.Matches) > 0 && !before.Matched
	less := to < had || !before.Shared && to < 100
	switch {
	case more && c.seen.Canary.Ready == 0:
		return "the canary side has no endpoint"
	case less && c.seen.Stable.Ready == 0:
		return "the stable side has no endpoint"
	default:
		return ""
	}
}

// keepsServing: of what routes, or data planes that don't have them yet, give to a version, its
// pods are enough: all for all requests of a version that stays, and spec.replicas - maxUnavailable
// for one that is left.
func keepsServing(w *World, c change) string {
	s := c.shrunk()
	if s == nil || w.Traffic == nil || past(w).OutOfBand || c.seen == nil { // a controller without --traffic, which no status tells of any
		return ""
	}
	if least := min(neededPods(w, c, s.Revision), c.before(s), readyPods(w, c, s)); s.Replicas < least {
		return fmt.Sprintf("%d -> %d pods of %s, which gets %d%%: at least %d", c.before(s), s.Replicas, s.Revision, viewOfAll(w).of(s.Revision).Percent, least)
	}
	return ""
}

// neededPods returns how many pods a version needs for the requests that it gets.
func neededPods(w *World, c change, revision string) int32 {
	gets, replicas := viewOfAll(w).of(revision), checkerOf(c.pass.world).window.least(w)
	if isLeft(w, c.pass.intent, revision) {
		_, unavailable := w.Workload.bounds(replicas)
		replicas -= unavailable
	}
	needs := percentOf(replicas, gets.Percent)
	if gets.Matched && replicas > 0 {
		needs = max(needs, 1)
	}
	return needs
}

// readyPods returns how many pods of a version get requests: what is not ready gets none, and what has
// come up since the pass looked nobody can know.
func readyPods(w *World, c change, s *Set) int32 {
	ready := s.Pods.ready()
	for _, side := range []traffic.Side{c.seen.Stable, c.seen.Canary} {
		if side.Made && same(side.Revision, s.Revision) {
			ready = min(ready, side.Ready)
		}
	}
	return ready
}

// isLeft reports whether a version goes in the end, though it is not the one before a release.
func isLeft(w *World, intent *v1alpha1.BatchReleaseStatus, revision string) bool {
	return !same(revision, intent.UpdateRevision) && (intent.Rollback != nil || revision == w.Traffic.Canary.Revision || revision == w.Traffic.Second.Canary.Revision)
}

// percentOf returns how many of some pods a percentage is, rounded up.
func percentOf(pods, percent int32) int32 { return (pods*percent + 99) / 100 }

// borneShare returns that, or as much of it as the pods of the step bear that an old pod stays beside.
func borneShare(w *World, steps []v1alpha1.Step, index int, overload bool) int32 {
	share, replicas := shareOf(steps, index), w.Workload.Replicas
	_, unavailable := w.Workload.bounds(replicas)
	if index >= len(steps) || overload {
		return share
	}
	if pods, least := Target(steps[index], replicas), replicas-unavailable; pods == replicas-1 && pods < least {
		return min(share, 100*pods/least)
	}
	return share
}

func withinShare(w *World, c change) string {
	share, before, is := c.sharing()
	if !is {
		return ""
	}
	has := before.Shared || before.Held // a user has restored the route, and no pod is ready for its requests
	if has && share.Share.Weight <= before.Weight && (before.Matched || len(share.Share.Matches) == 0) {
		return "" // it gets no more than it has
	}
	most, matches, allowed := int32(0), false, allowedSteps(w, c.pass.intent)
	if c.pass.intent.Rollback == nil {
		for i := range allowed {
			most = max(most, shareOf(stepsOf(w, c.pass.intent), i))
			matches = matches || len(allowed[i].Matches) > 0
		}
	}
	switch {
	case share.Share.Weight > most:
		return fmt.Sprintf("at most %d%%", most)
	case len(share.Share.Matches) > 0 && !matches:
		return "no step asks for matches"
	default:
		return ""
	}
}

// comesShared: until all routes share requests, and their data planes do, a pod of the new version
// would get some as soon as it is ready. One more of a version that gets requests as it is to, and
// where somebody has applied a route again gets some by that, too, changes nothing.
func comesShared(w *World, c change) string {
	s, intent := c.grown(), c.pass.intent
	if s == nil || w.Traffic == nil || intent.Rollback != nil || !same(s.Revision, intent.UpdateRevision) || c.pass.release.Spec.Strategy.Traffic == nil {
		return ""
	}
	gets := slices.ContainsFunc(w.Traffic.Routes, func(r Route) bool { return r.Shared && (r.Weight > 0 || r.Matched) })
	if viewOfAll(w).Direct && !gets && !overtaken(c.pass, c.traffic) {
		return fmt.Sprintf("%s is raised to %d, and a route refers to the user's Service", s.Revision, s.Replicas)
	}
	return ""
}

func keepsSides(w *World, c change) string {
	a, _ := c.action.(plan.Traffic)
	point, is := a.Write.(traffic.PointSide)
	if !is {
		return ""
	}
	seen := c.seen.Stable
	if point.Name == traffic.CanarySide {
		seen = c.seen.Canary
	}
	for _, name := range w.Traffic.names(point.Name) {
		before := c.traffic.side(name)
		gets := c.view.by(name, before.Revision)
		if before.Made && before.Revision != point.Revision && seen.Ready > 0 && (gets.Percent > 0 || gets.Matched) {
			return fmt.Sprintf("%s gets %d%%", before.Revision, gets.Percent)
		}
	}
	return ""
}

func dropsUnused(_ *World, c change) string {
	a, _ := c.action.(plan.Traffic)
	if _, is := a.Write.(traffic.DropSides); is && len(c.view.Gets) > 0 && c.seen.Stable.Ready+c.seen.Canary.Ready > 0 {
		return fmt.Sprintf("%s still gets requests", c.view.Gets[0].Revision)
	}
	return ""
}

func leavesRoutes(w *World, c change) string {
	if w.Traffic == nil || !w.Traffic.held() {
		return ""
	}
	_, handsBack := c.action.(plan.HandBack)
	annotate, _ := c.action.(plan.Annotate)
	if handsBack || annotate.Finalizer != nil && !*annotate.Finalizer {
		return "a route is held"
	}
	return ""
}

// leavesServed: the native controller takes pods of one version away as soon as it has the
// workload.
func leavesServed(w *World, c change) string {
	_, handsBack := c.action.(plan.HandBack)
	if !handsBack || w.Traffic == nil || !w.Release.Deleting {
		return ""
	}
	for _, gets := range c.view.Gets {
		if gets.Revision != "" && !same(gets.Revision, c.pass.intent.StableRevision) { // a side that does not exist sends nobody to any pods
			return fmt.Sprintf("%s still gets requests", gets.Revision)
		}
	}
	return ""
}

// keepsOldPods: with keepOldPods all pods of the version before stay until the gates of the last
// step have passed.
func keepsOldPods(w *World, c change) string {
	s, spec, intent := c.shrunk(), c.pass.release.Spec.Strategy.Traffic, c.pass.intent
	if s == nil || spec == nil || !spec.KeepOldPods || intent.Rollback != nil || past(w).OutOfBand || !same(s.Revision, intent.StableRevision) {
		return ""
	}
	if side := w.Traffic.Stable; side.Made && !same(side.Revision, s.Revision) && viewOfAll(w).of(s.Revision).Percent == 0 {
		return "" // all requests had come to another version before this release, which serves in its place
	}
	if ending := intent.Traffic; ending != nil && ending.Ending != nil && stepsPassed(w, intent) == len(stepsOf(w, intent)) {
		return ""
	}
	if least := min(c.before(s), checkerOf(c.pass.world).window.least(w)); s.Replicas < least {
		return fmt.Sprintf("%d -> %d pods of %s, at least %d", c.before(s), s.Replicas, s.Revision, least)
	}
	return ""
}

func raisesNothing(_ *World, c change) string {
	share, before, is := c.sharing()
	if !is || !stopped(c.pass) || !before.Held && !before.Shared {
		return ""
	}
	if before.Shared && share.Share.Weight > before.Weight {
		return fmt.Sprintf("it had %d%%", before.Weight)
	}
	return ""
}

// mostServing returns how many pods there may be for the requests that versions get.
func (c change) mostServing() int32 {
	w := c.pass.world
	spec, status := c.pass.release.Spec.Strategy.Traffic, c.pass.intent
	if w.Traffic == nil || spec == nil || status.Rollback != nil {
		return 0
	}
	replicas, updated := checkerOf(c.pass.world).window.extreme(w, func(d *Workload) int32 { return d.Replicas }), c.share()
	beyond := past(w).OutOfBand // the native controller made pods of the new version, which stay
	if s := w.setOf(status.UpdateRevision); s != nil {
		beyond = beyond || c.before(s) > updated // the release began with them
		if beyond {
			updated = max(updated, c.before(s))
		}
	}
	if spec.KeepOldPods || overtaken(c.pass, c.traffic) {
		return updated + replicas
	}
	gets := max(viewOfAll(w).of(w.Traffic.Stable.Revision).Percent, 100-borneShare(w, stepsOf(w, status), int(status.CurrentStepIndex), spec.AllowOverload))
	if beyond && !w.Traffic.held() { // once old pods are back, the routes begin with all requests for them
		gets = 100
	}
	return updated + percentOf(replicas, gets)
}

// trafficLeft says what is missing of the clean end of the traffic; empty if nothing is.
func trafficLeft(w *World) string {
	if w.Traffic == nil {
		return ""
	}
	for i := range w.Traffic.Routes {
		if r := &w.Traffic.Routes[i]; r.Held || r.Shared {
			return r.Name + " is not what it was"
		}
	}
	if !w.Release.Purged && w.Traffic.made() {
		return "the Services of the sides are left"
	}
	return ""
}

// judgeReturn: once a pass of a rollback has nothing left to do, requests have gone back as far as
// the pods bear that are ready.
func judgeReturn(s *State) {
	status := s.Release.Status
	if s.Traffic == nil || status.Rollback == nil || status.Phase != v1alpha1.PhaseRollingBack || s.Release.Deleting || s.Lag.any() || !trafficSettled(s.World) || s.Traffic.Off {
		return
	}
	_, unavailable := s.Workload.bounds(s.Workload.Replicas)
	least, ready := s.Workload.Replicas-unavailable, s.Traffic.seenSide(traffic.StableSide).Ready
	if ready < max(least, 1) {
		return
	}
	for i := range s.Traffic.Routes {
		if r := &s.Traffic.Routes[i]; !r.Gone && r.Shared && (r.Weight > 0 || r.Matched) {
			s.breach("T8 requests go back at once in a rollback", fmt.Sprintf("%s gives %d%%", r.Name, r.Weight))
		}
	}
}

// untold reports whether the status of a route does not tell that it is as it is.
func (t *Traffic) untold() bool {
	return slices.ContainsFunc(t.Routes, func(r Route) bool { return !r.Gone && r.Told != r.Generation })
}

// settled reports whether nobody but the process and people has anything left to do for the
// traffic, apart from time.
func trafficSettled(w *World) bool {
	if w.Traffic == nil {
		return true
	}
	for _, name := range w.Traffic.sides() {
		if side := w.Traffic.side(name); side.Slices != endpointsOf(w, side) {
			return false
		}
	}
	return !slices.ContainsFunc(w.Traffic.Routes, func(r Route) bool { return r.follows() })
}

// of returns what a revision gets by both sides, of the requests to one of the user's Services.
func (v View) of(revision string) Gets {
	all, second := Gets{Revision: revision}, int32(0)
	for _, g := range v.Gets {
		if g.Revision != revision {
			continue
		}
		all.Matched = all.Matched || g.Matched
		if g.Side == secondStable || g.Side == secondCanary {
			second += g.Percent
		} else {
			all.Percent += g.Percent
		}
	}
	all.Percent = min(max(all.Percent, second), 100)
	return all
}

// by returns what a revision gets by one side.
func (v View) by(side traffic.SideName, revision string) Gets {
	for _, g := range v.Gets {
		if g.Side == side && g.Revision == revision {
			return g
		}
	}
	return Gets{Side: side, Revision: revision}
}

// viewOfAll returns who may get requests, by the routes or by what their data planes still go by.
func viewOfAll(w *World) View {
	var view View
	for i := range w.Traffic.Routes {
		view = view.and(viewOf(w, &w.Traffic.Routes[i]))
	}
	return view
}
