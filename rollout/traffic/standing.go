package traffic

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Standing is where the traffic of a release stands, and what is next.
type Standing struct {
	// Writes are next. Those of Raises give a version more than it has: they rest on a release that is read as it is.
	Writes []Write
	Raises bool
	// Held says that a route refers to the sides, and Shared that every route of the release does.
	Held, Shared bool
	// HoldsUp says that no pod of the version that is released, or rolled back to, may come yet: requests would reach it past the sides.
	HoldsUp bool
	// Done says that what the goal asks for is in effect.
	Done bool
	// Keep, Grow and Most are how many pods stay, come and may be (mover.Task).
	Keep, Grow map[string]int32
	Most       int32
	// Weight is what the canary side gets now, and Target what it is to get; Matches are how many are in effect.
	Weight, Target, Matches int32
	// Stable and Canary are the revisions of the sides.
	Stable, Canary string
	// Awaits is what has to come first; empty if nothing.
	Awaits v1alpha1.TrafficAwaited
	// Problem is what somebody has to fix; nil if nothing.
	Problem *v1alpha1.TrafficProblem
	// Wake is after how long to look again though nothing has changed; 0 is never.
	Wake time.Duration
}

// least is the smallest change of a share for which a route is written while more pods may be about to come, in percent.
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
	return n.Standing
}

// next is one decision.
type next struct {
	Standing
	goal Goal
	seen Seen
	// low and high are the least and the most that a route gives the canary side; they differ where a pass ended between two writes.
	low, high int32
	// matched says that a route gives it requests that match, and same that all routes share alike.
	matched, same bool
	matches       []v1alpha1.RequestMatch
	// whole says that all routes are as they were written, and inEffect that their status says so, too.
	whole, inEffect bool
	// strays says that a route refers to the sides that the release does not hold. Nobody knows what it gives them.
	strays bool
}

func newNext(g Goal, s Seen) *next {
	n := &next{goal: g, seen: s, same: true, whole: true, inEffect: true}
	n.Shared = s.Off == nil
	n.Stable, n.Canary = s.Stable.Revision, s.Canary.Revision
	for i := range s.Routes {
		r := &s.Routes[i]
		if r.Held {
			n.see(r)
		}
		n.strays = n.strays || r.Strays && s.Services
		n.Shared = n.Shared && (r.Held || !r.Named)
	}
	n.Weight, n.Matches, n.Problem = n.high, int32(len(n.matches)), n.problem()
	return n
}

// see takes in a route that is held.
func (n *next) see(r *Route) {
	share := r.Share
	if !n.Held {
		n.low, n.high, n.matches = share.Weight, share.Weight, share.Matches
	}
	n.same = n.same && share.Weight == n.low && share.Weight == n.high && equality.Semantic.DeepEqual(share.Matches, n.matches)
	n.low, n.high = min(n.low, share.Weight), max(n.high, share.Weight)
	n.matched = n.matched || len(share.Matches) > 0
	n.whole = n.whole && (r.Whole || !r.Named || r.Problem != nil)
	n.inEffect = n.inEffect && r.Whole && r.Accepted && r.Named
	n.Held = true
}

// problem is the first thing that somebody has to fix; nil if there is nothing.
func (n *next) problem() *v1alpha1.TrafficProblem {
	if n.seen.Off != nil {
		return n.seen.Off
	}
	for i := range n.seen.Routes {
		r := &n.seen.Routes[i]
		switch {
		case r.Problem != nil && (r.Named || r.Held):
			return r.Problem
		case r.Refused != nil && r.Named:
			return r.Refused
		}
	}
	if n.seen.Stable.Problem != nil {
		return n.seen.Stable.Problem
	}
	return n.seen.Canary.Problem
}

// awaits notes what has to come first, of several things the first.
func (n *next) awaits(what v1alpha1.TrafficAwaited) {
	if n.Awaits == "" {
		n.Awaits = what
	}
}

// has reports whether something has been so for long enough. If not, the next look is then.
func (n *next) has(been, enough time.Duration) bool {
	left := enough - been
	if left <= 0 {
		return true
	}
	if n.Wake == 0 || left < n.Wake {
		n.Wake = left
	}
	return false
}

func (n *next) write(w Write) { n.Writes = append(n.Writes, w) }

// leave gives the routes back at once. In the end nobody needs the Services: those that forward requests may do so for a moment.
func (n *next) leave() {
	if n.seen.Off != nil {
		return
	}
	for i := range n.seen.Routes {
		if r := &n.seen.Routes[i]; r.Held {
			n.write(RestoreRoute{r.TrafficRoute})
		}
	}
	switch {
	case n.Held:
		n.awaits(v1alpha1.AwaitedRoutes)
		n.keepSides()
	case !n.forgotten():
		n.awaits(v1alpha1.AwaitedDrain)
		n.keepSides()
	default:
		n.Done = true
		if n.goal.Way == Rest && n.seen.Services {
			n.write(DropSides{})
		}
	}
}

// forgotten reports whether nobody forwards requests to the Services any more, where no route is held.
func (n *next) forgotten() bool {
	return !n.strays && (!n.seen.Services || n.has(n.seen.InEffect, n.goal.DrainFor))
}

// share moves requests between the sides.
func (n *next) share() {
	switch {
	case n.seen.Off != nil:
		n.freeze()
		return
	case n.goal.Replicas == 0 && !n.Held:
		n.Done = true
		return
	case n.goal.Way == Back && !n.Held:
		if n.Done = n.seen.Canary.Empty || n.forgotten(); !n.Done {
			n.awaits(v1alpha1.AwaitedDrain)
			n.keepSides()
		}
		return
	case n.goal.Way == End && !n.Held:
		n.Done = !n.strays && n.has(n.seen.InEffect, n.goal.ReadyFor)
		if !n.Done {
			n.awaits(v1alpha1.AwaitedRoutes)
		}
		if n.strays {
			n.keepSides()
		}
		return
	}
	n.restoreUnnamed()
	n.Target = n.comesTo().Weight
	n.HoldsUp = n.holdsUp()
	switch {
	case n.pointSides():
	case n.restores():
	default:
		n.writeRoutes()
	}
	n.keep()
	n.Done = n.done()
}

// restoreUnnamed gives routes back that the release does not name any more.
func (n *next) restoreUnnamed() {
	for i := range n.seen.Routes {
		if r := &n.seen.Routes[i]; r.Held && !r.Named {
			n.write(RestoreRoute{r.TrafficRoute})
		}
	}
}

// aligned reports whether the canary side selects the version that is released.
func (n *next) aligned() bool {
	return n.seen.Canary.Made && n.seen.Canary.Revision == n.goal.Canary && n.seen.Stable.Revision != n.goal.Canary
}

// comesTo is the share that the release comes to.
func (n *next) comesTo() Share {
	switch {
	case n.goal.Way == Back:
		return Share{}
	case n.goal.Way == Stand:
		return Share{Weight: n.high, Matches: n.matches}
	case n.Held && !n.aligned():
		return Share{} // the canary side selects a version that is not released any more
	default:
		return n.goal.Share
	}
}

// holdsUp reports whether pods of the version that is released have to wait: until routes that share requests are in effect, a pod that is
// ready gets some by the user's Service. Where the Service of their own can't be made, they would come for nothing.
func (n *next) holdsUp() bool {
	if n.goal.Replicas == 0 {
		return false
	}
	switch n.goal.Way {
	case Forward, Stand:
		return !n.Shared || !n.seen.Canary.Made || n.nothing() && (!n.inEffect || !n.has(n.seen.InEffect, n.goal.ReadyFor))
	case Back: // to a version that is not a side: once the routes are given back, it comes as without traffic
		return n.Held && n.seen.Stable.Revision != n.goal.Stable
	case End, Leave, Rest:
	}
	return false
}

// drained reports whether what is in effect has been so for long enough that nobody is sent elsewhere any more.
func (n *next) drained() bool {
	return n.inEffect && !n.strays && len(n.Writes) == 0 && n.has(n.seen.InEffect, max(n.goal.DrainFor, n.goal.ReadyFor))
}

// nothing reports whether the canary side gets no requests.
func (n *next) nothing() bool { return n.high == 0 && !n.matched }

// pointSides has the sides select their versions. It reports whether that is to be done first.
func (n *next) pointSides() bool {
	before := len(n.Writes)
	if n.goal.Way == Stand && n.Held || n.goal.Way == End {
		return false
	}
	if side, revision := &n.seen.Stable, n.serves(); side.Problem == nil && (!side.Made || side.Revision != revision) {
		if n.isForwarded(side) {
			return true
		}
		n.write(PointSide{StableSide, revision})
	}
	if side := &n.seen.Canary; n.goal.Way != Back && side.Problem == nil && (!side.Made || side.Revision != n.goal.Canary) {
		switch {
		case n.isForwarded(side):
			return true
		case n.Held && !n.nothing() && side.Revision != "":
		case n.Held && !n.drained():
			n.awaits(v1alpha1.AwaitedDrain)
		default:
			n.write(PointSide{CanarySide, n.goal.Canary})
		}
	}
	if len(n.Writes) > before {
		n.awaits(v1alpha1.AwaitedServices)
	}
	return len(n.Writes) > before
}

// isForwarded reports whether a side may still get requests by routes that were given back.
func (n *next) isForwarded(side *Side) bool {
	if n.Held || !side.Made || n.forgotten() {
		return false
	}
	n.awaits(v1alpha1.AwaitedDrain)
	return true
}

// serves is the revision that the stable side is to select: that of the version that serves, which is the one that the release began with,
// unless all requests have come to another one meanwhile.
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
	case n.goal.Way == Back && n.low == all && stable.Ready == 0:
		return n.goal.Stable // nobody is sent there yet
	case n.goal.Way == Forward && n.low == all && stable.Ready == 0 && third:
		return canary.Revision
	case n.goal.Lost && stable.Ready == 0:
		return n.goal.Stable
	default:
		return stable.Revision
	}
}

// restores gives the routes back once one version alone has pods. It reports whether it does.
func (n *next) restores() bool {
	end := n.goal.Way == End && n.low == all && n.goal.Alone && n.seen.Stable.Empty
	left := n.seen.Canary.Empty || !n.seen.Canary.Made // which somebody has deleted
	back := n.goal.Way == Back && n.nothing() && left && (n.goal.Alone || n.seen.Stable.Revision != n.goal.Stable)
	empty := n.goal.Replicas == 0 && (n.goal.Way == End || n.goal.Way == Back)
	switch {
	case empty:
	case !end && !back, !n.whole:
		return false // what somebody has changed is first as it was, so that all routes are in effect together
	case !n.drained():
		n.awaits(v1alpha1.AwaitedDrain)
		return true
	}
	for i := range n.seen.Routes {
		if r := &n.seen.Routes[i]; r.Held && r.Named {
			n.write(RestoreRoute{r.TrafficRoute})
		}
	}
	n.awaits(v1alpha1.AwaitedRoutes)
	return true
}

// writeRoutes has the routes share requests as they may now.
func (n *next) writeRoutes() {
	share := n.may()
	n.Raises = share.Weight > n.low || len(share.Matches) > 0 && !equality.Semantic.DeepEqual(share.Matches, n.matches)
	for i := range n.seen.Routes {
		r := &n.seen.Routes[i]
		if !r.Named || r.Problem != nil || r.Held && r.Whole && sameShare(r.Share, share) {
			continue
		}
		if !n.served(r, share) || !r.Held && !n.mayBegin() {
			continue
		}
		n.write(ShareRoute{r.TrafficRoute, share})
	}
	switch {
	case len(n.Writes) > 0 || n.Shared && !n.inEffect:
		n.awaits(v1alpha1.AwaitedRoutes)
	case n.Shared && !n.has(n.seen.InEffect, n.goal.ReadyFor):
		n.awaits(v1alpha1.AwaitedRoutes)
	}
}

func sameShare(a, b Share) bool {
	return a.Weight == b.Weight && equality.Semantic.DeepEqual(a.Matches, b.Matches)
}

// served reports whether a side that gets more by a share than by a route has endpoints that are ready. Where no pod is ready at all, nobody
// loses an answer.
func (n *next) served(r *Route, share Share) bool {
	has := Share{Weight: all}
	if r.Held && r.Whole {
		has = r.Share
	}
	more := share.Weight < has.Weight && n.seen.Stable.Ready == 0
	if !r.Held || !r.Whole {
		has = Share{}
	}
	more = more || (share.Weight > has.Weight || len(share.Matches) > len(has.Matches)) && n.seen.Canary.Ready == 0
	if more && n.goal.Ready > 0 {
		n.awaits(v1alpha1.AwaitedEndpoints)
		return false
	}
	return true
}

// mayBegin reports whether the stable side can take all requests: until now the pods of all versions that are ready have had them.
func (n *next) mayBegin() bool {
	stable := &n.seen.Stable
	if stable.Ready < min(max(n.goal.Least, 1), n.goal.Ready) || !n.has(stable.Steady, n.goal.ReadyFor) {
		n.awaits(v1alpha1.AwaitedEndpoints)
		return false
	}
	return true
}

// may is how requests may be shared now.
func (n *next) may() Share {
	goal, now := n.comesTo(), Share{Weight: n.high, Matches: n.matches}
	canary, stable := &n.seen.Canary, &n.seen.Stable
	switch {
	case !n.nothing() && canary.Ready == 0 && stable.Ready > 0:
		n.awaits(v1alpha1.AwaitedEndpoints)
		return Share{} // nobody answers there
	case sameShare(goal, now):
		return now
	case goal.Weight < n.high || goal.Weight == n.high && len(goal.Matches) == 0: // what has no matches gives them up, and waits for no pods
		return n.lowered(goal)
	case n.goal.Way == Forward && !n.goal.Available:
		return now // its pods come first
	case canary.Ready < max(n.goal.Pods, 1) || !n.has(canary.Steady, n.goal.ReadyFor):
		n.awaits(v1alpha1.AwaitedEndpoints)
		return now
	case !n.goal.Overload && !bears(max(canary.Ready, n.goal.Worth), goal.Weight, n.goal.Least):
		n.awaits(v1alpha1.AwaitedCapacity)
		return now
	default:
		return goal
	}
}

// bears reports whether so many pods are enough for a share.
func bears(pods, weight, least int32) bool { return int64(pods)*all >= int64(weight)*int64(least) }

// lowered is how far requests may go back now: as far as the pods of the stable side are enough. More come, which is why a small
// change waits for a moment.
func (n *next) lowered(goal Share) Share {
	stable, most := &n.seen.Stable, int64(all)
	switch {
	case stable.Ready == 0:
		n.awaits(v1alpha1.AwaitedEndpoints)
		return Share{Weight: n.high, Matches: n.matches}
	case !n.goal.Overload && n.goal.Least > 0:
		least := int64(n.goal.Least)
		most = (int64(stable.Ready)*all + least - 1) / least
	}
	to := max(goal.Weight, int32(max(all-most, 0)))
	switch {
	case to == goal.Weight:
		return goal
	case to >= n.high, n.high-to < leastChange && !n.has(stable.Steady, n.goal.ReadyFor):
		to = n.high
	}
	n.awaits(v1alpha1.AwaitedCapacity)
	return Share{Weight: to, Matches: goal.Matches}
}

// done reports whether what the goal asks for is in effect.
func (n *next) done() bool {
	switch {
	case n.Problem != nil || len(n.Writes) > 0 || n.goal.Way == End:
		return false
	case n.goal.Replicas == 0:
		return true
	case !n.Shared || !n.same || !n.inEffect || !n.has(n.seen.InEffect, n.goal.ReadyFor):
		return false
	case n.goal.Way == Forward && !n.aligned():
		return sameSides(n) && n.nothing()
	case n.goal.Way == Back && n.seen.Stable.Revision == n.goal.Stable && n.goal.Available && n.seen.Stable.Ready >= n.goal.Pods:
		return true // as far as the pods of the step bear
	default:
		return sameShare(Share{n.high, n.matches}, n.comesTo())
	}
}

// sameSides reports whether what is released is what the stable side serves already.
func sameSides(n *next) bool { return n.seen.Stable.Revision == n.goal.Canary }
