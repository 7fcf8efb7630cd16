package plan

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/crdcheck"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

func TestBounded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"a sentence":      {"all pods run revision v2", "all pods run revision v2"},
		"as much as fits": {strings.Repeat("é", maxText), strings.Repeat("é", maxText)},
		"more":            {strings.Repeat("é", maxText+1), strings.Repeat("é", maxText) + "…"},
		"no UTF-8":        {"a\xffb", "a b"},
		"steers a screen": {"a\x1b[2J\r\nb\u202ec\u009bd", "a [2J b c d"},
		"a command":       {"##vso[task.setvariable variable=x]y", "## vso[task.setvariable variable=x]y"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := bounded(test.text)
			if got != test.want || !utf8.ValidString(got) {
				t.Errorf("bounded has %d bytes, want %d", len(got), len(test.want))
			}
			if again := bounded(got); len(test.text) <= 2*maxText && again != got {
				t.Errorf("bounded a second time has %d bytes, once %d: the status would change for ever", len(again), len(got))
			}
		})
	}
}

// TestStatusIsTakenWhateverItQuotes: the status, and with it the record of a rollback, can be
// written whatever text of people or the API server it quotes, of any length.
func TestStatusIsTakenWhateverItQuotes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 40_000)
	freeze := `{"reason":"` + long + `"}`
	tests := map[string]struct {
		scene *scene
		done  func(Plan) bool
	}{
		"a freeze": {
			held(10).sets(set("v1", 9), set("v2", 1)).annotated(v1alpha1.FreezeAnnotation, freeze),
			func(p Plan) bool { return p.Status.Reason == v1alpha1.ReasonFrozen },
		},
		"a rollback while it is frozen": {
			held(10).sets(set("v1", 9), set("v2", 1)).annotated(v1alpha1.FreezeAnnotation, freeze).
				annotated(v1alpha1.RollbackAnnotation, "true"),
			func(p Plan) bool { return p.StatusFirst && p.Status.RolledBackTo() == "v1" },
		},
		"a template that is refused": {
			completed(10).but(func(o *Observation) {
				o.Resolved = &Resolved{Refused: long, ResolvedTemplate: v1alpha1.ResolvedTemplate{Given: o.Given}}
			}),
			func(p Plan) bool { return strings.Contains(outcomeOf(p).Stalled, v1alpha1.ReasonInvalidTemplate) },
		},
		"pods that fail, and a rollback for it": {
			held(10).sets(set("v1", 10), set("v2", 1, available(0))).but(failing(long)).but(func(o *Observation) {
				o.Watched.Progress = tenMinutes
				o.Release.Spec.Strategy.OnFailure = v1alpha1.FailureRollback
			}),
			func(p Plan) bool { return p.StatusFirst && p.Status.Rollback != nil },
		},
		"what will not fit": {
			completed(10).but(func(o *Observation) { o.Preflight = &preflight.Findings{WillNotFit: []string{long}} }),
			func(p Plan) bool { return p.Status.Reason == v1alpha1.ReasonWillNotFit },
		},
		"a hold that somebody wrote into": {
			held(10).sets(set("v1", 9), set("v2", 1)).but(func(o *Observation) {
				o.Workload.Hold.Change = ExternalChange{Kind: "no word at all", Message: long}
			}),
			func(p Plan) bool { return p.Status.Reason == v1alpha1.ReasonDrifted },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := next(t, test.scene)
			if !test.done(p) {
				t.Errorf("it comes to %+v", outcomeOf(p))
			}
			if err := crdcheck.Status(&p.Status); err != nil {
				t.Errorf("the API server refuses the status: %.500s", err)
			}
		})
	}
}
