package traffic

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Standing holds the state of a release's traffic, and the next writes.
type Standing struct {
	// Writes to make next. With Raises they give a version more than it has, and depend on a release
	// that is read as it is.
	Writes []Write
	Raises bool
	// Repairs are writes that put back what was so before. They come first, and nothing else depends
	// on them.
	Repairs []Write
	// Held says that a route refers to the sides, and Shared that every route of the release does.
	Held, Shared bool
	// HoldsUp says that no pod of the version that is released, or rolled back to, may come yet:
	// requests would reach it past the sides.
	HoldsUp bool
	// Done says that what the goal asks for is in effect.
	Done bool
	// Keep, KeepAll, Grow and Most are how many pods stay, come and may be (mover.Task).
	Keep, Grow map[string]int32
	KeepAll    bool
	Most       int32
	// Weight of the canary side now, and the Target; Matches counts the matches in effect.
	Weight, Target, Matches int32
	// Stable and Canary are the revisions of the sides.
	Stable, Canary string
	// Awaits names the condition that has to come first; empty if there is none.
	Awaits v1alpha1.TrafficAwaited
	// Pending are those whose status for a route is not about the route as it is now, and GivesUp is
	// after how long they are waited for no more; 0 is never. GaveUp says that what is Done, or
	// written, is so without them.
	Pending []string
	GivesUp time.Duration
	GaveUp  bool
	// Route or Service is the first one that is awaited; neither if something else is.
	Route   *v1alpha1.TrafficRoute
	Service string
	// Problem for a user to fix; nil if there is none.
	Problem *v1alpha1.TrafficProblem
	// Wake is after how long to look again though nothing has changed; 0 is never.
	Wake time.Duration
	// Timed is how much is left of a time that the goal says to wait for, where nothing else is waited
	// for; 0 is none.
	Timed time.Duration
}

// leastChange is the smallest change of a share for which a route is written while more pods may be
// about to come, in percent.
const leastChange = 10

const all = 100

// Next says where the traffic stands, and what is next.
func Next(g Goal, s Seen) Standing {
	n := newNext(g, s)
	switch g.Way {
	case Leave, Rest:
		n.leave()
	case Forward, Stand, Back, End:
		n.share()
	}
	n.Timed = timeLeft(n)
	if s.Off == nil { // nothing waits for routes that are abandoned
		n.restoreRoutes(n.waits.abandons)
	}
	w := &n.waits
	n.Awaits, n.Route, n.Service, n.Wake, n.GivesUp, n.GaveUp = w.what, w.route, w.service, w.wake, w.givesUp, w.gaveUp
	return n.Standing
}

// next is one decision.
type next struct {
	Standing
	goal   Goal
	seen   Seen
	shares shares
	waits  waits
	// repairing marks a decision that puts sides back before anything else.
	repairing bool
	// begins counts the pods that the stable side needs before a route can begin to share requests; 0
	// if they are ready.
	begins int32
}

// shares holds how the routes that the release holds share requests, all together.
type shares struct {
	// low and high are the least and the most that a route gives the canary side; they differ where a
	// pass ended between two writes.
	low, high int32
	// matched marks a route that gives it requests that match, and same routes that all share alike.
	// The first route has the matches, and all routes have the agreed ones.
	matched, same   bool
	matches, agreed []v1alpha1.RequestMatch
	// whole marks routes that are all as they were written, and inEffect routes whose status confirms
	// it.
	whole, inEffect bool
	// told marks routes, held or not, whose status is about each of them as it is.
	told bool
	// strays marks a route that refers to the sides without being held by the release. Its weight is
	// unknown.
	strays bool
}

// nothing reports whether the canary side gets no requests.
func (s *shares) nothing() bool { return s.high == 0 && !s.matched }

// waits collects what a decision waits for, and for how long.
type waits struct {
	goal   *Goal
	seen   *Seen
	shares *shares
	// These become Awaits, Route, Service, Wake, Timed, GivesUp and GaveUp of the Standing.
	what                 v1alpha1.TrafficAwaited
	route                *v1alpha1.TrafficRoute
	service              string
	wake, timed, givesUp time.Duration
	gaveUp               bool
	// untimed marks a wait for something that no time of the goal brings.
	untimed bool
}

func newNext(g Goal, s Seen) *next {
	if s.Stage != g.Stage { // which has begun since
		s.Unchanged = 0
	}
	n := &next{goal: g, seen: s, shares: shares{same: true, whole: true, inEffect: true, told: true}}
	n.waits = waits{goal: &n.goal, seen: &n.seen, shares: &n.shares}
	n.Shared = s.Off == nil
	n.Stable, n.Canary = s.Stable.Revision, s.Canary.Revision
	for i := range s.Routes {
		r := &s.Routes[i]
		if r.Held && !n.waits.abandons(r) {
			n.shares.add(r, !n.Held)
			n.Held = true
		}
		n.hear(r)
		n.shares.strays = n.shares.strays || r.Strays && s.Services && !n.waits.abandons(r)
		n.Shared = n.Shared && (r.Held || !r.Named)
	}
	n.Weight, n.Matches, n.Problem = n.shares.high, int32(len(n.shares.matches)), n.problem()
	return n
}

// add adds a route that is held, the first or a further one.
func (s *shares) add(r *Route, first bool) {
	share := r.Share
	if first {
		s.low, s.high, s.matches, s.agreed = share.Weight, share.Weight, share.Matches, share.Matches
	}
	if !equality.Semantic.DeepEqual(share.Matches, s.agreed) {
		s.agreed = nil
	}
	s.same = s.same && share.Weight == s.low && share.Weight == s.high && equality.Semantic.DeepEqual(share.Matches, s.matches)
	s.low, s.high = min(s.low, share.Weight), max(s.high, share.Weight)
	s.matched = s.matched || len(share.Matches) > 0
	s.whole = s.whole && (r.Whole || !r.Named || r.Problem != nil)
	s.inEffect = s.inEffect && r.Whole && r.Named
}

// problem returns the first thing that somebody has to fix; nil if there is nothing.
func (n *next) problem() *v1alpha1.TrafficProblem {
	if n.seen.Off != nil {
		return n.seen.Off
	}
	for i := range n.seen.Routes {
		r := &n.seen.Routes[i]
		switch {
		case n.goal.Way == Rest && !r.Held && !r.Strays: // nothing is to be shared
		case r.Problem != nil && (r.Named || r.Held):
			return r.Problem
		case r.Refused != nil && r.Named:
			return r.Refused
		}
	}
	if n.goal.Way == Rest {
		return nil
	}
	if n.seen.Stable.Problem != nil {
		return n.seen.Stable.Problem
	}
	return n.seen.Canary.Problem
}

func (n *next) write(w Write) { n.Writes = append(n.Writes, w) }

// leave gives the routes back at once. The Services stay for a moment, since data planes may still
// use them.
func (n *next) leave() {
	if n.seen.Off != nil {
		keepAll(n)
		return
	}
	n.restoreRoutes(func(r *Route) bool { return !n.waits.abandons(r) })
	switch {
	case n.Held:
		n.waits.awaitsRoute(func(r *Route) bool { return r.Held })
		keepSides(n)
	case !n.forgotten():
		n.waits.awaits(v1alpha1.AwaitedDrain)
		keepSides(n)
	default:
		n.Done = true
		if n.goal.Way == Rest && n.seen.Services {
			n.write(DropSides{})
		}
	}
}

// stableIsGone reports whether the stable side's version is gone for good, as after a user unpaused
// a workload without history. All requests then go to the new version.
func stableIsGone(n *next) bool {
	return n.goal.Lost && n.goal.Alone && n.seen.Stable.Ready == 0 && n.seen.Stable.Revision == n.goal.Stable
}

// forgotten reports whether nobody forwards requests to the Services any more, where no route is
// held.
func (n *next) forgotten() bool {
	return !n.shares.strays && (!n.seen.Services || n.waits.observedFor(n.goal.DrainFor))
}

// share moves requests between the sides.
func (n *next) share() {
	switch {
	case n.seen.Off != nil:
		keepAll(n)
		return
	case n.goal.Replicas == 0 && !n.Held:
		n.Done = true
		return
	case n.goal.Way == Forward && !n.Held && stableIsGone(n):
		n.Done = true
		return
	case n.goal.Way == Back && !n.Held:
		if n.Done = n.seen.Canary.Empty && n.seen.Stable.Revision == n.goal.Stable || n.forgotten(); !n.Done {
			n.waits.awaits(v1alpha1.AwaitedDrain)
			keepSides(n)
		}
		return
	case n.goal.Way == End && !n.Held:
		n.Done = !n.shares.strays && n.waits.inEffectFor(n.goal.ReadyFor)
		if !n.Done {
			n.waits.awaitsRoute(func(r *Route) bool { return r.Strays })
		}
		if n.shares.strays {
			keepSides(n)
		}
		return
	}
	n.restoreRoutes(func(r *Route) bool { return !r.Named && !n.waits.abandons(r) })
	n.Target = n.comesTo().Weight
	n.HoldsUp = n.holdsUp()
	switch {
	case n.repairs():
	case n.pointSides():
	case n.restores():
	default:
		n.writeRoutes()
	}
	keepPods(n)
	n.Done = n.done()
}

// restoreRoutes gives routes of the release back.
func (n *next) restoreRoutes(which func(*Route) bool) {
	for i := range n.seen.Routes {
		if r := &n.seen.Routes[i]; r.Held && which(r) {
			n.write(RestoreRoute{r.TrafficRoute})
		}
	}
}

// aligned reports whether the canary side selects the version that is released.
func (n *next) aligned() bool {
	return n.seen.Canary.Made && n.seen.Canary.Revision == n.goal.Canary && n.seen.Stable.Revision != n.goal.Canary
}

// comesTo returns the share that the release comes to.
func (n *next) comesTo() Share {
	switch {
	case n.goal.Way == Back:
		return Share{}
	case n.goal.Way == Stand: // what one route gives, which may be somebody's who has changed it, no other comes to give
		return Share{Weight: min(n.shares.low, n.fits()), Matches: n.shares.agreed}
	case n.Held && !n.aligned():
		return Share{} // the canary side selects a version that is not released any more
	default:
		return n.goal.Share
	}
}

// comesToNothing reports whether the canary side comes to get no requests.
func (n *next) comesToNothing() bool {
	to := n.comesTo()
	return to.Weight == 0 && len(to.Matches) == 0
}

// holdsUp reports whether pods of the version that is released have to wait: until routes that
// share requests are in effect, whoever wrote them, a pod that is ready gets some by the user's
// Service. Where the Service of their own can't be made, they would come for nothing.
func (n *next) holdsUp() bool {
	if n.goal.Replicas == 0 {
		return false
	}
	switch n.goal.Way {
	case Forward, Stand:
		none := n.shares.nothing() || n.comesToNothing()
		return !n.Shared || !n.seen.Canary.Made || none && !n.waits.inEffectFor(n.goal.ReadyFor)
	case Back: // to a version that is not a side: once the routes are given back, it comes as without traffic
		return n.Held && n.seen.Stable.Revision != n.goal.Stable
	case End, Leave, Rest:
	}
	return false
}

// drained reports whether what is in effect has been so for long enough that nobody is sent
// elsewhere any more.
func (n *next) drained() bool {
	return !n.shares.strays && len(n.Writes) == 0 && n.waits.inEffectFor(max(n.goal.DrainFor, n.goal.ReadyFor))
}

// pointSides has the sides select their versions. It reports whether that is to be done first.
// Where requests stay as they are, only what is lost is put back.
func (n *next) pointSides() bool {
	before, stays := len(n.Writes), n.goal.Way == Stand && n.Held || n.goal.Way == End
	wrong := func(side *Side, revision string) bool {
		lost := !side.Made || side.Revision == ""
		return side.Problem == nil && (lost || side.Revision != revision && !stays)
	}
	if side, revision := &n.seen.Stable, n.serves(); wrong(side, revision) {
		if n.isForwarded(side) {
			return true
		}
		n.write(PointSide{StableSide, revision})
	}
	if side := &n.seen.Canary; n.goal.Way != Back && wrong(side, n.goal.Canary) {
		switch {
		case n.isForwarded(side):
			return true
		case n.Held && !n.shares.nothing() && side.Revision != "":
		case n.Held && !n.drained():
			n.waits.awaits(v1alpha1.AwaitedDrain)
		default:
			n.write(PointSide{CanarySide, n.goal.Canary})
		}
	}
	if len(n.Writes) > before {
		n.waits.awaits(v1alpha1.AwaitedServices)
	}
	return len(n.Writes) > before
}

// isForwarded reports whether a side may still get requests by routes that were given back.
func (n *next) isForwarded(side *Side) bool {
	if n.Held || !side.Made || n.forgotten() {
		return false
	}
	n.waits.awaits(v1alpha1.AwaitedDrain)
	return true
}

// serves returns the revision that the stable side is to select: that of the version that serves,
// which is the one that the release began with, unless all requests have come to another one
// meanwhile.
func (n *next) serves() string {
	stable, canary := &n.seen.Stable, &n.seen.Canary
	third := canary.Ready > 0 && canary.Revision != n.goal.Canary
	switch {
	case stable.Revision == "":
		return n.goal.Stable
	case !n.Held && stable.Revision == n.goal.Stable && stable.Ready == 0 && third && n.goal.Way == Forward:
		return canary.Revision // the routes were given back at the end of its release, which another one takes the place of
	case !n.Held && (stable.Ready == 0 || stable.Revision == n.goal.Canary):
		return n.goal.Stable
	case !n.Held:
		return stable.Revision
	case n.goal.Way == Back && n.shares.low == all && stable.Ready == 0:
		return n.goal.Stable // nobody is sent there yet
	case n.goal.Way == Forward && n.shares.low == all && stable.Ready == 0 && third:
		return canary.Revision
	case n.goal.Lost && stable.Ready == 0:
		return n.goal.Stable
	default:
		return stable.Revision
	}
}

// restores gives the routes back once one version alone has pods. It reports whether it does.
func (n *next) restores() bool {
	end := n.goal.Way == End && n.goal.Alone && (n.shares.low == all && n.seen.Stable.left() || sameSides(n) && n.shares.nothing())
	left := n.seen.Canary.left()
	back := n.goal.Way == Back && n.shares.nothing() && left && (n.goal.Alone || n.seen.Stable.Revision != n.goal.Stable)
	empty := n.goal.Replicas == 0 && (n.goal.Way == End || n.goal.Way == Back)
	switch {
	case empty:
	case !end && !back, !n.shares.whole:
		return false // what somebody has changed is first as it was, so that all routes are in effect together
	case !n.drained():
		n.waits.awaits(v1alpha1.AwaitedDrain)
		return true
	}
	n.restoreRoutes(func(r *Route) bool { return r.Named && !n.waits.abandons(r) })
	n.waits.awaitsRoute(func(r *Route) bool { return r.Held && r.Named })
	return true
}

// done reports whether what the goal asks for is in effect.
func (n *next) done() bool {
	switch {
	case n.Problem != nil && n.goal.Way != Back || n.repairing || len(n.Writes) > 0 || n.goal.Way == End:
		return false
	case n.goal.Replicas == 0:
		return true
	case !n.allShare() || !n.waits.inEffectFor(n.goal.ReadyFor):
		return false
	case n.goal.Way == Back && n.seen.Stable.Revision == n.goal.Stable && n.goal.Available && n.seen.Stable.Ready >= n.goal.Pods:
		return true // as far as the pods of the step bear
	case n.goal.Way == Forward && !n.aligned():
		return sameSides(n) && n.shares.nothing()
	default:
		return n.shares.same && sameShare(Share{n.shares.high, n.shares.matches}, n.comesTo())
	}
}

// sameSides reports whether the stable side already serves the released revision.
func sameSides(n *next) bool { return n.seen.Stable.Revision == n.goal.Canary }
