package rollout

import (
	"errors"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// putBacks counts what was undone. A count that grows all the time points to a GitOps tool that
// changes what Sluice holds.
var putBacks = fromZero(promauto.With(metrics.Registry).NewCounterVec(prometheus.CounterOpts{
	Name: "sluice_put_back_total",
	Help: "Changes that others made to held workloads and Sluice restored, by reason.",
}, []string{"reason"}))

// violations counts what must never be: a plan that breaks an invariant.
var violations = newViolations()

func newViolations() *prometheus.CounterVec {
	counts := promauto.With(metrics.Registry).NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_invariant_violations_total",
		Help: "Plans that break an invariant, by its number in docs/develop/architecture.md. Anything above 0 is a bug: please report it.",
	}, []string{"invariant"})
	for _, invariant := range plan.Invariants {
		counts.WithLabelValues(invariant)
	}
	return counts
}

// errViolation is what is logged with what breaks an invariant.
var errViolation = errors.New("an invariant is broken: this is a bug of Sluice, please report it")

// violated counts and logs what breaks an invariant. The plan is carried out all the same: whether
// the planner or the check is wrong nobody can tell here.
func (v *view) violated(logger logr.Logger, all ...plan.Violation) {
	for _, found := range all {
		violations.WithLabelValues(found.Invariant).Inc()
		logger.Error(errViolation, "Invariant broken", "invariant", found.Invariant, "how", found.How,
			"revision", v.release.Status.UpdateRevision, "commit", v.release.Status.Commit)
	}
}

// fromZero begins each series at 0: one that is not there can't be told from a scrape that fails.
func fromZero(counts *prometheus.CounterVec) *prometheus.CounterVec {
	for _, reason := range []string{
		v1alpha1.ReasonWorkloadUnpaused, v1alpha1.ReasonStrategyChanged, v1alpha1.ReasonTemplateChanged, v1alpha1.ReasonHoldRemoved,
	} {
		counts.WithLabelValues(reason)
	}
	return counts
}
