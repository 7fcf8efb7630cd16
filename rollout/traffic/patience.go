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
func (w *waits) follows(r *Route) bool { return r.Accepted || r.Observed && w.goal.Way.bounded() }

// hear notes whose word on a route as it is now is missing.
func (n *next) hear(r *Route) {
	follows := n.waits.follows(r)
	n.shares.told, n.shares.inEffect = n.shares.told && r.observed(), n.shares.inEffect && follows
	if follows {
		return
	}
	for _, who := range r.Pending {
		n.Pending = append(n.Pending, Words(r.TrafficRoute)+": "+who)
	}
}

// inEffectFor reports whether the routes are in effect as they are, and have been for long enough.
// Where the way is bounded they are taken for that once they have been as they are for as long as
// their status is waited for, and as long again as that would have been enough.
func (w *waits) inEffectFor(enough time.Duration) bool {
	been := w.seen.InEffect
	if w.goal.Way.bounded() {
		been = max(been, w.seen.Observed)
	}
	return w.beenFor(w.shares.inEffect && w.shares.told, been, enough)
}

// observedFor reports whether the routes were read as they are, and have been for long enough: from
// then on no data plane sends requests elsewhere.
func (w *waits) observedFor(enough time.Duration) bool {
	return w.beenFor(w.shares.told, max(w.seen.InEffect, w.seen.Observed), enough)
}

// beenFor reports whether what the status of routes has told of has been so for long enough, or is
// waited for no more.
func (w *waits) beenFor(told bool, been, enough time.Duration) bool {
	if told && w.has(been, enough) || w.waitedFor(enough) {
		return true
	}
	w.lacksTime(told, been, enough)
	return false
}

// waitedFor reports whether a way that is bounded has waited for as long as it does.
func (w *waits) waitedFor(enough time.Duration) bool {
	if !w.goal.Way.bounded() {
		return false
	}
	late := w.has(w.seen.Unchanged, w.goal.Patience+enough)
	w.gaveUp = w.gaveUp || late && !w.shares.told
	if left := w.goal.Patience + enough - w.seen.Unchanged; !late && !w.shares.told && (w.givesUp == 0 || left > w.givesUp) {
		w.givesUp = left
	}
	return late
}

// abandons reports whether a route of another namespace that has not consented is given back, where
// anybody can tell what it was, and waited for no more: anyone who may write to it could keep a
// release there for ever.
func (w *waits) abandons(r *Route) bool {
	return (r.Held || r.Strays) && r.Ungranted && w.goal.Way.bounded() && w.has(w.seen.Unchanged, w.goal.Patience)
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
		return !n.shares.strays
	}
	return n.Shared
}
