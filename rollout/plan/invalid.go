package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// refuseStrategy stops at steps that can't be read: nothing is begun. A release that is under way stands, as for any other stop,
// and one that is being handed back is: it has passed all its steps. A rollback has its own steps, and goes on whatever is
// wrong with those of the release.
func (p *pass) refuseStrategy() bool {
	spec := p.Release.Spec
	if p.rollingBack() {
		spec.Strategy.Steps = spec.Steps(true)
	}
	problems := Validate(&spec, field.NewPath("spec"))
	err := append(problems, p.uncounted()...).ToAggregate()
	if err == nil {
		return false
	}
	p.stall(v1alpha1.ReasonInvalidStrategy, err.Error())
	switch {
	case !p.underWay() || len(p.steps()) == 0:
		return true
	case p.status.Phase == v1alpha1.PhaseFinalizing:
		p.handingBack = true
	default:
		p.invalid = &stop{v1alpha1.ReasonInvalidStrategy, err.Error()}
	}
	return p.arrive() || p.hold() || p.roll()
}

// uncounted refuses to wait for pods that are going away where the cluster does not count them. A rollback goes on without.
func (p *pass) uncounted() field.ErrorList {
	policy := p.Release.Spec.Strategy.PodReplacement
	unknown := func(s Set) bool { return s.Observed && s.Replicas > 0 && s.Terminating == nil }
	if policy != v1alpha1.ReplaceWhenTerminated || p.rollingBack() || !slices.ContainsFunc(p.Sets, unknown) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "strategy", "podReplacement"), policy,
		"the cluster does not count the pods that are terminating (status.terminatingReplicas of ReplicaSets): upgrade to Kubernetes 1.35, "+
			"enable the feature gate DeploymentReplicaSetTerminatingReplicas, or take the field out")}
}

// underWay reports whether it is on record that the workload is taken over for a release, or a rollback.
func (p *pass) underWay() bool {
	s := &p.status
	return s.Resolved != nil && s.Held != nil && s.Phase != "" && s.Phase != v1alpha1.PhaseCompleted
}

func (p *pass) invalidStrategy() *stop { return p.invalid }

// awaitsGates reports whether a gate that was opened in the step has not passed, by what the status says: whether the step
// still asks for it can't be read while the steps are invalid.
func (p *pass) awaitsGates() bool {
	if p.invalid == nil {
		return len(p.status.Gates) > 0 && !p.letThrough()
	}
	return slices.ContainsFunc(p.status.Gates, func(open v1alpha1.GateReference) bool {
		return !slices.ContainsFunc(p.Gates, func(g v1alpha1.Gate) bool {
			return g.Name == open.Name && g.Spec.Attempt == p.status.Attempt && g.Status.Decision == v1alpha1.DecisionPassed
		})
	})
}
