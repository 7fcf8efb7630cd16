package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	const (
		noShare  = " is neither a number of pods nor a percentage such as 30%"
		noLimit  = "must be a number of pods >= 0 or a percentage such as 25%"
		notAll   = "the last step must be 100%"
		decrease = "must not be less than in a step before it"
	)
	type spec = v1alpha1.BatchReleaseSpec
	steps := func(replicas ...intstr.IntOrString) []v1alpha1.Step {
		var steps []v1alpha1.Step
		for _, r := range replicas {
			steps = append(steps, v1alpha1.Step{Replicas: r})
		}
		return steps
	}
	given := func(replicas ...intstr.IntOrString) spec {
		return spec{Strategy: v1alpha1.ReleaseStrategy{Steps: steps(replicas...)}}
	}
	limits := func(surge, unavailable *intstr.IntOrString) spec {
		return spec{Strategy: v1alpha1.ReleaseStrategy{
			Steps: steps(intstr.FromString("100%")), MaxSurge: surge, MaxUnavailable: unavailable,
		}}
	}
	number, text := intstr.FromInt32, intstr.FromString
	tests := map[string]struct {
		spec spec
		want []string
	}{
		"numbers and percentages may be mixed: which is more depends on spec.replicas": {
			given(number(8), text("30%"), number(9), text("30%"), text("100%")), nil,
		},
		"after 100% there is nothing to come to": {
			given(text("100%"), number(3), text("100%")), []string{`spec.strategy.steps[1].replicas: Invalid value: "3": must not come after a step of 100%`},
		},
		"0 pods and 0% are steps to stop at before anything is done": {given(number(0), text("0%"), text("100%")), nil},
		"no step releases nothing": {
			given(), []string{"spec.strategy.steps: Required value: at least one step"},
		},
		"a key names one thing to order by": {
			spec{Strategy: v1alpha1.ReleaseStrategy{Steps: steps(text("100%")), Order: []v1alpha1.OrderKey{
				{Name: v1alpha1.Ascending}, {}, {Age: "Old", DeletePriority: &v1alpha1.DeletePriorityOrder{}},
			}}},
			[]string{
				"spec.strategy.order[1]: Invalid value: 0: must have exactly one of nodeLabel, deletePriority, age, name",
				"spec.strategy.order[2]: Invalid value: 2: must have exactly one of nodeLabel, deletePriority, age, name",
				`spec.strategy.order[2].age: Unsupported value: "Old": supported values: "OldestFirst", "NewestFirst"`,
			},
		},
		"a release that does not reach all pods would never end": {
			given(number(1), text("50%")),
			[]string{`spec.strategy.steps[1].replicas: Invalid value: "50%": ` + notAll},
		},
		"a number at the end is not all once somebody scales": {
			given(number(10)), []string{`spec.strategy.steps[0].replicas: Invalid value: "10": ` + notAll},
		},
		"a percentage never falls": {
			given(text("50%"), number(1), text("30%"), text("100%")),
			[]string{`spec.strategy.steps[2].replicas: Invalid value: "30%": ` + decrease},
		},
		"a number never falls": {
			given(number(5), text("10%"), number(4), text("100%")),
			[]string{`spec.strategy.steps[2].replicas: Invalid value: "4": ` + decrease},
		},
		"it is the most so far that counts, not the step before": {
			given(text("50%"), text("30%"), text("40%"), text("100%")),
			[]string{
				`spec.strategy.steps[1].replicas: Invalid value: "30%": ` + decrease,
				`spec.strategy.steps[2].replicas: Invalid value: "40%": ` + decrease,
			},
		},
		"text is no share": {
			given(text("many"), text("100%")),
			[]string{`spec.strategy.steps[0].replicas: Invalid value: "many": "many"` + noShare},
		},
		"a number in quotes is no share": {
			given(text("3"), text("100%")),
			[]string{`spec.strategy.steps[0].replicas: Invalid value: "3": "3"` + noShare},
		},
		"half a percent is no share": {
			given(text("0.5%"), text("100%")),
			[]string{`spec.strategy.steps[0].replicas: Invalid value: "0.5%": "0.5%"` + noShare},
		},
		"there are no more pods than all": {
			given(text("101%"), text("100%")),
			[]string{`spec.strategy.steps[0].replicas: Invalid value: "101%": 101 percent is not within 0 to 100`},
		},
		"there are no fewer pods than none": {
			given(number(-1), text("-1%"), text("100%")),
			[]string{
				`spec.strategy.steps[0].replicas: Invalid value: "-1": -1 pods is not within 0 to 2147483647`,
				`spec.strategy.steps[1].replicas: Invalid value: "-1%": -1 percent is not within 0 to 100`,
			},
		},
		"every problem is named at once": {
			spec{
				Strategy: v1alpha1.ReleaseStrategy{MaxSurge: new(text("a lot")), MaxUnavailable: new(number(-1))},
				Rollback: &v1alpha1.RollbackStrategy{Steps: steps(number(1))},
			},
			[]string{
				"spec.strategy.steps: Required value: at least one step",
				`spec.strategy.maxSurge: Invalid value: "a lot": ` + noLimit,
				`spec.strategy.maxUnavailable: Invalid value: "-1": ` + noLimit,
				`spec.rollback.steps[0].replicas: Invalid value: "1": ` + notAll,
			},
		},
		"a surge above 100% is fine, as it is in a Deployment":  {limits(new(text("200%")), nil), nil},
		"none of both is fine: one pod may be unavailable then": {limits(new(number(0)), new(text("0%"))), nil},
		"a limit in quotes that is no percentage is none": {
			limits(new(text("1")), nil), []string{`spec.strategy.maxSurge: Invalid value: "1": ` + noLimit},
		},
		"a rollback plan has at least one step": {
			spec{Strategy: given(text("100%")).Strategy, Rollback: &v1alpha1.RollbackStrategy{}},
			[]string{"spec.rollback.steps: Required value: at least one step"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, problem := range Validate(&test.spec, field.NewPath("spec")) {
				got = append(got, problem.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
