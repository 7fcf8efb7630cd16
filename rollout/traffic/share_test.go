package traffic

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

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
