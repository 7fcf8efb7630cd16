package lint

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// checkTrain looks for steps that no member can do.
func (r *review) checkTrain(found *others) {
	if found.sharing[types.NamespacedName{Namespace: r.release.Namespace, Name: r.release.Name}] {
		return
	}
	for i, step := range r.object.Spec.Strategy.Steps {
		if step.Traffic != "" || len(step.Matches) > 0 {
			path := fmt.Sprintf("spec.strategy.steps[%d]", i)
			r.find(Warning, r.place(), path, path+": has traffic or matches, and no member of the train has routes in strategy.traffic: requests go wherever there are pods")
			return
		}
	}
}

// checkMember looks for fields of a member that its train decides.
func (r *review) checkMember() {
	for _, path := range r.release.Overridden {
		r.find(Warning, r.place(), path, fmt.Sprintf("%s: has no effect: train %s decides it for all its members", path, r.release.Train))
	}
}
