package traffic

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestWhatIsAwaitedIsNamed: the first awaited of several routes and Services is named. A wait for
// a time names none.
func TestWhatIsAwaitedIsNamed(t *testing.T) {
	t.Parallel()
	const shop = "HTTPRoute shop/shop"
	second := func(change func(*Route)) func(*Goal, *Seen) {
		return func(_ *Goal, s *Seen) {
			r := Route{TrafficRoute: v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: "shop", Service: "web"}, Named: true, Held: true, Whole: true, Accepted: true}
			r.Share = s.Routes[0].Share
			change(&r)
			s.Routes = append(s.Routes, r)
		}
	}
	same := second(func(*Route) {})
	fewest := func(_ *Goal, s *Seen) { s.Stable.Fewest, s.Canary.Fewest = "api-stable", "api-canary" }
	for name, tc := range map[string]struct {
		scene *scene
		want  string
	}{
		"a route that is not in effect":         {forward(10, 1).gets(10).but(second(func(r *Route) { r.Accepted = false })), "Routes " + shop},
		"a route that was changed":              {forward(10, 1).gets(10).but(second(func(r *Route) { r.Whole = false })), "Routes " + shop},
		"a route that is not shared":            {forward(10, 1).gets(10).but(second(func(r *Route) { *r = Route{TrafficRoute: r.TrafficRoute, Named: true, Accepted: true} })), "Routes " + shop},
		"all of them, for a moment":             {forward(10, 1).gets(10).but(same).but(since(0)), "Routes "},
		"a route whose annotation was taken":    {forward(100, 10).way(End).but(unheld).but(second(func(r *Route) { r.Held, r.Strays = false, true })), "Routes " + shop},
		"endpoints of the version to come":      {forward(50, 5).gets(10).canary(made("v2", 4)).but(fewest), "Endpoints api-canary"},
		"endpoints of the version that goes on": {forward(10, 1).way(Back).gets(50).stable(made("v1", 0)).but(fewest), "Endpoints api-stable"},
		"endpoints before routes are shared":    {forward(0, 0).but(unheld).stable(made("v1", 3)).but(fewest), "Endpoints api-stable"},
		"neither":                               {forward(50, 3).gets(10), "Capacity "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := Next(tc.scene.goal, tc.scene.seen)
			got := string(n.Awaits) + " " + n.Service
			if n.Route != nil {
				got += WordsIn("shop", *n.Route)
			}
			if got != tc.want {
				t.Errorf("want it to wait for %q, got %q", tc.want, got)
			}
		})
	}
}
