package traffic

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestRoutesThatComeAndGo: cases that the simulated cluster of rollout/sim has found.
func TestRoutesThatComeAndGo(t *testing.T) {
	t.Parallel()
	unaccepted := func(_ *Goal, s *Seen) { s.Routes[0].Accepted = false }
	unavailable := func(g *Goal, _ *Seen) { g.Available = false }
	unwhole := func(_ *Goal, s *Seen) { s.Routes[0].Whole = false }
	worth := func(pods int32) func(*Goal, *Seen) {
		return func(g *Goal, _ *Seen) { g.Worth, g.Least = pods, 9 }
	}
	unnamed := func(_ *Goal, s *Seen) { s.Routes = nil }
	first := func(_ *Goal, s *Seen) { s.Services = false }
	const toNothing = "share HTTPRoute web: 0% to the canary Service; awaits Routes"
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"pods wait until the routes are in effect": {
			forward(0, 1).canary(made("v2", 0)).but(unaccepted), "holds up; awaits Routes",
		},
		"... for a moment": {forward(0, 1).canary(made("v2", 0)).but(since(0)), "holds up; awaits Routes; wakes after 2s"},
		"... and not those of a version that gets requests already": {
			forward(10, 1).gets(10).but(unaccepted), "awaits Routes",
		},
		"a rollback that begins when the routes were just given back": {
			forward(0, 10).way(Back).but(unheld).but(since(moment)), "awaits Drain; wakes after 8s",
		},
		"... and whose other version has no pods": {forward(0, 10).way(Back).but(unheld).canary(made("v2", 0)).but(since(moment)), "done"},
		"a rollback whose step has few pods": {
			forward(0, 2).way(Back).gets(75).stable(made("v1", 2)), "done; awaits Capacity",
		},
		"... that are not ready": {forward(0, 2).way(Back).gets(100).stable(made("v1", 0)), "awaits Endpoints"},
		"... and don't get yet what they bear": {
			forward(0, 2).way(Back).gets(100).stable(made("v1", 2)), "share HTTPRoute web: 75% to the canary Service; awaits Capacity",
		},
		"another release when the routes were just given back": {
			forward(10, 1).but(unheld).stable(made("v1", 0)).canary(made("v1.5", 10)).but(since(moment)), "holds up; awaits Drain; wakes after 8s",
		},
		"... whose requests had come to the one before": {
			forward(10, 1).but(unheld).stable(made("v1", 0)).canary(made("v1.5", 10)),
			"have the stable Services select revision v1.5; have the canary Services select revision v2; holds up; awaits Services",
		},
		"... which then serves": {
			forward(10, 1).but(unheld).stable(made("v1.5", 10)).canary(made("v2", 0)).but(unavailable),
			"share HTTPRoute web: 0% to the canary Service; holds up; awaits Routes",
		},
		"... until it has no pods": {
			forward(10, 1).but(unheld).stable(made("v1.5", 0)).canary(made("v2", 0)),
			"have the stable Services select revision v1; holds up; awaits Services",
		},
		"a rollback after somebody has applied the route again": {
			forward(0, 10).way(Back).but(alone).but(unwhole).canary(made("v2", 0)), "share HTTPRoute web: 0% to the canary Service; awaits Routes",
		},
		"... or deleted the Service of the other version": {
			forward(0, 10).way(Back).but(alone).canary(Side{}), "restore HTTPRoute web; awaits Routes",
		},
		"somebody has scaled the workload in the step": {
			forward(50, 4).but(worth(5)), "share HTTPRoute web: 50% to the canary Service; awaits Routes",
		},
		"... and its pods are too few for that, too": {forward(50, 3).but(worth(3)), "awaits Capacity"},
		"the end of a release of what the stable side serves": {
			forward(0, 10).way(End).but(alone).stable(made("v2", 10)), "restore HTTPRoute web; awaits Routes",
		},
		"... while its other side gets requests": {
			forward(0, 10).way(End).gets(10).but(alone).stable(made("v2", 10)), toNothing,
		},
		"a route that was deleted is there again": {
			forward(50, 5).gets(50).stable(made("v1", 5)).but(beside(50)).but(unheld), "share HTTPRoute web: 50% to the canary Service; holds up; awaits Routes",
		},
		"... where the stable side has too few pods for its part": {
			forward(50, 5).gets(50).stable(made("v1", 3)).but(beside(50)).but(unheld), "holds up; awaits Endpoints",
		},
		"... and the new version gets all": {
			forward(100, 10).gets(100).stable(made("v1", 0)).but(beside(100)).but(unheld), "share HTTPRoute web: 100% to the canary Service; holds up; awaits Routes",
		},
		"... in a rollback whose step has few pods": {
			forward(0, 2).way(Back).stable(made("v1", 2)).but(beside(0)).but(unheld), "done; awaits Endpoints",
		},
		"traffic is taken out of the release": {
			forward(50, 5).way(Leave).but(unnamed).but(since(moment)), "awaits Drain; wakes after 8s",
		},
		"... a while ago": {forward(50, 5).way(Leave).but(unnamed), "done"},
		"a rollback after somebody has taken the annotation away": {
			forward(0, 10).way(Back).but(astray), "awaits Drain; problem NotShareable",
		},
		"... the end after that":                 {forward(100, 10).way(End).but(astray), "awaits Routes; problem NotShareable"},
		"... the release goes after that":        {forward(100, 10).way(Leave).but(astray), "awaits Drain; problem NotShareable"},
		"... the Services stay after that":       {forward(100, 10).way(Rest).but(astray), "awaits Drain; problem NotShareable"},
		"... another release after that":         {forward(10, 1).canary(made("v1.5", 5)).but(astray), "holds up; awaits Drain; problem NotShareable"},
		"... a release that has made no Service": {forward(100, 10).way(Leave).but(astray).but(first), "done; problem NotShareable"},
		"... another route is held": {
			forward(100, 10).way(End).stable(made("v1", 0)).but(alone).but(beside(100)).but(astray), "awaits Drain; problem NotShareable",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.scene.script(); got != test.want {
				t.Errorf("next\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// astray adds a route that refers to the sides, and has lost its annotation.
func astray(_ *Goal, s *Seen) {
	s.Routes[0] = Route{TrafficRoute: web, Named: true, Accepted: true, Strays: true, Problem: &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNotShareable}}
}

// beside adds a second route with the desired weight.
func beside(weight int32) func(*Goal, *Seen) {
	return func(_ *Goal, s *Seen) {
		second := s.Routes[0]
		second.Name, second.Share.Weight = "shop", weight
		s.Routes = append(s.Routes, second)
	}
}

// TestPodsStayWhileRoutesAreAstray: with orphaned routes, the requests of either side are unknown.
func TestPodsStayWhileRoutesAreAstray(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*scene{
		"the next step":   forward(50, 5),
		"a rollback":      forward(0, 10).way(Back),
		"the end":         forward(100, 10).way(End),
		"one of two":      forward(100, 10).way(End).but(beside(100)),
		"a release stops": forward(50, 5).way(Stand),
		"it goes":         forward(50, 5).way(Leave),
	} {
		s.but(astray)
		if keep := Next(s.goal, s.seen).Keep; keep["v1"] != 10 || keep["v2"] != 10 {
			t.Errorf("%s: want all pods of both versions kept, got %v", name, keep)
		}
	}
}
