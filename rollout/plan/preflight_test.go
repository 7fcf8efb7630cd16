package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// finding answers what stands against the release.
func (s *scene) finding(willNotFit, warnings []string) *scene {
	s.Preflight = &preflight.Findings{WillNotFit: willNotFit, Warnings: warnings}
	return s
}

var full, budget = []string{"the quota is full"}, []string{"the budget is smaller"}

func TestWillNotFit(t *testing.T) {
	t.Parallel()
	ready := func() *scene { return completed(10).resolved("v2") }
	warns := func(o *Observation) { o.Release.Spec.Strategy.Preflight = v1alpha1.PreflightWarn }
	const waits, takes = "Initial - Initial WillNotFit", "Initial - Initial TakingOver"
	takesOver := []string{"take over with the template of the release: release v2"}
	checkPlans(t, map[string]planned{
		"it is looked at before anything is written": {
			ready().but(func(o *Observation) { o.Preflight = nil }), outcome{Script: []string{"needs preflight"}, Is: takes},
		},
		"nothing stands against it": {ready(), outcome{Script: takesOver, Is: takes}},
		"what will not fit waits, and is looked at again": {
			ready().finding(full, budget), outcome{Wake: time.Minute, Is: waits},
		},
		"unless it is to start all the same: then it is said first":   {ready().but(warns).finding(full, nil), outcome{StatusFirst: true, Is: takes}},
		"a warning holds up nothing, and is on record before a write": {ready().finding(nil, budget), outcome{StatusFirst: true, Is: takes}},
		"what is on record is not said again": {
			ready().finding(nil, budget).saved(), outcome{Script: takesOver, Is: takes},
		},
		"it goes on once it fits": {
			ready().finding(full, nil).saved().finding(nil, nil), outcome{Script: takesOver, Is: takes},
		},
		"another template takes its place": {
			ready().finding(full, nil).saved().resolved("v3").finding(nil, nil),
			outcome{Script: []string{"take over with the template of the release: release v3"}, Is: takes},
		},
		"a rollback is not asked": {
			ready().stable("v1", "v0").keep("v0").annotated(v1alpha1.RollbackAnnotation, "v0").saved().but(func(o *Observation) {
				delete(o.Release.Annotations, v1alpha1.RollbackAnnotation)
				o.Preflight = nil
			}),
			outcome{Script: []string{"take over with template v0: release v0"}, Is: "RollingBack - Initial RollingBack"},
		},
		"what is taken over already is not asked": {
			held(10).sets(set("v1", 10), set("v2", 1)).but(func(o *Observation) { o.Preflight = nil }).cached(),
			outcome{Script: []string{"needs workload, counts"}, Is: "RollingUpdate 1/3 Upgrade StepUpgrading", Wake: longestLook},
		},
	})
}

// saved returns the scene once its status is written.
func (s *scene) saved() *scene {
	written := Next(s.Observation).Status
	return s.status(func(status *v1alpha1.BatchReleaseStatus) { *status = written })
}

func TestPreflightCondition(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		willNotFit, warnings []string
		want                 *metav1.Condition
	}{
		"absent if there is nothing to say": {nil, nil, nil},
		"false with warnings": {
			nil, budget, &metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonWarnings, Message: budget[0]},
		},
		"true if it does not fit, with everything that was found": {
			full, budget, &metav1.Condition{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonWillNotFit, Message: full[0] + "; " + budget[0]},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := next(t, completed(10).resolved("v2").finding(test.willNotFit, test.warnings))
			have := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPreflightFailed)
			if have != nil {
				have = &metav1.Condition{Status: have.Status, Reason: have.Reason, Message: have.Message}
			}
			if diff := cmp.Diff(test.want, have); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
		})
	}
}
