package traffic

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Watch is for how long a process has watched the traffic of one release to be as it is. The zero value has watched nothing yet: a new
// process begins again, so that what waits for a time waits longer. The times given to it must be those of one clock that does not jump.
type Watch struct {
	routes         held
	stable, canary steady
}

// held is how the routes are, and since when; the mark is empty while one of them is not in effect as it is.
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
	next := Watch{routes: w.routes.looked(&seen, now), stable: w.stable.looked(&seen.Stable, now), canary: w.canary.looked(&seen.Canary, now)}
	seen.InEffect = 0
	if next.routes.mark != "" {
		seen.InEffect = max(now.Sub(next.routes.since), 0)
	}
	seen.Stable.Steady = max(now.Sub(next.stable.since), 0)
	seen.Canary.Steady = max(now.Sub(next.canary.since), 0)
	return next, seen
}

func (h held) looked(seen *Seen, now time.Time) held {
	mark := markOf(seen)
	if mark != "" && mark == h.mark {
		return h
	}
	return held{mark, now}
}

// looked begins again where more pods are ready than before, or those of another revision. That there are fewer takes nothing away from
// those that are left.
func (s steady) looked(side *Side, now time.Time) steady {
	since := s.since
	if since.IsZero() || side.Revision != s.revision || side.Ready > s.ready {
		since = now
	}
	return steady{side.Revision, side.Ready, since}
}

// markOf tells one state of the routes from another; it is empty where one is not in effect as it is. What the sides select is part of
// it: requests come to other pods where that changes.
func markOf(seen *Seen) string {
	var mark strings.Builder
	fmt.Fprintf(&mark, "%s %s", seen.Stable.Revision, seen.Canary.Revision)
	for i := range seen.Routes {
		route := &seen.Routes[i]
		if !route.Accepted {
			return ""
		}
		share, _ := json.Marshal(route.Share)
		fmt.Fprintf(&mark, "\n%s %d %t %s", key(route.TrafficRoute), route.Generation, route.Held, share)
	}
	return mark.String()
}
