package traffic

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestWatch: the time without a change counts from the first read of a state, and any change
// begins it again.
func TestWatch(t *testing.T) {
	t.Parallel()
	shared := func(change func(*Seen)) Seen {
		seen := Seen{
			Stable: Side{Made: true, Revision: "v1", Ready: 3}, Canary: Side{Made: true, Revision: "v2", Ready: 2},
			Routes: []Route{{
				TrafficRoute: v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"},
				Held:         true, Generation: 4, Share: Share{Weight: 10}, Accepted: true,
			}},
		}
		change(&seen)
		return seen
	}
	same := func(*Seen) {}
	const before, after = 10 * time.Second, 5 * time.Second
	cases := map[string]struct {
		reason                   string
		between                  func(*Seen)
		inEffect, stable, canary time.Duration
		unchanged                time.Duration
	}{
		"Same":       {"nothing has changed", same, before + after, before + after, before + after, before + after},
		"Weight":     {"the share has changed", func(s *Seen) { s.Routes[0].Share.Weight = 20 }, 0, before + after, before + after, 0},
		"Generation": {"somebody has changed the route", func(s *Seen) { s.Routes[0].Generation++ }, 0, before + after, before + after, before + after},
		"Held":       {"the route was given back", func(s *Seen) { s.Routes[0].Held = false }, 0, before + after, before + after, 0},
		"Whole":      {"somebody has applied the original", func(s *Seen) { s.Routes[0].Whole = true }, before + after, before + after, before + after, 0},
		"Matches": {"other requests match", func(s *Seen) {
			s.Routes[0].Share.Matches = []v1alpha1.RequestMatch{{Path: &v1alpha1.PathMatch{Value: "/new"}}}
		}, 0, before + after, before + after, 0},
		"Unaccepted": {"nobody tells that the route is in effect", func(s *Seen) { s.Routes[0].Accepted = false }, 0, before + after, before + after, before + after},
		"Route":      {"there is another route", func(s *Seen) { s.Routes = append(s.Routes, Route{Accepted: true}) }, 0, before + after, before + after, 0},
		"Ungranted": {"somebody elsewhere says that the release holds their route", func(s *Seen) {
			s.Routes = append(s.Routes, Route{Accepted: true, Held: true, Ungranted: true})
		}, 0, before + after, before + after, before + after},
		"Stage":    {"a rollback begins", func(s *Seen) { s.Stage = "back" }, before + after, before + after, before + after, 0},
		"Revision": {"the canary side selects other pods", func(s *Seen) { s.Canary.Revision = "v3" }, 0, before + after, 0, 0},
		"Outdated": {"somebody has changed a Service of a side", func(s *Seen) { s.Canary.Outdated = true }, 0, before + after, before + after, before + after},
		"Rise":     {"one more pod is ready", func(s *Seen) { s.Stable.Ready++ }, before + after, 0, before + after, before + after},
		"Fall":     {"one pod less is ready, and the others still are", func(s *Seen) { s.Stable.Ready-- }, before + after, before + after, before + after, before + after},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Unix(1000, 0)
			watch, seen := Watch{}.Looked(shared(same), start)
			if seen.InEffect != 0 || seen.Stable.Steady != 0 || seen.Canary.Steady != 0 {
				t.Errorf("a new process has watched nothing yet, got %v, %v and %v", seen.InEffect, seen.Stable.Steady, seen.Canary.Steady)
			}
			watch, _ = watch.Looked(shared(same), start.Add(before))
			_, seen = watch.Looked(shared(tc.between), start.Add(before+after))
			got := [4]time.Duration{seen.InEffect, seen.Stable.Steady, seen.Canary.Steady, seen.Unchanged}
			if want := [4]time.Duration{tc.inEffect, tc.stable, tc.canary, tc.unchanged}; got != want {
				t.Errorf("%s: want it in effect, the stable and the canary side steady, and the shares unchanged for %v, got %v", tc.reason, want, got)
			}
		})
	}
}
