package traffic

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// silent makes a Gateway keep its entry in the status, and not update it any more.
func silent(unchanged time.Duration) func(*Goal, *Seen) {
	return func(_ *Goal, s *Seen) {
		s.Routes[0].Accepted, s.Routes[0].Pending, s.InEffect, s.Unchanged = false, []string{"dead"}, 0, unchanged
	}
}

// unresolved makes a Gateway that has long read the route miss one of its backends.
func unresolved(_ *Goal, s *Seen) {
	s.Routes[0].Accepted, s.Routes[0].Observed, s.Routes[0].Pending = false, true, []string{"live"}
	s.InEffect, s.Observed, s.Unchanged = 0, long, 0
}

// revoked takes away a grant for a route of another namespace.
func revoked(_ *Goal, s *Seen) {
	s.Routes[0].Ungranted, s.Routes[0].Problem = true, &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNotGranted}
}

// strayed makes a route orphaned.
func strayed(_ *Goal, s *Seen) {
	s.Routes[0].Held, s.Routes[0].Strays = false, true
	s.Unchanged = long
}

// lost removes a route.
func lost(_ *Goal, s *Seen) {
	s.Routes[0] = Route{TrafficRoute: web, Named: true, Accepted: true, Problem: &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficRouteNotFound}}
}

// edited makes a route refer to the user's Service again.
func edited(_ *Goal, s *Seen) { s.Routes[0].Whole = false }

func immediate(g *Goal, _ *Seen) { g.ReadyFor, g.DrainFor = 0, 0 }

// TestPatience: the status of a route is waited for on the way back, and in the end, but not for
// ever; and for ever before a version gets more.
func TestPatience(t *testing.T) {
	t.Parallel()
	const enough = patient + drain
	leaves := func() *scene { return forward(50, 5).way(Leave).but(unheld) }
	returned := func() *scene { return forward(0, 10).way(Back) }
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"a release that is deleted waits for a Gateway": {
			leaves().but(silent(moment)), "awaits Drain; gives up after 5m8s; wakes after 5m8s",
		},
		"... also where it need not drain":  {leaves().but(silent(moment)).but(immediate), "awaits Drain; gives up after 4m58s; wakes after 4m58s"},
		"... until it was silent for long":  {leaves().but(silent(enough)), "done; gave up on HTTPRoute web: dead"},
		"... or somebody changes the route": {leaves().but(since(0)).but(func(_ *Goal, s *Seen) { s.Unchanged = enough }), "done; wakes after 10s"},
		"a completed release deletes the Services without it": {
			forward(100, 10).way(Rest).but(unheld).but(silent(enough)), "delete the stable and canary Services; done; gave up on HTTPRoute web: dead",
		},
		"... and not before": {
			forward(100, 10).way(Rest).but(unheld).but(silent(patient)), "awaits Drain; gives up after 10s; wakes after 10s",
		},
		"who has read the route is not waited for in a deletion":                      {leaves().but(unresolved), "done"},
		"... nor in a rollback":                                                       {returned().but(unresolved).but(alone).canary(made("v2", 0)), "restore HTTPRoute web; awaits Routes"},
		"... nor in the end":                                                          {forward(100, 10).way(End).but(unheld).but(unresolved), "done"},
		"... before the canary side selects another version":                          {forward(0, 1).but(unheld).but(unresolved).canary(made("v9", 1)), "have the canary Services select revision v2; holds up; awaits Services"},
		"... but before a version gets more":                                          {forward(50, 5).gets(50).but(unresolved), "awaits Routes"},
		"what strays in another namespace without consent is not waited for for ever": {leaves().but(strayed).but(revoked), "done; problem NotGranted"},
		"... nor once the release has ended":                                          {forward(100, 10).way(End).but(unheld).but(strayed).but(revoked), "done; problem NotGranted"},
		"... but with consent":                                                        {leaves().but(strayed), "awaits Drain"},
		"a rollback waits for a Gateway":                                              {returned().but(silent(moment)), "awaits Routes; gives up after 5m8s; wakes after 5m0s"},
		"... goes on without it":                                                      {returned().but(silent(patient + moment)), "done; gives up after 8s; gave up on HTTPRoute web: dead; wakes after 8s"},
		"... gives the route back":                                                    {returned().but(silent(enough)).but(alone).canary(made("v2", 0)), "restore HTTPRoute web; awaits Routes; gave up on HTTPRoute web: dead"},
		"... and has no more to wait for":                                             {returned().but(unheld).but(silent(0)).canary(made("v2", 0)), "done"},
		"the end gives the route back":                                                {forward(100, 10).way(End).gets(100).but(alone).stable(made("v1", 0)).but(silent(enough)), "restore HTTPRoute web; awaits Routes; gave up on HTTPRoute web: dead"},
		"... waits":                                                                   {forward(100, 10).way(End).but(unheld).but(silent(moment)), "awaits Routes; gives up after 5m0s; wakes after 5m0s"},
		"... hands the workload back":                                                 {forward(100, 10).way(End).but(unheld).but(silent(patient + moment)), "done; gave up on HTTPRoute web: dead"},
		"more requests wait for ever":                                                 {forward(50, 5).gets(50).but(silent(long)), "awaits Routes"},
		"... as does a release that stops":                                            {forward(50, 5).way(Stand).gets(50).but(silent(long)), "awaits Routes"},
		"... and the first pods": {
			forward(0, 1).canary(made("v2", 0)).but(silent(long)).but(immediate), "holds up; awaits Routes",
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

// TestPatienceOfAnotherStage: the wait begins with a rollback or the end, also where that has begun
// in the same pass.
func TestPatienceOfAnotherStage(t *testing.T) {
	t.Parallel()
	s := forward(0, 10).way(Back).but(silent(long)).but(func(g *Goal, s *Seen) { g.Stage, s.Stage = "back", "forward" })
	if got, want := s.script(), "awaits Routes; gives up after 5m10s; wakes after 5m2s"; got != want {
		t.Errorf("next %s, want %s", got, want)
	}
}

// TestRevokedGrant: a release may take back the weight of a route's canary side without a grant,
// and no more.
func TestRevokedGrant(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"nobody gets more":              {forward(50, 5).gets(10).but(revoked), "problem NotGranted"},
		"... nor what somebody changed": {forward(50, 5).gets(50).but(revoked).but(edited), "awaits Routes; problem NotGranted"},
		"a jump back takes requests back": {
			forward(10, 5).gets(50).but(revoked), "share HTTPRoute web: 10% to the canary Service; awaits Routes; problem NotGranted",
		},
		"... which no other matches come with": {
			forward(10, 5).gets(50).but(matching).but(revoked), "problem NotGranted",
		},
		"a version without endpoints gets none": {
			forward(50, 5).gets(50).canary(made("v2", 0)).but(revoked), "share HTTPRoute web: 0% to the canary Service; awaits Endpoints; problem NotGranted",
		},
		"a rollback takes requests back": {
			forward(0, 10).way(Back).gets(50).but(revoked), "share HTTPRoute web: 0% to the canary Service; awaits Routes; problem NotGranted; wakes after 5m0s",
		},
		"... also by matches": {
			forward(0, 10).way(Back).but(matched).but(revoked), "share HTTPRoute web: 0% to the canary Service; awaits Routes; problem NotGranted; wakes after 5m0s",
		},
		"... is done":       {forward(0, 10).way(Back).but(revoked), "done; problem NotGranted; wakes after 5m0s"},
		"... gives it back": {forward(0, 10).way(Back).but(revoked).but(alone).canary(made("v2", 0)), "restore HTTPRoute web; awaits Routes; problem NotGranted; wakes after 5m0s"},
		"... is not held up by a route that it never had": {
			forward(0, 10).way(Back).but(beside(0)).but(unheld).but(revoked), "done; problem NotGranted",
		},
		"... nor by one that is gone":        {forward(0, 10).way(Back).but(beside(0)).but(lost), "done; problem RouteNotFound"},
		"a release that goes gives it back":  {forward(50, 5).way(Leave).gets(50).but(revoked), "restore HTTPRoute web; awaits Routes; problem NotGranted; wakes after 5m0s"},
		"... and waits for it no more later": {forward(50, 5).way(Leave).gets(50).but(revoked).but(silent(patient + drain)), "restore HTTPRoute web; done; problem NotGranted; gave up on HTTPRoute web: dead"},
		"... nor does a rollback": {
			forward(0, 10).way(Back).but(beside(0)).but(revoked).but(silent(patient + drain)).but(alone).canary(made("v2", 0)),
			"restore HTTPRoute shop; restore HTTPRoute web; awaits Routes; problem NotGranted; gave up on HTTPRoute web: dead",
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
