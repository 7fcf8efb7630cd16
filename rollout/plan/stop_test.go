package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func suspended(o *Observation) { o.Release.Spec.Suspend = true }

// frozen returns a scene whose release bears the annotation.
func (s *scene) frozen(value string) *scene { return s.annotated(v1alpha1.FreezeAnnotation, value) }

// waits says that the template of a revision waits since noon.
func waits(revision string) func(*v1alpha1.BatchReleaseStatus) {
	return func(s *v1alpha1.BatchReleaseStatus) {
		s.Queued = &v1alpha1.QueuedTemplate{ResolvedTemplate: *resolved(revision)}
	}
}

func TestStoppedReleaseStands(t *testing.T) {
	t.Parallel()
	grown := func() *scene { return held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)) }
	checkScripts(t, map[string]scripted{
		"a workload is not taken over":           {running(10).but(suspended), nil},
		"nor by another release":                 {completed(10).but(suspended), nil},
		"no step is carried on":                  {grown().but(suspended), nil},
		"no step is entered, though gates pass":  {doneStep().gates(gate(1, 0, 0, passed)).but(suspended), nil},
		"nor the first":                          {held(10).sets(set("v1", 10)).status(noBatch).but(suspended), nil},
		"no gate is opened":                      {doneStep().but(suspended), nil},
		"what is held is paused again":           {grown().but(suspended).but(func(o *Observation) { deploymentOf(o.Workload).Paused = false }), []string{"take over: " + string(unpausedReason)}},
		"spec.replicas is followed by old pods":  {grown().scaledFrom(8).but(suspended), nil},
		"a freeze stops in the same way":         {grown().frozen(`{"reason":"weekend"}`), nil},
		"a freeze that can't be read stops, too": {grown().frozen(`weekend`), nil},
		"a freeze ends by itself": {
			doneStep().gates(gate(1, 0, 0, passed)).frozen(`{"reason":"weekend","until":"2026-03-02T12:00:00Z"}`),
			script(Next(doneStep().gates(gate(1, 0, 0, passed)).Observation)),
		},
		"a rollback goes on": {
			rollingBack(10).sets(set("v1", 5), set("v2", 5)).but(suspended),
			script(Next(rollingBack(10).sets(set("v1", 5), set("v2", 5)).Observation)),
		},
		"a rollback is begun": {
			grown().but(suspended).annotated(v1alpha1.RollbackAnnotation, "true"),
			script(Next(grown().annotated(v1alpha1.RollbackAnnotation, "true").Observation)),
		},
		"a revert is begun": {
			grown().resolved("v1").but(suspended), script(Next(grown().resolved("v1").Observation)),
		},
	})
}

func noBatch(s *v1alpha1.BatchReleaseStatus) {
	notEntered(s)
	s.Phase = v1alpha1.PhaseInitial
}

func TestStopSaysWhy(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene             *scene
		reason, message   string
		condition, phrase string
		wake              time.Duration
	}{
		"suspended": {
			scene:  held(10).at(0, 1).sets(set("v1", 10)).but(suspended),
			reason: "Suspended", message: "batch 1/3 is on hold: spec.suspend is set",
			condition: "Suspended", phrase: "spec.suspend is set",
		},
		"frozen": {
			scene:  held(10).at(0, 1).sets(set("v1", 10)).frozen(`{"reason":"weekend","until":"2026-03-02T12:10:00Z","commit":"c1"}`),
			reason: "Frozen", message: "batch 1/3 is on hold: frozen until 2026-03-02T12:10:00Z: weekend",
			condition: "Frozen", phrase: "frozen until 2026-03-02T12:10:00Z: weekend", wake: tenMinutes,
		},
		"both": {
			scene:  held(10).at(0, 1).sets(set("v1", 10)).but(suspended).frozen(`{"reason":"weekend"}`),
			reason: "Suspended", message: "batch 1/3 is on hold: spec.suspend is set; frozen: weekend",
			condition: "Suspended", phrase: "spec.suspend is set; frozen: weekend",
		},
		"completed, and nothing waits": {
			scene:  completed(10).resolved("v1").but(suspended),
			reason: "Completed", condition: "Suspended", phrase: "spec.suspend is set",
		},
		"completed, and a template waits": {
			scene:  completed(10).but(suspended),
			reason: "Suspended", message: "revision v2 waits: spec.suspend is set",
			condition: "Suspended", phrase: "spec.suspend is set",
		},
		"a rollback under way": {
			scene:  rollingBack(10).but(suspended),
			reason: "RollingBack", condition: "Suspended", phrase: "spec.suspend is set", wake: longestLook,
		},
		"a failed release": {
			scene: held(10).at(0, 1).sets(set("v1", 10), set("v2", 1, available(0))).but(suspended).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.Phase, s.Failure = v1alpha1.PhaseFailed, &v1alpha1.Failure{DeadlineSeconds: 60, Message: "a pod crashes"}
			}),
			reason: "ProgressDeadlineExceeded", message: "batch 1/3: no progress for 1m0s: a pod crashes", condition: "Suspended", phrase: "spec.suspend is set",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := next(t, test.scene)
			if p.Status.Reason != test.reason || test.message != "" && p.Status.Message != test.message {
				t.Errorf("status says %s: %s; want %s: %s", p.Status.Reason, p.Status.Message, test.reason, test.message)
			}
			is := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionSuspended)
			if is == nil || is.Reason != test.condition || is.Message != test.phrase {
				t.Errorf("condition Suspended is %+v; want %s: %s", is, test.condition, test.phrase)
			}
			if p.Wake() != test.wake {
				t.Errorf("looks again after %v, want %v", p.Wake(), test.wake)
			}
		})
	}
}

func TestStoppedTemplateWaits(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Hour)
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"a new one":              {held(10).resolved("v3").but(suspended), "v3"},
		"only the newest":        {held(10).resolved("v4").but(suspended).status(waits("v3")), "v4"},
		"the one that runs":      {held(10).resolved("v2").but(suspended).status(waits("v3")), ""},
		"one that goes on":       {held(10).resolved("v3").status(waits("v3")), ""},
		"one that is reverted":   {held(10).resolved("v1").but(suspended).status(waits("v3")), ""},
		"one that is refused":    {held(10).resolved("v3").but(refused).but(suspended).status(waits("v4")), ""},
		"in a rollback, as well": {rollingBack(10).resolved("v3").but(suspended), "v3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if queued := next(t, test.scene).Status.Queued; queued != nil {
				got = queued.Revision
			}
			if got != test.want {
				t.Errorf("revision %q waits, want %q", got, test.want)
			}
		})
	}
	s := held(10).resolved("v3").but(suspended).but(func(o *Observation) { o.Resolved = nil }).status(waits("v3"))
	s.Now = later
	if p := next(t, s); p.Needs.Any() || !cmp.Equal(p.Status.Queued, s.Release.Status.Queued) {
		t.Errorf("what waits is resolved once and stays as it is: needs %v, queued %+v", script(p), p.Status.Queued)
	}
}
