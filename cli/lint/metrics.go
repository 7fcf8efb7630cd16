package lint

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// checkMetrics looks for comparisons that never come to a verdict: in a rollback, and after the
// last step, there are no pods of two versions. Routes may keep old pods longer.
func (r *review) checkMetrics() {
	steps, strategy := r.object.Spec.Strategy.Steps, field.NewPath("spec", "strategy", "steps")
	if last := len(steps) - 1; last >= 0 && r.object.Spec.Strategy.Traffic == nil {
		r.refuseComparisons(steps[last], strategy.Index(last), "after the last step no pod of the old version is left to compare with: move the gate to the step before, or make it a guard")
	}
	if back := r.object.Spec.Rollback; back != nil {
		for i, step := range back.Steps {
			r.refuseComparisons(step, field.NewPath("spec", "rollback", "steps").Index(i), "a rollback has no newer version to compare: use a query")
		}
	}
}

func (r *review) refuseComparisons(step v1alpha1.Step, at *field.Path, why string) {
	for i, policy := range step.Gates {
		if policy.Metrics == nil {
			continue
		}
		for j, metric := range policy.Metrics.Metrics {
			if metric.Compare == nil || metric.DryRun {
				continue
			}
			path := at.Child("gates").Index(i).Child("metrics", "metrics").Index(j).Child("compare")
			r.find(Error, r.place(), path.String(), field.Forbidden(path, why).Error())
		}
	}
}
