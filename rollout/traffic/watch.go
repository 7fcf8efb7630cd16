package traffic

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Watch measures for how long a process has watched the traffic of one release to be as it is. The
// zero value has watched nothing yet: a new process begins again, and so waits longer. The times
// given to it must come from one clock that does not jump.
type Watch struct {
	// routes is how they are by their status, observed also where nobody accepts one, and shares how
	// they share requests whatever that says.
	routes, observed, shares held
	stable, canary           steady
}

// held identifies a state of the routes, and holds when it began; the mark is empty while one of
// them is not in effect as it is.
type held struct {
	mark  string
	since time.Time
}

// steady is how many pods of a revision are ready, and since when there have not been more.
type steady struct {
	revision string
	ready    int32
	since    time.Time
}

// Looked notes what is seen now, and returns that with the times for which it has been so.
func (w Watch) Looked(seen Seen, now time.Time) (Watch, Seen) {
	next := Watch{
		routes:   w.routes.looked(markOf(&seen, func(r *Route) bool { return r.Accepted }), now),
		observed: w.observed.looked(markOf(&seen, (*Route).observed), now),
		shares:   w.shares.looked(sharesOf(&seen), now),
		stable:   w.stable.looked(&seen.Stable, now), canary: w.canary.looked(&seen.Canary, now),
	}
	seen.InEffect, seen.Observed = next.routes.been(now), next.observed.been(now)
	seen.Unchanged = max(now.Sub(next.shares.since), 0)
	seen.Stable.Steady = max(now.Sub(next.stable.since), 0)
	seen.Canary.Steady = max(now.Sub(next.canary.since), 0)
	return next, seen
}

func (h held) looked(mark string, now time.Time) held {
	if mark != "" && mark == h.mark {
		return h
	}
	return held{mark, now}
}

// been returns for how long they have been so; 0 if they are not.
func (h held) been(now time.Time) time.Duration {
	if h.mark == "" {
		return 0
	}
	return max(now.Sub(h.since), 0)
}

// looked begins again where more pods are ready than before, or those of another revision. That
// there are fewer takes nothing away from those that are left.
func (s steady) looked(side *Side, now time.Time) steady {
	since := s.since
	if since.IsZero() || side.Revision != s.revision || side.Ready > s.ready {
		since = now
	}
	return steady{side.Revision, side.Ready, since}
}

// markOf identifies the state of the routes; it is empty if one of them does not count. The mark
// includes the selectors of the sides: requests come to other pods when a selector changes, or when
// a change is put back.
func markOf(seen *Seen, counts func(*Route) bool) string {
	var mark strings.Builder
	fmt.Fprintf(&mark, "%s %t %s %t", seen.Stable.Revision, seen.Stable.Outdated, seen.Canary.Revision, seen.Canary.Outdated)
	for i := range seen.Routes {
		route := &seen.Routes[i]
		if !counts(route) {
			return ""
		}
		share, _ := json.Marshal(route.Share)
		fmt.Fprintf(&mark, "\n%s %d %t %s", key(route.TrafficRoute), route.Generation, route.Held, share)
	}
	return mark.String()
}

// sharesOf identifies how routes share requests. Unrelated writes to a route do not restart the
// bounded wait, and a status never does. A changed share restarts it: until it is written again,
// requests go elsewhere, and all Gateways have to follow again. So users who may write to a route
// that the release names can delay it. Users of a route in another namespace without consent can't,
// though they may claim again and again that the release holds it.
func sharesOf(seen *Seen) string {
	var mark strings.Builder
	fmt.Fprintf(&mark, "%s %s %s", seen.Stage, seen.Stable.Revision, seen.Canary.Revision)
	for i := range seen.Routes {
		route := &seen.Routes[i]
		if route.Ungranted {
			continue
		}
		share, _ := json.Marshal(route.Share)
		fmt.Fprintf(&mark, "\n%s %t %t %s", key(route.TrafficRoute), route.Held, route.Whole, share)
	}
	return mark.String()
}
