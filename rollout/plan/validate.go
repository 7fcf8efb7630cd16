package plan

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Validate says what is wrong with the steps and limits of a release. The API server has
// checked most of it; the rest it can't express.
func Validate(spec *v1alpha1.BatchReleaseSpec, path *field.Path) field.ErrorList {
	strategy := path.Child("strategy")
	problems := validateSteps(spec.Strategy.Steps, strategy.Child("steps"))
	problems = append(problems, validateLimit(spec.Strategy.MaxSurge, strategy.Child("maxSurge"))...)
	problems = append(problems, validateLimit(spec.Strategy.MaxUnavailable, strategy.Child("maxUnavailable"))...)
	problems = append(problems, validateOrder(spec.Strategy.Order, strategy.Child("order"))...)
	problems = append(problems, validateTraffic(&spec.Strategy, strategy)...)
	if spec.Rollback != nil {
		steps := path.Child("rollback", "steps")
		problems = append(problems, validateSteps(spec.Rollback.Steps, steps)...)
		problems = append(problems, validateNoWayBack(spec.Rollback.Steps, steps)...)
		problems = append(problems, refuseTraffic(spec.Rollback.Steps, steps, "a rollback has no traffic and no matches: it takes all requests back first")...)
	}
	return problems
}

func validateSteps(steps []v1alpha1.Step, path *field.Path) field.ErrorList {
	if len(steps) == 0 {
		return field.ErrorList{field.Required(path, "at least one step")}
	}
	var problems field.ErrorList
	most := map[int64]int64{} // of the steps so far: in percent, and in pods
	for i, step := range steps {
		s, err := parseShare(step.Replicas)
		problem := ""
		switch {
		case err != nil:
			problem = err.Error()
		case i == len(steps)-1 && !s.all():
			problem = "the last step must be 100%"
		case most[percent] == percent && !s.all():
			problem = "must not come after a step of 100%"
		case s.value < most[s.of]:
			problem = "must not be less than in a step before it"
		}
		if problem != "" {
			problems = append(problems, field.Invalid(path.Index(i).Child("replicas"), step.Replicas.String(), problem))
		}
		if step.MaxUnavailable != nil {
			problems = append(problems, validateLimit(step.MaxUnavailable, path.Index(i).Child("maxUnavailable"))...)
		}
		if err == nil {
			most[s.of] = max(most[s.of], s.value)
		}
	}
	return problems
}

// validateNoWayBack refuses gates that would have a rollback rolled back.
func validateNoWayBack(steps []v1alpha1.Step, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	for i, step := range steps {
		for j, gate := range step.Gates {
			if gate.OnReject == v1alpha1.RejectRollback {
				at := path.Index(i).Child("gates").Index(j).Child("onReject")
				problems = append(problems, field.Forbidden(at, "a rollback is not rolled back: its gates hold it"))
			}
		}
	}
	return problems
}

// validateLimit checks maxSurge or maxUnavailable; nil is fine.
func validateLimit(limit *intstr.IntOrString, path *field.Path) field.ErrorList {
	if limit == nil {
		return nil
	}
	if n, err := intstr.GetScaledValueFromIntOrPercent(limit, 100, true); err != nil || n < 0 {
		return field.ErrorList{field.Invalid(path, limit.String(), "must be a number of pods >= 0 or a percentage such as 25%")}
	}
	return nil
}
