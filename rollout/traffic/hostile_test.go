package traffic

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestWhatOneRouteGivesIsNotGivenByOthers: an author of one route of a release, perhaps in another
// namespace, forges a weight above the approved one. Other routes, which may have other owners,
// don't follow.
func TestWhatOneRouteGivesIsNotGivenByOthers(t *testing.T) {
	t.Parallel()
	forged := func(share Share) func(*Goal, *Seen) {
		return func(g *Goal, s *Seen) {
			s.Routes = append(s.Routes, s.Routes[0])
			s.Routes[0].Name, s.Routes[0].Share = "shop", share
		}
	}
	all := Share{Weight: 100, Matches: []v1alpha1.RequestMatch{{Path: &v1alpha1.PathMatch{Value: "/"}}}}
	for name, s := range map[string]*scene{
		"a release in its step":  forward(10, 1).gets(10).but(forged(all)),
		"... that is stopped":    forward(10, 1).gets(10).way(Stand).but(forged(all)),
		"... with matches alone": forward(10, 1).gets(10).way(Stand).but(forged(Share{Weight: 10, Matches: all.Matches})),
		"a rollback":             forward(10, 1).gets(10).way(Back).but(forged(all)),
		"... whose pods are few": forward(10, 1).gets(10).way(Back).stable(made("v1", 5)).but(forged(all)),
		"a step without pods":    forward(10, 1).gets(10).stable(made("v1", 5)).but(forged(all)),
		"... and nobody serves":  forward(10, 1).gets(10).stable(made("v1", 0)).but(forged(all)),
	} {
		for _, w := range Next(s.goal, s.seen).Writes {
			if share, is := w.(ShareRoute); is && share.Route.Name == "web" && (share.Share.Weight > 10 || len(share.Share.Matches) > 0) {
				t.Errorf("%s: want no route to give it more than 10%%, got %s", name, w)
			}
		}
	}
}
