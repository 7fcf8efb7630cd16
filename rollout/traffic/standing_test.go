package traffic

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const (
	moment = 2 * time.Second
	drain  = 10 * time.Second
	long   = time.Hour
	// patient is for how long a status is waited for on the way back.
	patient = 5 * time.Minute
)

var web = v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}

// taken is a side whose name is somebody else's Service.
var taken = Side{Problem: &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNameTaken}}

// scene is a release of v2 over v1, of 10 pods of which 8 are enough.
type scene struct {
	goal Goal
	seen Seen
}

func forward(weight, pods int32) *scene {
	return &scene{
		goal: Goal{
			Stable: "v1", Canary: "v2", Share: Share{Weight: weight}, Pods: pods, Available: true,
			Replicas: 10, Least: 8, Ready: 10, ReadyFor: moment, DrainFor: drain, Patience: patient,
		},
		seen: Seen{InEffect: long, Services: true, Stable: made("v1", 10), Canary: made("v2", pods), Routes: []Route{{
			TrafficRoute: web, Named: true, Held: true, Whole: true, Accepted: true,
		}}},
	}
}

func made(revision string, ready int32) Side {
	return Side{Made: true, Revision: revision, Ready: ready, Steady: long, Empty: ready == 0}
}

func (s *scene) way(w Way) *scene {
	s.goal.Way = w
	if w == Back {
		s.goal.Canary, s.goal.Share = "", Share{}
	}
	return s
}

func (s *scene) gets(weight int32) *scene {
	for i := range s.seen.Routes {
		s.seen.Routes[i].Share.Weight = weight
	}
	return s
}

func (s *scene) stable(side Side) *scene {
	s.seen.Stable = side
	return s
}

func (s *scene) canary(side Side) *scene {
	s.seen.Canary = side
	return s
}

func (s *scene) but(change func(*Goal, *Seen)) *scene {
	change(&s.goal, &s.seen)
	return s
}

func unheld(_ *Goal, s *Seen) {
	s.Routes[0] = Route{TrafficRoute: web, Named: true, Accepted: true}
}

func since(d time.Duration) func(*Goal, *Seen) { return func(_ *Goal, s *Seen) { s.InEffect = d } }

func keepOld(g *Goal, _ *Seen) { g.KeepOld = true }

func alone(g *Goal, _ *Seen) { g.Alone = true }

func matching(g *Goal, _ *Seen) {
	g.Share.Matches = []v1alpha1.RequestMatch{{Headers: []v1alpha1.ValueMatch{{Name: "canary", Value: "yes"}}}}
}

func matched(_ *Goal, s *Seen) {
	g := &Goal{}
	matching(g, s)
	s.Routes[0].Share.Matches = g.Share.Matches
}

// script returns the next writes in a few words.
func (s *scene) script() string {
	n := Next(s.goal, s.seen)
	var words []string
	for i, w := range n.Repairs {
		words = append(words, map[bool]string{true: "repairs: "}[i == 0]+w.String())
	}
	for _, w := range n.Writes {
		words = append(words, w.String())
	}
	if n.HoldsUp {
		words = append(words, "holds up")
	}
	if n.Done {
		words = append(words, "done")
	}
	if n.Awaits != "" {
		words = append(words, "awaits "+string(n.Awaits))
	}
	if n.Problem != nil {
		words = append(words, "problem "+string(n.Problem.Type))
	}
	if n.GivesUp > 0 {
		words = append(words, "gives up after "+n.GivesUp.String())
	}
	if n.GaveUp {
		words = append(words, "gave up on "+strings.Join(n.Pending, ", "))
	}
	if n.Wake > 0 {
		words = append(words, "wakes after "+n.Wake.String())
	}
	return strings.Join(words, "; ")
}

func TestNext(t *testing.T) {
	t.Parallel()
	const (
		toNothing = "share HTTPRoute web: 0% to the canary Service; awaits Routes"
		nobody    = "share HTTPRoute web: 0% to the canary Service; awaits Endpoints"
	)
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"the sides are made first": {
			forward(10, 1).but(unheld).stable(Side{}).canary(Side{}),
			"have the stable Services select revision v1; have the canary Services select revision v2; holds up; awaits Services",
		},
		"endpoints of the stable side have to be ready": {
			forward(10, 1).but(unheld).stable(made("v1", 0)), "holds up; awaits Endpoints",
		},
		"... as many as are enough for all requests": {
			forward(10, 1).but(unheld).stable(made("v1", 7)), "holds up; awaits Endpoints",
		},
		"... for a moment": {
			forward(10, 1).but(unheld).stable(Side{Made: true, Revision: "v1", Ready: 8, Steady: time.Second}),
			"holds up; awaits Endpoints; wakes after 1s",
		},
		"then the routes refer to the sides": {
			forward(10, 1).but(unheld).canary(made("v2", 0)).but(func(g *Goal, _ *Seen) { g.Available = false }),
			"share HTTPRoute web: 0% to the canary Service; holds up; awaits Routes",
		},
		"the pods of a step come before its share": {
			forward(10, 1).canary(made("v2", 0)).but(func(g *Goal, _ *Seen) { g.Available = false }), "",
		},
		"their endpoints have to be ready": {forward(10, 1).canary(made("v2", 0)), "awaits Endpoints"},
		"... all of them":                  {forward(20, 2).canary(made("v2", 1)), "awaits Endpoints"},
		"... their endpoints have to be ready: for a moment": {
			forward(10, 1).canary(Side{Made: true, Revision: "v2", Ready: 1, Steady: time.Second}), "awaits Endpoints; wakes after 1s",
		},
		"then requests come":                             {forward(10, 1), "share HTTPRoute web: 10% to the canary Service; awaits Routes"},
		"until the status tells of it":                   {forward(10, 1).gets(10).but(func(_ *Goal, s *Seen) { s.Routes[0].Accepted = false }), "awaits Routes"},
		"... until the status tells of it: for a moment": {forward(10, 1).gets(10).but(since(0)), "awaits Routes; wakes after 2s"},
		"then the step is done":                          {forward(10, 1).gets(10), "done"},
		"... though pods stay for a while":               {forward(10, 1).gets(10).but(since(moment)), "done; wakes after 8s"},
		"a share that its pods can't bear":               {forward(50, 1), "awaits Capacity"},
		"... unless the release says so":                 {forward(50, 1).but(func(g *Goal, _ *Seen) { g.Overload = true }), "share HTTPRoute web: 50% to the canary Service; awaits Routes"},
		"matches come with the pods":                     {forward(0, 1).but(matching), "share HTTPRoute web: 0% to the canary Service, and requests that match; awaits Routes"},
		"a route that somebody has changed":              {forward(10, 1).gets(10).but(func(_ *Goal, s *Seen) { s.Routes[0].Whole = false }), "share HTTPRoute web: 10% to the canary Service; awaits Routes"},
		"what is not named any more":                     {forward(10, 1).gets(10).but(func(_ *Goal, s *Seen) { s.Routes[0].Named = false }), "restore HTTPRoute web; awaits Routes"},
		"nobody is ready to answer":                      {forward(10, 1).gets(10).canary(made("v2", 0)), nobody},
		"... on either side":                             {forward(10, 1).gets(10).canary(made("v2", 0)).stable(made("v1", 0)), "done"},
		"a jump back":                                    {forward(10, 5).gets(50).but(keepOld), "share HTTPRoute web: 10% to the canary Service; awaits Routes"},
		"... as far as the other side bears":             {forward(10, 5).gets(50).stable(made("v1", 5)), "share HTTPRoute web: 37% to the canary Service; awaits Capacity"},
		"... and more once more pods are":                {forward(10, 5).gets(37).stable(made("v1", 7)), "share HTTPRoute web: 12% to the canary Service; awaits Capacity"},
		"... a little more waits for a moment":           {forward(10, 5).gets(37).stable(Side{Made: true, Revision: "v1", Ready: 5, Steady: 0}), "awaits Capacity"},
		"matches go": {
			forward(0, 3).but(matched).canary(made("v2", 1)).but(func(g *Goal, _ *Seen) { g.Available = false }), toNothing,
		},
		"matches go: in a rollback": {forward(0, 10).way(Back).but(matched).canary(made("v2", 1)), toNothing},
		"matches go: while another release takes its place": {
			forward(0, 3).but(matched).canary(made("v1.5", 1)).but(func(g *Goal, _ *Seen) { g.Available = false }), toNothing,
		},
		"a release that is stopped":    {forward(50, 5).gets(10).way(Stand), "done"},
		"a rollback":                   {forward(0, 10).way(Back).gets(50), toNothing},
		"... whose pods are not ready": {forward(0, 10).way(Back).gets(50).stable(made("v1", 0)), "awaits Endpoints"},
		"... as far as its pods bear":  {forward(0, 10).way(Back).gets(100).stable(made("v1", 2)), "share HTTPRoute web: 75% to the canary Service; awaits Capacity"},
		"... to what has no side":      {forward(0, 10).way(Back).gets(100).stable(made("v0", 0)), "have the stable Services select revision v1; holds up; awaits Services"},
		"... to what has none, while another serves": {
			forward(0, 10).way(Back).gets(30).stable(made("v0", 10)), "share HTTPRoute web: 0% to the canary Service; holds up; awaits Routes",
		},
		"... is done before the other pods are gone": {forward(0, 10).way(Back), "done"},
		"... then the routes get back what they had": {forward(0, 10).way(Back).canary(made("v2", 0)).but(alone), "restore HTTPRoute web; awaits Routes"},
		"... not at once":                 {forward(0, 10).way(Back).canary(made("v2", 0)).but(alone).but(since(moment)), "done; awaits Drain; wakes after 8s"},
		"... and that is it":              {forward(0, 10).way(Back).but(unheld), "done"},
		"another release in the middle":   {forward(10, 1).gets(50).canary(made("v1.5", 5)), "share HTTPRoute web: 0% to the canary Service; awaits Routes"},
		"... waits for what is under way": {forward(10, 1).gets(0).canary(made("v1.5", 5)).but(since(moment)), "awaits Drain; wakes after 8s"},
		"... and then has its side":       {forward(10, 1).gets(0).canary(made("v1.5", 5)), "have the canary Services select revision v2; awaits Services"},
		"another release where all requests have come to the one before": {
			forward(10, 1).gets(100).stable(made("v1", 0)).canary(made("v1.5", 10)), "have the stable Services select revision v1.5; awaits Services",
		},
		"... which then serves": {forward(10, 1).gets(100).stable(made("v1.5", 10)).canary(made("v1.5", 10)), toNothing},
		"the end waits for the old pods": {
			forward(100, 10).way(End).gets(100).stable(made("v1", 2)), "",
		},
		"... the end waits for the old pods: then the routes get back what they had": {
			forward(100, 10).way(End).gets(100).stable(made("v1", 0)).but(alone), "restore HTTPRoute web; awaits Routes",
		},
		"... and that is in effect":                  {forward(100, 10).way(End).but(unheld), "done"},
		"... after a moment":                         {forward(100, 10).way(End).but(unheld).but(since(0)), "awaits Routes; wakes after 2s"},
		"what is left is given back":                 {forward(10, 1).way(Leave).gets(10), "restore HTTPRoute web; awaits Routes"},
		"... and nobody is sent to Services that go": {forward(10, 1).way(Rest).but(unheld).but(since(moment)), "awaits Drain; wakes after 8s"},
		"... before they go":                         {forward(10, 1).way(Rest).but(unheld), "delete the stable and canary Services; done"},
		"without pods there is nothing to share": {
			forward(10, 1).but(unheld).but(func(g *Goal, _ *Seen) { g.Replicas, g.Least = 0, 0 }), "done",
		},
		"where no route can be read": {
			forward(10, 1).gets(10).but(func(_ *Goal, s *Seen) {
				s.Off, s.Routes = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficDisabled}, nil
			}), "holds up; problem Disabled",
		},
		"a route that can't be shared": {
			forward(10, 1).but(unheld).but(func(_ *Goal, s *Seen) {
				s.Routes[0].Problem = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficRouteNotFound}
			}), "holds up; problem RouteNotFound",
		},
		"the name of a side is taken": {
			forward(10, 0).canary(Side{Problem: &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNameTaken}}), "holds up; problem NameTaken",
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

// pods returns the requirements of a standing on the pods, in a few words.
func (s *scene) pods() string {
	n := Next(s.goal, s.seen)
	list := func(pods map[string]int32) string {
		var words []string
		for _, revision := range slices.Sorted(maps.Keys(pods)) {
			words = append(words, fmt.Sprintf("%s %d", revision, pods[revision]))
		}
		return strings.Join(words, ", ")
	}
	keep := list(n.Keep)
	if n.KeepAll {
		keep = "all"
	}
	return fmt.Sprintf("keep %s; grow %s; most %d", keep, list(n.Grow), n.Most)
}

func TestPods(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"each side has the pods for its share": {forward(30, 3).gets(30), "keep v1 7, v2 3; grow v1 7; most 10"},
		"... rounded up":                       {forward(33, 4).gets(33), "keep v1 7, v2 4; grow v1 7; most 11"},
		"before requests move both need pods":  {forward(50, 5).gets(10).canary(made("v2", 1)), "keep v1 9, v2 1; grow v1 9; most 14"},
		"what was written is not in effect": {
			forward(50, 5).gets(50).but(func(_ *Goal, s *Seen) { s.Routes[0].Accepted = false }), "keep v1 10, v2 10; grow v1 5; most 10",
		},
		"... or has not been for long":         {forward(50, 5).gets(50).but(since(moment)), "keep v1 10, v2 10; grow v1 5; most 10"},
		"old pods are kept":                    {forward(50, 10).gets(50).but(keepOld), "keep v1 10, v2 5; grow v1 10; most 20"},
		"... until the end":                    {forward(100, 10).way(End).gets(100).but(keepOld), "keep v1 10, v2 10; grow v2 10; most 20"},
		"... when they go":                     {forward(100, 10).way(End).gets(100), "keep v1 0, v2 10; grow v2 10; most 0"},
		"a side that is left needs fewer pods": {forward(0, 10).way(Back).gets(30).stable(made("v1", 6)).but(since(long)), "keep v1 10, v2 10; grow v1 10; most 0"},
		"... once requests have moved": {
			forward(0, 10).way(Back).gets(25).stable(Side{Made: true, Revision: "v1", Ready: 6}), "keep v1 8, v2 2; grow v1 10; most 0",
		},
		"a jump back brings pods of the other side": {
			forward(10, 5).gets(30).stable(Side{Made: true, Revision: "v1", Ready: 5}), "keep v1 7, v2 3; grow v1 9; most 14",
		},
		"whatever is matched needs a pod": {
			forward(0, 1).but(matching).but(func(g *Goal, s *Seen) { s.Routes[0].Share = g.Share }), "keep v1 10, v2 1; grow v1 10; most 11",
		},
		"nothing is known": {
			forward(10, 1).but(func(_ *Goal, s *Seen) {
				s.Off, s.Routes = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficDisabled}, nil
			}), "keep all; grow ; most 0",
		},
		"... nor may be, and traffic was taken out": {
			forward(10, 1).way(Leave).but(func(_ *Goal, s *Seen) {
				s.Off, s.Routes = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficDisabled}, nil
			}), "keep all; grow ; most 0",
		},
		"traffic was taken out, and with it what the Services were for": {
			forward(10, 1).way(Leave).but(unheld).stable(Side{}).canary(Side{}).but(since(moment)), "keep all; grow ; most 0",
		},
		"... a while ago": {forward(10, 1).way(Leave).but(unheld).stable(Side{}).canary(Side{}), "keep ; grow ; most 0"},
		"nobody knows where requests for the old version go": {
			forward(10, 10).gets(10).but(keepOld).stable(taken), "keep all; grow  10; most 20",
		},
		"... nor those for the new one":          {forward(10, 1).gets(10).canary(Side{Made: true}), "keep all; grow v1 10; most 11"},
		"... which gets none in a rollback":      {forward(0, 1).way(Back).canary(Side{Made: true}), "keep  0, v1 10; grow v1 10; most 0"},
		"... and the old one none at the end":    {forward(100, 10).way(End).gets(100).stable(taken), "keep  0, v2 10; grow v2 10; most 0"},
		"... where it is kept until the delay":   {forward(100, 10).way(End).gets(100).but(keepOld).stable(Side{}), "keep all; grow v2 10; most 20"},
		"what stands grows as its requests need": {forward(50, 5).way(Stand).gets(30), "keep v1 7, v2 3; grow v1 7, v2 3; most 12"},
		"... no further than its step":           {forward(20, 2).way(Stand).gets(30), "keep v1 10, v2 10; grow v1 8, v2 2; most 10"},
		"a route begins when enough old pods are there": {
			forward(0, 4).but(unheld).stable(made("v1", 3)), "keep v1 10; grow v1 10; most 14",
		},
		"routes differ where a pass ended between two writes": {
			forward(30, 3).but(func(_ *Goal, s *Seen) {
				s.Routes = append(s.Routes, s.Routes[0])
				s.Routes[1].Share.Weight = 30
				s.InEffect = long
			}), "keep v1 10, v2 10; grow v1 10; most 13",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.scene.pods()); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}
