package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/train"
)

// validateTrain returns the problems of the members of a train and of their order.
func validateTrain(spec *v1alpha1.BatchReleaseSpec, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	at, names := path.Child("members"), map[string]bool{}
	for _, member := range spec.Members {
		names[member.Name] = true
	}
	var members []train.Member
	for i, member := range spec.Members {
		members = append(members, train.Member{Name: member.Name, Group: member.Name})
		for j, after := range member.After {
			edge := at.Index(i).Child("after").Index(j)
			if !names[after.Member] {
				problems = append(problems, field.NotFound(edge.Child("member"), after.Member))
			}
			if r := after.Reached; r != nil && r.Type == intstr.Int && (r.IntVal < 1 || int(r.IntVal) > len(spec.Strategy.Steps)) {
				detail := fmt.Sprintf("must be a step of the train, from 1 to %d, or %s", len(spec.Strategy.Steps), v1alpha1.ReachedCompleted)
				problems = append(problems, field.Invalid(edge.Child("reached"), r.IntVal, detail))
			}
		}
	}
	problems = append(problems, validateLockstep(spec, path.Child("strategy", "lockstep", "maxSkew"))...)
	stuck := rulesOf(spec, 0).Stuck(members)
	if len(problems) > 0 || len(stuck) == 0 {
		return problems
	}
	first := slices.IndexFunc(spec.Members, func(m v1alpha1.TrainMember) bool { return slices.Contains(stuck, m.Name) })
	detail := "wait for each other, so that none of them could ever do all steps: " + strings.Join(stuck, ", ")
	if spec.Strategy.Lockstep != nil {
		detail += fmt.Sprintf("; lockstep.maxSkew is %s", spec.Strategy.Lockstep.MaxSkew.String())
	}
	return field.ErrorList{field.Invalid(at.Index(first).Child("after"), spec.Members[first].Name, detail)}
}

// validateLockstep returns the problems of how far members may be apart. Members that start after
// others can't have as many updated pods as these.
func validateLockstep(spec *v1alpha1.BatchReleaseSpec, path *field.Path) field.ErrorList {
	lockstep := spec.Strategy.Lockstep
	ordered := slices.ContainsFunc(spec.Members, func(m v1alpha1.TrainMember) bool { return len(m.After) > 0 })
	switch {
	case lockstep == nil:
		return nil
	case lockstep.Percent() > 0 && ordered:
		return field.ErrorList{field.Invalid(path, lockstep.MaxSkew.String(), "must be a number of steps, as members come after others (members[].after)")}
	case lockstep.Percent() > 0, lockstep.MaxSkew.Type == intstr.Int && lockstep.MaxSkew.IntVal >= 0 && lockstep.MaxSkew.IntVal <= maxSkew:
		return nil
	default:
		return field.ErrorList{field.Invalid(path, lockstep.MaxSkew.String(), "must be a number of steps from 0 to 50, or a percentage of pods from 1% to 99%")}
	}
}

// maxSkew is the largest number of steps that members may be apart.
const maxSkew = 50
