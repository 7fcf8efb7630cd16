package traffic

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// has reports whether something has been so for long enough. If not, the next look is then.
func (w *waits) has(been, enough time.Duration) bool {
	left := enough - been
	if left <= 0 {
		return true
	}
	if w.wake == 0 || left < w.wake {
		w.wake = left
	}
	return false
}

// awaits notes what has to come first, of several things the first.
func (w *waits) awaits(what v1alpha1.TrafficAwaited) {
	if w.what == "" {
		w.what = what
	}
	w.untimed = w.untimed || what != v1alpha1.AwaitedDrain
}

// awaitsRoute notes that routes have to be in effect, and which is the first.
func (w *waits) awaitsRoute(is func(*Route) bool) {
	if w.what != "" {
		return
	}
	w.what = v1alpha1.AwaitedRoutes
	for i := range w.seen.Routes {
		if is(&w.seen.Routes[i]) {
			w.route = &w.seen.Routes[i].TrafficRoute
			return
		}
	}
}

// awaitsEndpoints notes that a side needs endpoints.
func (w *waits) awaitsEndpoints(side *Side) {
	w.untimed = true
	w.namesEndpoints(side)
}

// steady reports whether a side has so many ready endpoints, and for long enough.
func (w *waits) steady(side *Side, least int32) bool {
	switch {
	case side.Ready < least:
		w.awaitsEndpoints(side)
	case w.has(side.Steady, w.goal.ReadyFor):
		return true
	default:
		w.namesEndpoints(side)
		w.lacksTime(true, side.Steady, w.goal.ReadyFor)
	}
	return false
}

func (w *waits) namesEndpoints(side *Side) {
	if w.what == "" {
		w.what, w.service = v1alpha1.AwaitedEndpoints, side.Fewest
	}
}
