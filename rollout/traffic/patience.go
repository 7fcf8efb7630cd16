package traffic

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// observed reports whether the status of a route is about the route as it is.
func (r *Route) observed() bool { return r.Accepted || r.Observed }

// follows reports whether the status of a route says enough. Where requests are taken away, or
// routes given back, reading the route is enough: a Gateway that can't find another backend of it
// still treats the sides as it says.
func (n *next) follows(r *Route) bool { return r.Accepted || r.Observed && n.goal.Way.bounded() }

// hear notes whose word on a route as it is now is missing.
func (n *next) hear(r *Route) {
	n.told, n.inEffect = n.told && r.observed(), n.inEffect && n.follows(r)
	if n.follows(r) {
		return
	}
	for _, who := range r.Pending {
		n.Pending = append(n.Pending, Words(r.TrafficRoute)+": "+who)
	}
}

// inEffectFor reports whether the routes are in effect as they are, and have been for long enough.
// Where the way is bounded they are taken for that once they have been as they are for as long as
// their status is waited for, and as long again as that would have been enough.
func (n *next) inEffectFor(enough time.Duration) bool {
	been := n.seen.InEffect
	if n.goal.Way.bounded() {
		been = max(been, n.seen.Observed)
	}
	return n.beenFor(n.inEffect && n.told, been, enough)
}

// observedFor reports whether the routes were read as they are, and have been for long enough: from
// then on no data plane sends requests elsewhere.
func (n *next) observedFor(enough time.Duration) bool {
	return n.beenFor(n.told, max(n.seen.InEffect, n.seen.Observed), enough)
}

// beenFor reports whether what the status of routes has told of has been so for long enough, or is
// waited for no more.
func (n *next) beenFor(told bool, been, enough time.Duration) bool {
	if told && n.has(been, enough) || n.waitedFor(enough) {
		return true
	}
	n.lacksTime(told, been, enough)
	return false
}

// waitedFor reports whether a way that is bounded has waited for as long as it does.
func (n *next) waitedFor(enough time.Duration) bool {
	if !n.goal.Way.bounded() {
		return false
	}
	late := n.has(n.seen.Unchanged, n.goal.Patience+enough)
	n.GaveUp = n.GaveUp || late && !n.told
	if left := n.goal.Patience + enough - n.seen.Unchanged; !late && !n.told && (n.GivesUp == 0 || left > n.GivesUp) {
		n.GivesUp = left
	}
	return late
}

// abandons reports whether a route of another namespace that has not consented is given back, where
// anybody can tell what it was, and waited for no more: anyone who may write to it could keep a
// release there for ever.
func (n *next) abandons(r *Route) bool {
	return (r.Held || r.Strays) && r.Ungranted && n.goal.Way.bounded() && n.has(n.seen.Unchanged, n.goal.Patience)
}

// restoreAbandoned gives such routes back. Nothing waits for these writes.
func (n *next) restoreAbandoned() {
	for i := range n.seen.Routes {
		if r := &n.seen.Routes[i]; n.seen.Off == nil && r.Held && n.abandons(r) {
			n.write(RestoreRoute{r.TrafficRoute})
		}
	}
}

// mayFall reports whether a share gives the canary side no more than a route that may not be shared
// any more for want of consent. A route that a user has changed stays as it is.
func (r *Route) mayFall(share Share) bool {
	return r.Ungranted && r.Problem.Type == v1alpha1.TrafficNotGranted && r.Held && r.Whole && share.Weight <= r.Share.Weight &&
		(len(share.Matches) == 0 || equality.Semantic.DeepEqual(share.Matches, r.Share.Matches))
}

// allShare reports whether all routes of the release share requests. On the way back a route may be
// missing: it can't or may not be shared, or a user has given it back and it waits for more pods.
// Its weight counts by itself, and no side gets more.
func (n *next) allShare() bool {
	if n.goal.Way == Back {
		return !n.strays
	}
	return n.Shared
}
