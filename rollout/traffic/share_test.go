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
	for ready, want := range map[int32]int32{0: 0, 1: 1} {
		s := forward(1, 1).gets(16).stable(made("v1", ready)).canary(made("v2", ready)).but(func(g *Goal, s *Seen) {
			g.Ready, g.Least = 2*ready, 1
			s.Routes = append(s.Routes, Route{TrafficRoute: admin, Named: true, Accepted: true})
		})
		writes := Next(s.goal, s.seen).Writes
		if last := writes[len(writes)-1]; !cmp.Equal(last, Write(ShareRoute{admin, Share{Weight: want}})) {
			t.Errorf("with %d pods that are ready, want %d%% by %s, got %v", ready, want, admin.Name, writes)
		}
	}
}
