package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Validate returns the problems of the steps and limits of a release. The API server has checked
// most of it; the rest it can't express.
func Validate(spec *v1alpha1.BatchReleaseSpec, path *field.Path) field.ErrorList {
	strategy := path.Child("strategy")
	problems := validateSteps(spec.Strategy.Steps, strategy.Child("steps"))
	problems = append(problems, validateLimit(spec.Strategy.MaxSurge, strategy.Child("maxSurge"))...)
	problems = append(problems, validateLimit(spec.Strategy.MaxUnavailable, strategy.Child("maxUnavailable"))...)
	problems = append(problems, validateOrder(spec.Strategy.Order, strategy.Child("order"))...)
	if len(spec.Members) > 0 {
		problems = append(problems, validateTrain(spec, path)...)
	} else {
		problems = append(problems, validateTraffic(&spec.Strategy, strategy)...)
	}
	if len(spec.Strategy.Guards) > 0 && (len(spec.Members) > 0 || spec.Train != "") {
		problems = append(problems, field.Forbidden(strategy.Child("guards"), "is not for trains and their members: use metrics gates in the steps of the train"))
	}
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

// validate returns the problems of the steps that the release goes through; nil if there are none.
// A rollback has steps of its own, and goes on despite problems of the release's.
func validate(s *snapshot) error {
	spec := s.release.Spec
	if s.record.rollingBack() {
		spec.Strategy.Steps, spec.Strategy.Traffic = spec.Steps(true), nil
	}
	problems := Validate(&spec, field.NewPath("spec"))
	problems = append(problems, uncopied(s)...)
	problems = append(problems, uncounted(s)...)
	return append(problems, surgeLost(s)...).ToAggregate()
}

// uncopied refuses ConfigMaps and Secrets without copies: only the source of a release makes them.
// A rollback goes on without.
func uncopied(s *snapshot) field.ErrorList {
	lacks := func(c v1alpha1.ConfigReference) bool { return c.Copy == "" }
	if s.record.rollingBack() || !slices.ContainsFunc(s.release.Spec.Config, lacks) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "config"),
		"is for releases from a repository: their ReleaseSource makes the copies; put the release into one, or take the field out")}
}

// uncounted refuses to wait for pods that are terminating where the cluster does not count them. A
// rollback goes on without.
func uncounted(s *snapshot) field.ErrorList {
	policy := s.release.Spec.Strategy.PodReplacement
	if policy != v1alpha1.ReplaceWhenTerminated || s.record.rollingBack() || !s.pods.Uncounted {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "strategy", "podReplacement"), policy,
		"the cluster does not count the pods that are terminating (status.terminatingReplicas of ReplicaSets): upgrade to Kubernetes 1.35, "+
			"enable the feature gate DeploymentReplicaSetTerminatingReplicas, or take the field out")}
}

// surgeLost refuses to replace pods in place of a workload whose own strategy surges, unless the
// release says how many may be unavailable. A rollback goes on without.
func surgeLost(s *snapshot) field.ErrorList {
	w := s.workload
	if w == nil || s.record.rollingBack() || s.release.Spec.Strategy.MaxUnavailable != nil || !some(w.MaxSurge) ||
		w.Mover.Bounds(w.MaxSurge, w.MaxUnavailable, max(w.Replicas, 1)).Surge > 0 {
		return nil
	}
	return field.ErrorList{field.Required(field.NewPath("spec", "strategy", "maxUnavailable"),
		"the workload's own strategy has maxSurge "+w.MaxSurge.String()+", but a release replaces its pods in place: "+
			"say how many of them may be unavailable at a time")}
}

// some reports whether a limit is more than 0.
func some(limit *intstr.IntOrString) bool {
	if limit == nil {
		return false
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(limit, percent, true)
	return err == nil && n > 0
}

// validateOrder refuses a key that does not name exactly one property to order by.
func validateOrder(keys []v1alpha1.OrderKey, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	for i, key := range keys {
		at := path.Index(i)
		if given := given(key); given != 1 {
			problems = append(problems, field.Invalid(at, given, "must have exactly one of nodeLabel, deletePriority, age, name"))
		}
		problems = append(problems, validateWord(key.Age, at.Child("age"), v1alpha1.OldestFirst, v1alpha1.NewestFirst)...)
		problems = append(problems, validateWord(key.Name, at.Child("name"), v1alpha1.Ascending, v1alpha1.Descending)...)
	}
	return problems
}

// given counts what a key names.
func given(key v1alpha1.OrderKey) int {
	n := 0
	for _, is := range []bool{key.NodeLabel != nil, key.DeletePriority != nil, key.Age != "", key.Name != ""} {
		if is {
			n++
		}
	}
	return n
}

// validateWord refuses a word that is set and unknown.
func validateWord[T ~string](word T, path *field.Path, known ...T) field.ErrorList {
	if word == "" || slices.Contains(known, word) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, word, known)}
}
