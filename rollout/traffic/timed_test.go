package traffic

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestTimed: the rest of the goal's times is reported only without another wait: unconfirmed
// routes, problems, writes, missing pods and missing endpoints are no wait for a time.
func TestTimed(t *testing.T) {
	t.Parallel()
	settled := func() *scene { return forward(10, 1).gets(10) }
	unaccepted := func(_ *Goal, s *Seen) { s.Routes[0].Accepted = false }
	spent := func(d time.Duration) func(*Goal, *Seen) { return func(g *Goal, _ *Seen) { g.Timed = d } }
	fresh := func(revision string, ready int32) Side {
		return Side{Made: true, Revision: revision, Ready: ready, Steady: time.Second}
	}
	returned := func() *scene { return forward(0, 10).way(Back) }
	for name, test := range map[string]struct {
		scene *scene
		want  time.Duration
	}{
		"nothing is waited for": {settled(), 0},
		"pods stay":             {settled().but(since(moment)), drain - moment},
		"... and routes are not in effect for long":   {settled().but(since(time.Second)), drain - time.Second},
		"... and nobody tells that they are":          {settled().but(since(moment)).but(unaccepted), 0},
		"... and something is wrong":                  {settled().but(since(moment)).canary(taken), 0},
		"... and a route is to be written":            {forward(50, 5).gets(10).but(since(moment)), 0},
		"... and more pods are needed for this share": {forward(50, 3).gets(10).but(since(moment)), 0},
		"... and a route has lost its annotation":     {settled().but(since(moment)).but(func(_ *Goal, s *Seen) { s.Routes[0].Strays = true }), 0},
		"... by a bound":                              {settled().but(since(moment)).but(spent(25 * time.Second)), 3 * time.Second},
		"... that is used up":                         {settled().but(since(moment)).but(spent(time.Hour)), 0},
		"endpoints are ready, and not for long":       {forward(10, 1).canary(fresh("v2", 1)), time.Second},
		"... fewer than the step says":                {forward(20, 2).canary(fresh("v2", 1)).but(since(moment)), 0},
		"... of the version that goes on":             {forward(10, 1).but(unheld).stable(fresh("v1", 8)), time.Second},
		"... where more are needed":                   {forward(10, 1).but(unheld).stable(fresh("v1", 7)), 0},
		"nobody is sent to the other version soon":    {forward(10, 1).gets(0).canary(made("v1.5", 5)).but(since(moment)), drain - moment},
		"routes were given back, and are read":        {forward(0, 1).but(unheld).but(unresolved).canary(made("v9", 1)).but(func(_ *Goal, s *Seen) { s.Observed = moment }), drain - moment},
		"a Gateway is waited for on the way back":     {returned().but(silent(patient - time.Second)), 0},
		"... and no more, but for those who follow":   {returned().but(silent(patient + moment)), drain - moment},
		"... and that is over":                        {returned().but(silent(patient + drain)), 0},
		"a route that is gone, on the way back":       {returned().but(beside(0)).but(lost).but(since(moment)), drain - moment},
		"traffic was taken out":                       {forward(10, 1).way(Leave).but(unheld).but(since(moment)), drain - moment},
		"no route can be read": {settled().but(since(moment)).but(func(_ *Goal, s *Seen) {
			s.Off = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficDisabled}
		}), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Next(test.scene.goal, test.scene.seen).Timed; got != test.want {
				t.Errorf("%s of it are left, want %s: %s", got, test.want, test.scene.script())
			}
		})
	}
}
