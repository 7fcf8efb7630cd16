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
