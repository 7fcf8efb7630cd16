package traffic

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// outdated returns a side of which somebody has changed a Service, or what it copies of the user's.
// It has so many ready endpoints: none if it may lead elsewhere.
func outdated(revision string, ready int32) Side {
	return Side{Made: true, Revision: revision, Ready: ready, Outdated: true}
}

func TestRepairs(t *testing.T) {
	t.Parallel()
	const stable, canary = "have the stable Services select revision v1", "have the canary Services select revision v2"
	unwritable := func(names ...SideName) func(*Goal, *Seen) {
		return func(g *Goal, _ *Seen) { g.Unwritable = names }
	}
	taken := func(s Side) Side {
		s.Problem = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNotShareable}
		return s
	}
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"what was changed is put back first":                  {forward(50, 5).gets(10).canary(outdated("v2", 5)), "repairs: " + canary + "; awaits Services"},
		"... of both sides":                                   {forward(50, 5).gets(10).stable(outdated("v1", 10)).canary(outdated("v2", 5)), "repairs: " + stable + "; " + canary + "; awaits Services"},
		"... before requests go elsewhere for it":             {forward(50, 5).gets(50).canary(outdated("v2", 0)), "repairs: " + canary + "; awaits Services"},
		"... where the release is stopped":                    {forward(50, 5).way(Stand).gets(50).stable(outdated("v1", 0)), "repairs: " + stable + "; awaits Services"},
		"... at the end":                                      {forward(100, 10).way(End).gets(100).stable(outdated("v1", 0)), "repairs: " + stable + "; awaits Services"},
		"... in a rollback":                                   {forward(0, 10).way(Back).gets(50).canary(outdated("v2", 5)), "repairs: " + canary + "; awaits Services"},
		"... to the revision that it has":                     {forward(10, 1).gets(50).canary(outdated("v1.5", 5)), "repairs: have the canary Services select revision v1.5; awaits Services"},
		"nothing waits for what is refused":                   {forward(0, 10).way(Back).gets(50).canary(outdated("v2", 5)).but(unwritable(CanarySide)), "repairs: " + canary + "; share HTTPRoute web: 0% to the canary Service; awaits Routes"},
		"... and a side that may lead elsewhere gets nothing": {forward(50, 5).gets(50).canary(outdated("v2", 0)).but(unwritable(CanarySide)), "repairs: " + canary + "; share HTTPRoute web: 0% to the canary Service; awaits Endpoints"},
		"what can't have sides any more goes on":              {forward(50, 5).gets(50).canary(taken(outdated("v2", 5))), "problem NotShareable"},
		"routes that are given back need no sides":            {forward(50, 5).way(Leave).gets(50).canary(outdated("v2", 0)), "restore HTTPRoute web; awaits Routes"},

		"what is lost is put back where the release is stopped": {forward(50, 5).way(Stand).gets(50).stable(Side{}), "have the stable Services select revision v1; awaits Services"},
		"... of the canary side":                                {forward(50, 5).way(Stand).gets(50).canary(Side{}), canary + "; holds up; awaits Services"},
		"... when the release ends":                             {forward(100, 10).way(End).gets(100).stable(Side{}), "have the stable Services select revision v1; awaits Services"},
		"... and another revision is not, then":                 {forward(50, 5).way(Stand).gets(0).canary(made("v1.5", 5)), "done"},
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
