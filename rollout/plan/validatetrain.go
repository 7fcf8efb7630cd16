package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/train"
)

// validateTrain returns the problems of the members of a train and of their order.
func validateTrain(spec *v1alpha1.BatchReleaseSpec, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	at := path.Child("members")
	var names []string
	for _, member := range spec.Members {
		names = append(names, member.Name)
	}
	var members []train.Member
	for i, member := range spec.Members {
		members = append(members, train.Member{Name: member.Name, Group: member.Name})
		for j, after := range member.After {
			edge := at.Index(i).Child("after").Index(j)
			if !slices.Contains(names, after.Member) {
				detail := "must be the name of an entry in spec.members: " + plain.UpTo(strings.Join(names, ", "), maxNames)
				problems = append(problems, field.Invalid(edge.Child("member"), after.Member, detail))
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
	detail := "these wait for each other, and none could do all steps: " + strings.Join(stuck, ", ")
	if len(stuck) == 1 {
		detail = "waits for itself"
	}
	if spec.Strategy.Lockstep != nil {
		detail += fmt.Sprintf("; strategy.lockstep.maxSkew of %s counts, too", spec.Strategy.Lockstep.MaxSkew.String())
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
		return field.ErrorList{field.Invalid(path, lockstep.MaxSkew.String(), "must be a number of steps, or take after out of the members: a percentage does not go with an order")}
	case lockstep.Percent() > 0, lockstep.MaxSkew.Type == intstr.Int && lockstep.MaxSkew.IntVal >= 0 && lockstep.MaxSkew.IntVal <= maxSkew:
		return nil
	default:
		return field.ErrorList{field.Invalid(path, lockstep.MaxSkew.String(), "must be a number of steps from 0 to 50, or a percentage of pods from 1% to 99%")}
	}
}

// maxNames limits the names of members in a message, in bytes.
const maxNames = 200

// maxSkew is the largest number of steps that members may be apart.
const maxSkew = 50
