package traffic

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestGuards: each of these was seen to fail when one condition of Next was left out.
func TestGuards(t *testing.T) {
	t.Parallel()
	admin := Route{
		TrafficRoute: v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: "admin", Service: "web"}, Named: true, Held: true, Whole: true, Accepted: true,
	}
	with := func(change func(*Route)) func(*Goal, *Seen) {
		return func(_ *Goal, s *Seen) {
			r := admin
			change(&r)
			s.Routes = append(s.Routes, r)
		}
	}
	first := func(change func(*Route)) func(*Goal, *Seen) { return func(_ *Goal, s *Seen) { change(&s.Routes[0]) } }
	problem := func(r *Route) { r.Problem = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNotShareable} }
	unready := func(g *Goal, _ *Seen) { g.Ready = 3 }
	waited := func(_ *Goal, s *Seen) { s.Unchanged = long }
	unavailable := func(g *Goal, _ *Seen) { g.Available = false }
	overload := func(g *Goal, _ *Seen) { g.Overload = true }
	unwhole := first(func(r *Route) { r.Whole = false })
	notGranted := func(r *Route) {
		r.Ungranted, r.Problem = true, &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNotGranted}
	}
	noServices := func(_ *Goal, s *Seen) { s.Services = false }
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"routes that differ are not done, though no endpoint is ready to write one for": {
			forward(50, 5).gets(50).stable(made("v1", 0)).canary(made("v2", 0)).but(unready).but(with(func(r *Route) { r.Share.Weight = 10 })),
			"awaits Endpoints",
		},
		"a route that is not named, and somebody has changed, does not hold up the end": {
			forward(100, 10).way(End).gets(100).stable(made("v1", 0)).but(alone).but(with(func(r *Route) { r.Named, r.Whole, r.Share.Weight = false, false, 100 })),
			"restore HTTPRoute admin; awaits Drain",
		},
		"nor does one that can't be written as it was": {
			forward(100, 10).way(End).gets(100).stable(made("v1", 0)).but(alone).but(first(func(r *Route) { r.Whole = false; problem(r) })).but(waited),
			"restore HTTPRoute web; awaits Routes; problem NotShareable",
		},
		"pods wait until a route is given back that is not named": {
			forward(10, 1).but(with(func(r *Route) { r.Named = false })), "restore HTTPRoute admin; share HTTPRoute web: 10% to the canary Service; holds up; awaits Routes",
		},
		"what is wrong with a route that is held is told without a release":  {forward(10, 1).way(Rest).gets(10).but(first(problem)), "restore HTTPRoute web; awaits Routes; problem NotShareable"},
		"... and of one that is held and not named":                          {forward(10, 1).way(Leave).gets(10).but(first(func(r *Route) { r.Named = false; problem(r) })), "restore HTTPRoute web; awaits Routes; problem NotShareable"},
		"what a status says against a route that is not named is no problem": {forward(10, 1).gets(10).but(with(func(r *Route) { r.Named = false; r.Refused = &v1alpha1.TrafficProblem{} })), "restore HTTPRoute admin; awaits Routes"},
		"a name that is taken is no problem without a release":               {forward(10, 1).way(Rest).but(unheld).canary(taken), "delete the stable and canary Services; done"},
		"the first of several times wakes": {
			forward(10, 1).gets(5).canary(Side{Made: true, Revision: "v2", Ready: 1, Steady: moment / 4}).but(since(moment / 2)),
			"awaits Endpoints; wakes after 1s",
		},
		"without Services there are none to delete, and nobody to wait for": {forward(10, 1).way(Rest).but(unheld).but(noServices).but(since(0)), "done"},
		"what is released serves already":                                   {forward(10, 1).stable(made("v2", 10)).canary(made("v2", 10)), "done"},
		"... and gets its requests back first":                              {forward(10, 1).gets(10).stable(made("v2", 10)).canary(made("v2", 10)), "share HTTPRoute web: 0% to the canary Service; awaits Routes"},
		"a side follows the release that stands, where no route is shared": {
			forward(10, 1).way(Stand).but(unheld).canary(made("v1.5", 3)), "have the canary Services select revision v2; holds up; awaits Services",
		},
		"a side that was never made waits for nobody": {
			forward(10, 1).but(unheld).canary(Side{}).but(since(moment)),
			"have the canary Services select revision v2; holds up; awaits Services; wakes after 8s",
		},
		"a version without endpoints does not serve": {
			forward(10, 1).gets(100).stable(made("v1", 0)).canary(made("v1.5", 0)).but(unready), "awaits Endpoints",
		},
		"the stable side is not that of what is released": {forward(10, 1).but(unheld).stable(made("v2", 5)), "have the stable Services select revision v1; holds up; awaits Services"},
		"a rollback where half of the requests still go to a side without endpoints": {
			forward(0, 10).way(Back).gets(50).stable(made("v0", 0)), "holds up; awaits Endpoints",
		},
		"... or none, to one that has some": {forward(0, 10).way(Back).gets(100).stable(made("v0", 10)), "share HTTPRoute web: 0% to the canary Service; holds up; awaits Routes"},
		"another release, and half of the requests still go to a side without endpoints": {
			forward(10, 1).gets(50).stable(made("v1", 0)).canary(made("v1.5", 10)), "awaits Endpoints",
		},
		"... or none, to one that has some for another release": {forward(10, 1).gets(100).stable(made("v1", 10)).canary(made("v1.5", 10)), "share HTTPRoute web: 0% to the canary Service; awaits Routes"},
		"a version that is gone serves until its last endpoint is": {
			forward(10, 1).gets(10).but(func(g *Goal, _ *Seen) { g.Lost, g.Stable = true, "v1.5" }), "done",
		},
		"... and then the one does that has its pods": {
			forward(10, 1).gets(10).stable(made("v1", 0)).but(func(g *Goal, _ *Seen) { g.Lost, g.Stable = true, "v1.5" }), "have the stable Services select revision v1.5; awaits Services",
		},
		"a version that is gone before a route begins gets nothing": {
			forward(10, 10).but(unheld).stable(made("v1", 0)).but(alone).but(func(g *Goal, _ *Seen) { g.Lost = true }), "done",
		},
		"... but waits for its endpoints while it may come back": {
			forward(10, 10).but(unheld).stable(made("v1", 0)).but(alone), "holds up; awaits Endpoints",
		},
		"... or other pods serve": {
			forward(10, 10).but(unheld).stable(made("v1", 0)).but(func(g *Goal, _ *Seen) { g.Lost = true }), "holds up; awaits Endpoints",
		},
		"the end waits for endpoints of pods that are gone": {forward(100, 10).way(End).gets(100).stable(made("v1", 2)).but(alone), ""},
		"... and for the requests that the new version is to get": {
			forward(100, 10).way(End).gets(50).stable(made("v1", 0)).but(alone).but(func(g *Goal, _ *Seen) { g.Share.Weight = 100 }), "share HTTPRoute web: 100% to the canary Service; awaits Routes",
		},
		"a rollback takes requests away before routes are given back": {forward(0, 10).way(Back).gets(50).canary(made("v2", 0)).but(alone), "share HTTPRoute web: 0% to the canary Service; awaits Endpoints"},
		"... and waits for endpoints of pods that are gone":           {forward(0, 10).way(Back).canary(made("v2", 2)).but(alone), "done"},
		"... and gives them back before the pods come of a version that is not a side": {
			forward(0, 10).way(Back).stable(made("v0", 10)).canary(made("v2", 0)), "restore HTTPRoute web; holds up; awaits Routes",
		},
		"without pods the end gives routes back at once": {
			forward(100, 0).way(End).gets(100).but(since(0)).but(func(g *Goal, _ *Seen) { g.Replicas, g.Least, g.Ready = 0, 0, 0 }), "restore HTTPRoute web; awaits Routes",
		},
		"a step of a rollback is done by the pods of its own version": {forward(0, 2).way(Back).gets(75).stable(made("v0", 2)), "holds up; awaits Capacity"},
		"... that are available": {forward(0, 2).way(Back).gets(75).stable(made("v1", 2)).but(unavailable), "awaits Capacity"},
		"requests go back in parts, and to a route that has less come as many as its step says": {
			forward(20, 5).gets(50).stable(made("v1", 5)).but(with(func(r *Route) { r.Share.Weight = 10 })),
			"share HTTPRoute web: 37% to the canary Service; share HTTPRoute admin: 20% to the canary Service; awaits Capacity",
		},
		"a route that somebody has changed needs endpoints of the stable side": {
			forward(10, 1).gets(10).stable(made("v1", 0)).but(unready).but(unwhole), "awaits Endpoints",
		},
		"... and of the other one": {
			forward(100, 10).gets(100).stable(made("v1", 0)).canary(made("v2", 0)).but(unready).but(unwhole), "awaits Endpoints",
		},
		"matches need endpoints, too": {
			forward(0, 1).but(matching).but(matched).stable(made("v1", 0)).canary(made("v2", 0)).but(unready).but(with(func(*Route) {})), "awaits Endpoints",
		},
		"a route begins with the pods that are ready of few":  {forward(10, 1).but(unheld).stable(made("v1", 3)).but(unready), "share HTTPRoute web: 10% to the canary Service; holds up; awaits Routes"},
		"... or with those for what it gives the stable side": {forward(50, 5).but(unheld).stable(made("v1", 4)), "share HTTPRoute web: 50% to the canary Service; holds up; awaits Routes"},
		"... and no fewer": {forward(50, 5).but(unheld).stable(made("v1", 3)), "holds up; awaits Endpoints"},
		"a step without requests waits until a share of somebody else is taken back": {
			forward(0, 1).gets(10).but(since(0)).but(unwhole), "share HTTPRoute web: 0% to the canary Service; holds up; awaits Routes",
		},
		"requests move only where all can":                    {forward(10, 1).but(with(problem)), "problem NotShareable"},
		"the end does not wait for pods that fail":            {forward(100, 10).way(End).gets(50).but(unavailable), "share HTTPRoute web: 100% to the canary Service; awaits Routes"},
		"a step without pods gets no requests":                {forward(10, 0).canary(made("v2", 0)), "awaits Endpoints"},
		"what matches needs no rule where all goes":           {forward(100, 10).gets(100).but(matched).stable(made("v1", 0)), "share HTTPRoute web: 100% to the canary Service; awaits Routes"},
		"a rollback waits for no pods that may be overloaded": {forward(0, 10).way(Back).gets(100).stable(made("v1", 2)).but(overload), "share HTTPRoute web: 0% to the canary Service; awaits Routes"},
		"as many pods bear a share as are enough for it":      {forward(50, 4), "share HTTPRoute web: 50% to the canary Service; awaits Routes"},
		"a small change waits for a moment": {
			forward(10, 5).gets(40).stable(Side{Made: true, Revision: "v1", Ready: 5}), "awaits Capacity; wakes after 2s",
		},
		"... in which no more pods come": {forward(10, 5).gets(40).stable(made("v1", 5)), "share HTTPRoute web: 37% to the canary Service; awaits Capacity"},
		"a rollback holds no pods up where no route can be read": {
			forward(0, 10).way(Back).gets(10).but(func(_ *Goal, s *Seen) { s.Off = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficDisabled} }), "problem Disabled",
		},
		"nothing is given back where no route can be read": {
			forward(0, 10).way(Back).gets(10).but(first(notGranted)).but(waited).but(func(_ *Goal, s *Seen) { s.Off = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficDisabled} }), "problem Disabled",
		},
		"a route that may not be shared any more gets no more than it has": {
			forward(20, 5).gets(50).stable(made("v1", 5)).but(with(func(r *Route) { r.Share.Weight = 10; notGranted(r) })),
			"share HTTPRoute web: 37% to the canary Service; awaits Capacity; problem NotGranted",
		},
		"a rollback is not done while nobody knows what a route gives": {
			forward(0, 10).way(Back).but(with(func(r *Route) { r.Held, r.Strays = false, true; problem(r) })), "problem NotShareable",
		},
		"of several things the first is told":                     {forward(10, 1).stable(Side{}).canary(made("v1.5", 3)), "have the stable Services select revision v1; awaits Drain"},
		"a side that lacks a Service is made, and not put back":   {forward(10, 1).canary(Side{Revision: "v2", Outdated: true}), "have the canary Services select revision v2; holds up; awaits Services"},
		"... nor is one put back whose Services select different": {forward(10, 1).canary(Side{Made: true, Outdated: true}), "have the canary Services select revision v2; awaits Services"},
		"the end does not wait for a side whose name is taken": {
			forward(100, 10).way(End).gets(100).stable(Side{Revision: "v1", Problem: taken.Problem}).but(alone), "restore HTTPRoute web; awaits Routes; problem NameTaken",
		},
		"... or that selects different pods": {
			forward(100, 10).way(End).gets(100).stable(Side{Made: true, Problem: taken.Problem}).but(alone), "restore HTTPRoute web; awaits Routes; problem NameTaken",
		},
		"without pods none has to wait": {
			forward(0, 0).but(with(func(r *Route) { r.Held = false })).but(func(g *Goal, _ *Seen) { g.Replicas, g.Least, g.Ready = 0, 0, 0 }),
			"share HTTPRoute admin: 0% to the canary Service; awaits Routes",
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

// TestRaises: a write that gives a version more rests on a release that is read as it is.
func TestRaises(t *testing.T) {
	t.Parallel()
	unwhole := func(_ *Goal, s *Seen) { s.Routes[0].Whole = false }
	second := func(weight int32) func(*Goal, *Seen) {
		return func(_ *Goal, s *Seen) {
			r := s.Routes[0]
			r.Name, r.Share.Weight = "admin", weight
			s.Routes = append(s.Routes, r)
		}
	}
	tests := map[string]struct {
		scene *scene
		want  bool
	}{
		"more":                         {forward(50, 5).gets(10), true},
		"less":                         {forward(10, 5).gets(50), false},
		"what another route has":       {forward(50, 5).gets(50).but(second(10)), true},
		"what it had":                  {forward(10, 1).gets(10).but(unwhole), false},
		"matches":                      {forward(0, 1).but(matching), true},
		"... that it had":              {forward(0, 1).but(matching).but(matched).but(unwhole), false},
		"more, and matches go with it": {forward(20, 2).gets(10).but(matched), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if n := Next(test.scene.goal, test.scene.seen); len(n.Writes) == 0 || n.Raises != test.want {
				t.Errorf("%v raise: %t, want %t", n.Writes, n.Raises, test.want)
			}
		})
	}
}

func TestPodsOfGuards(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"routes that were just given back":                    {forward(10, 1).but(unheld).but(since(moment)), "keep v1 10, v2 10; grow ; most 0"},
		"... a while ago":                                     {forward(10, 1).but(unheld), "keep v1 10; grow ; most 0"},
		"... in a rollback":                                   {forward(0, 10).way(Back).but(unheld), "keep ; grow ; most 0"},
		"old pods are kept of which nobody knows the version": {forward(100, 10).gets(100).but(keepOld).stable(taken), "keep all; grow  10; most 20"},
		"pods of a side that gets some are kept, whichever":   {forward(10, 1).gets(10).canary(taken), "keep all; grow v1 10; most 11"},
		"old pods are kept, but not for a rollback": {
			forward(0, 10).way(Back).gets(25).stable(Side{Made: true, Revision: "v1", Ready: 6}).but(keepOld), "keep v1 8, v2 2; grow v1 10; most 0",
		},
		"a version that another one takes the place of is left": {forward(10, 1).gets(50).canary(made("v1.5", 5)), "keep v1 10, v1.5 10; grow v1 10; most 11"},
		"... and needs no more than are enough":                 {forward(10, 1).gets(50).stable(made("v1", 0)).canary(made("v1.5", 5)), "keep v1 5, v1.5 4; grow v1 10; most 11"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.scene.pods(); got != test.want {
				t.Errorf("pods\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// TestFitsOfRefusedPods checks that pods which are refused don't count for requests.
func TestFitsOfRefusedPods(t *testing.T) {
	t.Parallel()
	for stuck, want := range map[bool]int32{false: 30, true: 10} {
		goal := Goal{Way: Forward, Stable: "v1", Canary: "v2", Pods: 3, Replicas: 10, Least: 10, Stuck: stuck}
		seen := Seen{Stable: Side{Made: true, Revision: "v1", Ready: 10}, Canary: Side{Made: true, Revision: "v2", Ready: 1}}
		if got := newNext(goal, seen).fits(); got != want {
			t.Errorf("stuck %t: fits = %d%%, want %d%%", stuck, got, want)
		}
	}
}
