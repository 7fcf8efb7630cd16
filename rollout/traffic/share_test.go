package traffic

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestPodsStayForTheRouteThatGivesASideMost checks routes that differ, as a person has changed one.
func TestPodsStayForTheRouteThatGivesASideMost(t *testing.T) {
	t.Parallel()
	s := forward(60, 6).gets(50).but(func(g *Goal, s *Seen) {
		admin := s.Routes[0]
		admin.Name, admin.Share.Weight = "admin", 10
		g.Available, s.Routes = false, append(s.Routes, admin)
	})
	n := Next(s.goal, s.seen)
	if diff := cmp.Diff(map[string]int32{"v1": 9, "v2": 5}, n.Keep); diff != "" || len(n.Writes) > 0 {
		t.Errorf("%v is written, and these pods stay (-want +got):\n%s", n.Writes, diff)
	}
}

// TestRouteBeginsInAReleaseThatStands: while a release stands, a route begins with what another one
// gives if that is no more than the step says.
func TestRouteBeginsInAReleaseThatStands(t *testing.T) {
	t.Parallel()
	admin := v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: "admin", Service: "web"}
	tests := map[string]struct {
		scene *scene
		want  []Write
	}{
		"the other one gives what the step says": {forward(50, 5).gets(50), []Write{ShareRoute{admin, Share{Weight: 50}}}},
		"... or less":                            {forward(50, 5).gets(10), []Write{ShareRoute{admin, Share{Weight: 10}}}},
		"... or what somebody has shared":        {forward(50, 5).gets(97), []Write{ShareRoute{web, Share{Weight: 62}}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.scene.way(Stand).but(func(_ *Goal, s *Seen) {
				s.Routes = append(s.Routes, Route{TrafficRoute: admin, Named: true, Accepted: true})
			})
			if diff := cmp.Diff(test.want, Next(test.scene.goal, test.scene.seen).Writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRouteBeginsWithoutNewPods: a route begins with nothing for the new version while none of its
// pods is ready, though somebody has another route give it some.
func TestRouteBeginsWithoutNewPods(t *testing.T) {
	t.Parallel()
	admin := v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: "admin", Service: "web"}
	for name, test := range map[string]struct{ ready, gives, want int32 }{
		"another gives more than the step":      {0, 16, 0},
		"... or as much":                        {0, 1, 0},
		"with pods it begins with the step":     {1, 16, 1},
		"... which another one may give before": {1, 1, 1},
	} {
		s := forward(1, 1).gets(test.gives).stable(made("v1", test.ready)).canary(made("v2", test.ready)).but(func(g *Goal, s *Seen) {
			g.Ready, g.Least = 2*test.ready, 1
			s.Routes = append(s.Routes, Route{TrafficRoute: admin, Named: true, Accepted: true})
		})
		writes := Next(s.goal, s.seen).Writes
		if last := writes[len(writes)-1]; !cmp.Equal(last, Write(ShareRoute{admin, Share{Weight: test.want}})) {
			t.Errorf("%s: want %d%% by %s, got %v", name, test.want, admin.Name, writes)
		}
	}
	unready := func(weight, gives int32, other Route) []Write {
		s := forward(weight, 1).gets(weight).stable(made("v1", 0)).canary(made("v2", 0)).but(func(g *Goal, s *Seen) {
			other.TrafficRoute, other.Named, other.Accepted, other.Share.Weight = admin, true, true, gives
			g.Ready, s.Routes = 0, append(s.Routes, other)
		})
		return Next(s.goal, s.seen).Writes
	}
	if writes := unready(1, 0, Route{Held: true, Whole: true}); len(writes) > 0 {
		t.Errorf("a route that has begun is to give no more, got %v", writes)
	}
	if diff := cmp.Diff([]Write{ShareRoute{admin, Share{Weight: 100}}}, unready(100, 0, Route{})); diff != "" {
		t.Errorf("where the old version may have no pods, nothing goes back to it (-want +got):\n%s", diff)
	}
}
