package rollout

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// putBacks counts what was undone. A count that grows all the time points to a GitOps tool that changes what
// Sluice holds.
var putBacks = fromZero(promauto.With(metrics.Registry).NewCounterVec(prometheus.CounterOpts{
	Name: "sluice_put_back_total",
	Help: "Changes of Deployments that Sluice holds that were made by others and put back, by what was changed.",
}, []string{"reason"}))

// fromZero begins each series at 0: one that is not there can't be told from a scrape that fails.
func fromZero(counts *prometheus.CounterVec) *prometheus.CounterVec {
	for _, reason := range []string{
		v1alpha1.ReasonWorkloadUnpaused, v1alpha1.ReasonStrategyChanged, v1alpha1.ReasonTemplateChanged, v1alpha1.ReasonHoldRemoved,
	} {
		counts.WithLabelValues(reason)
	}
	return counts
}
