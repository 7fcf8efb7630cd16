package traffic

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// writeRoutes has the routes share requests as they may now.
func (n *next) writeRoutes() {
	may := n.may()
	n.Raises = may.Weight > n.shares.low || len(may.Matches) > 0 && !equality.Semantic.DeepEqual(may.Matches, n.shares.matches)
	for i := range n.seen.Routes {
		r := &n.seen.Routes[i]
		share := n.by(r, may)
		if !r.Named || r.Problem != nil && !r.mayFall(share) || r.Held && r.Whole && sameShare(r.Share, share) {
			continue
		}
		if !n.served(r, share) || !r.Held && !n.mayBegin(share.Weight) {
			continue
		}
		n.write(ShareRoute{r.TrafficRoute, share})
	}
	if len(n.Writes) > 0 || n.Shared && !n.waits.inEffectFor(n.goal.ReadyFor) {
		n.waits.awaitsRoute(func(r *Route) bool {
			return !r.Held || !r.Whole || !r.Accepted || r.Named && !sameShare(r.Share, n.by(r, may))
		})
	}
}

// by returns how a route may share requests. Where no pod is ready at all, it gives the canary side
// no more than it does: the stable pods may be ready first. They may be gone where that side gets
// all requests.
func (n *next) by(r *Route, may Share) Share {
	share := n.beside(r, may)
	if n.goal.Ready > 0 || share.Weight == all {
		return share
	}
	has := int32(0)
	if r.Held {
		has = r.Share.Weight
	}
	share.Weight = min(share.Weight, has)
	return share
}

// beside returns how a route may share requests beside the others. While they wait, or go back in
// parts, none gives the canary side more because another one does, which may be somebody's who has
// changed it.
func (n *next) beside(r *Route, may Share) Share {
	goal := n.comesTo()
	switch {
	case sameShare(may, goal), !r.Held && may.Weight <= goal.Weight:
		return may
	case !r.Held: // or a route that somebody shares for themselves would have all others give more than the step
		return goal
	case sameShare(may, Share{n.shares.high, n.shares.matches}):
		return r.Share
	default:
		return Share{Weight: min(may.Weight, max(r.Share.Weight, goal.Weight)), Matches: may.Matches}
	}
}

func sameShare(a, b Share) bool {
	return a.Weight == b.Weight && equality.Semantic.DeepEqual(a.Matches, b.Matches)
}

// served reports whether a side that gets more by a share than by a route has endpoints that are
// ready. Where no pod is ready at all, nobody loses an answer.
func (n *next) served(r *Route, share Share) bool {
	has := Share{Weight: all}
	if r.Held && r.Whole {
		has = r.Share
	}
	toStable := share.Weight < has.Weight && n.seen.Stable.Ready == 0
	if !r.Held || !r.Whole {
		has = Share{}
	}
	toCanary := (share.Weight > has.Weight || len(share.Matches) > len(has.Matches)) && n.seen.Canary.Ready == 0
	switch {
	case n.goal.Ready == 0:
		return true
	case toStable:
		n.waits.awaitsEndpoints(&n.seen.Stable)
	case toCanary:
		n.waits.awaitsEndpoints(&n.seen.Canary)
	}
	return !toStable && !toCanary
}

// mayBegin reports whether the stable side can take its share of a route: until now the pods of all
// versions that are ready have had its requests. While a release stands, none begins with more than
// the step says: another may give that only because somebody has shared it so.
func (n *next) mayBegin(weight int32) bool {
	if n.goal.Way == Stand && weight > n.goal.Share.Weight {
		return false
	}
	least := min(max(PartOf(n.goal.Least, all-weight), 1), n.goal.Ready)
	if weight < all && n.seen.Stable.Ready < least {
		n.begins = PartOf(n.goal.Replicas, all-weight)
	}
	return weight == all || n.waits.steady(&n.seen.Stable, least)
}

// may returns how requests may be shared now.
func (n *next) may() Share {
	goal, now := n.comesTo(), Share{Weight: n.shares.high, Matches: n.shares.matches}
	if n.goal.Stuck {
		goal.Weight = min(goal.Weight, n.fits())
	}
	canary, stable := &n.seen.Canary, &n.seen.Stable
	switch {
	case !n.shares.nothing() && canary.Ready == 0 && stable.Ready > 0:
		n.waits.awaitsEndpoints(canary)
		return Share{} // nobody answers there
	case sameShare(goal, now):
		return now
	case goal.Weight < n.shares.high || goal.Weight == n.shares.high && len(goal.Matches) == 0: // what has no matches gives them up, and waits for no pods
		return n.lowered(goal)
	case n.Problem != nil: // requests move only where all can
		return now
	case n.goal.Way == Forward && !n.goal.Available:
		return now // its pods come first
	case !n.waits.steady(canary, max(n.goal.Pods, 1)):
		return now
	case !n.goal.Overload && !bears(max(canary.Ready, n.goal.Worth), goal.Weight, n.goal.Least):
		n.waits.awaits(v1alpha1.AwaitedCapacity)
		if n.fits() < n.shares.high { // the workload was scaled up since, and the step asks for a number of pods
			return n.lowered(Share{Weight: n.fits(), Matches: n.shares.matches})
		}
		return now
	default:
		return goal
	}
}

// bears reports whether so many pods are enough for a share.
func bears(pods, weight, least int32) bool { return int64(pods)*all >= int64(weight)*int64(least) }

// fits returns the percentage of the requests that the canary's pods are enough for once those have
// come that the step lets come. Of a version that gets no more pods, or for which more are refused,
// those count that are ready.
func (n *next) fits() int32 {
	pods := max(n.goal.Pods, n.goal.Worth)
	if n.goal.Stuck || !n.aligned() {
		pods = n.seen.Canary.Ready
	}
	return n.goal.Fits(pods)
}

// Fits returns the percentage of the requests that so many pods are enough for.
func (g *Goal) Fits(pods int32) int32 {
	if g.Overload || bears(pods, all, g.Least) {
		return all
	}
	return int32(int64(pods) * all / int64(g.Least))
}

// lowered returns how far requests may go back now: as far as the pods of the stable side are
// enough. More pods come, so a small change waits for a moment.
func (n *next) lowered(goal Share) Share {
	stable, most := &n.seen.Stable, int64(all)
	switch {
	case goal.Weight == all: // requests that match stay where they are, without a rule of their own
		return goal
	case stable.Ready == 0:
		n.waits.awaitsEndpoints(stable)
		return Share{Weight: n.shares.high, Matches: n.shares.matches}
	case !n.goal.Overload && n.goal.Least > 0:
		least := int64(n.goal.Least)
		most = (int64(stable.Ready)*all + least - 1) / least
	}
	to := max(goal.Weight, int32(max(all-most, 0)))
	switch {
	case to == goal.Weight:
		return goal
	case to >= n.shares.high, n.shares.high-to < leastChange && !n.waits.has(stable.Steady, n.goal.ReadyFor):
		to = n.shares.high
	}
	n.waits.awaits(v1alpha1.AwaitedCapacity)
	return Share{Weight: to, Matches: goal.Matches}
}
