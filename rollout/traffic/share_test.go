package traffic

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A route that is still to be shared gives the new version no more than its step, whatever another one gives it that somebody has shared for themselves.
func TestRouteBeginsWithTheShareOfItsStep(t *testing.T) {
	t.Parallel()
	admin := v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: "admin", Service: "web"}
	tests := map[string]struct {
		scene *scene
		want  []Write
	}{
		"its step gives less, and requests go back": {
			forward(25, 8).gets(97).stable(made("v1", 8)), []Write{ShareRoute{web, Share{Weight: 25}}, ShareRoute{admin, Share{Weight: 25}}},
		},
		"... as far as the pods of the other side bear": {
			forward(25, 8).gets(97).stable(made("v1", 6)), []Write{ShareRoute{web, Share{Weight: 25}}, ShareRoute{admin, Share{Weight: 25}}},
		},
		"... which are too few for a route that begins": {
			forward(25, 8).gets(97).stable(made("v1", 2)), []Write{ShareRoute{web, Share{Weight: 75}}},
		},
		"no pods bear anything": {
			forward(25, 0).gets(97).stable(made("v1", 0)).canary(made("v2", 0)).but(func(g *Goal, _ *Seen) {
				g.Share, g.Replicas, g.Least, g.Ready = Share{}, 0, 0, 0
			}), []Write{ShareRoute{admin, Share{}}},
		},
		"its step gives more, for which it waits with the other one": {
			forward(50, 5).gets(10).canary(made("v2", 2)), []Write{ShareRoute{admin, Share{Weight: 10}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.scene.but(func(_ *Goal, s *Seen) {
				s.Routes = append(s.Routes, Route{TrafficRoute: admin, Named: true, Accepted: true})
			})
			if diff := cmp.Diff(test.want, Next(test.scene.goal, test.scene.seen).Writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// While a release stands, a route begins with what another one gives if that is no more than the step says.
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
