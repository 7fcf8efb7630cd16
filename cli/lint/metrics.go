package lint

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// checkMetrics looks for comparisons that never come to a verdict: in a rollback, and after the
// last step, there are no pods of two versions. Routes may keep old pods longer. The provider has
// the metrics that gates name; nil if no file has them.
func (r *review) checkMetrics(provider *v1alpha1.MetricProvider) {
	steps, strategy := r.object.Spec.Strategy.Steps, field.NewPath("spec", "strategy", "steps")
	if last := len(steps) - 1; last >= 0 && r.object.Spec.Strategy.Traffic == nil {
		r.refuseComparisons(provider, steps[last], strategy.Index(last), "after the last step no pod of the old version is left to compare with: move the gate to the step before, or make it a guard")
	}
	if back := r.object.Spec.Rollback; back != nil {
		for i, step := range back.Steps {
			r.refuseComparisons(provider, step, field.NewPath("spec", "rollback", "steps").Index(i), "a rollback has no newer version to compare: use a query")
		}
	}
}

func (r *review) refuseComparisons(provider *v1alpha1.MetricProvider, step v1alpha1.Step, at *field.Path, why string) {
	for i, policy := range step.Gates {
		if policy.Metrics == nil {
			continue
		}
		for j, metric := range policy.Metrics.Metrics {
			path := at.Child("gates").Index(i).Child("metrics", "metrics").Index(j)
			switch {
			case metric.DryRun:
				continue
			case metric.Compare != nil:
				path = path.Child("compare")
			case metric.Query != nil || !comparesByName(provider, policy.Metrics.Provider, metric.Name):
				continue
			}
			r.find(Error, r.place(), path.String(), field.Forbidden(path, why).Error())
		}
	}
}

// comparesByName reports whether a metric of a provider compares versions.
func comparesByName(provider *v1alpha1.MetricProvider, of, name string) bool {
	return provider != nil && provider.Name == of && slices.ContainsFunc(provider.Spec.Metrics, func(m v1alpha1.SharedMetric) bool {
		return m.Name == name && m.Compare != nil
	})
}
