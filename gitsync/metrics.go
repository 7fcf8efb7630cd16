package gitsync

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// What is known of each source. Only the process that holds the Lease reads repositories.
var (
	syncSeconds = promauto.With(metrics.Registry).NewHistogramVec(prometheus.HistogramOpts{
		Name:    "sluice_source_sync_duration_seconds",
		Help:    "Duration of reads of the repository of a source, with the writes that followed, in seconds.",
		Buckets: []float64{0.1, 0.5, 1, 5, 15, 60, 300},
	}, sourceLabels)
	syncs = promauto.With(metrics.Registry).NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_source_syncs_total",
		Help: "Reads of the repository of a source, by result: a reason of the condition Ready, or Error if the API server did not answer.",
	}, append(sourceLabels, "result"))
	sourceErrors = promauto.With(metrics.Registry).NewGaugeVec(prometheus.GaugeOpts{
		Name: "sluice_source_errors",
		Help: "Number of errors in the last commit that was read, including failed writes.",
	}, sourceLabels)
)

var sourceLabels = []string{"namespace", "source"}

// syncError is the result of a look that the API server did not let come to an end.
const syncError = "Error"

// syncResults are all results.
var syncResults = []string{
	v1alpha1.ReasonSynced, v1alpha1.ReasonApplyFailed, v1alpha1.ReasonFilesInvalid, v1alpha1.ReasonPruneHeld, v1alpha1.ReasonFetchFailed,
	v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonInvalidSecret, v1alpha1.ReasonBranchNotFound, v1alpha1.ReasonHistoryRewrite,
	v1alpha1.ReasonLimitExceeded, v1alpha1.ReasonNotVerified, syncError,
}

// measure counts a look at a source. Its series begin at 0 with the first.
func measure(source types.NamespacedName, o outcome, err error, took time.Duration) {
	if _, suspends := o.(suspended); suspends {
		return
	}
	for _, result := range syncResults {
		syncs.WithLabelValues(source.Namespace, source.Name, result)
	}
	result := syncError
	if err == nil {
		result = standingOf(o).reason
	}
	syncs.WithLabelValues(source.Namespace, source.Name, result).Inc()
	syncSeconds.WithLabelValues(source.Namespace, source.Name).Observe(took.Seconds())
	if followed, is := o.(followed); is {
		sourceErrors.WithLabelValues(source.Namespace, source.Name).Set(float64(len(followed.errors())))
	}
}

// forgetMeasures takes away the series of a source that is gone.
func forgetMeasures(source types.NamespacedName) {
	labels := prometheus.Labels{"namespace": source.Namespace, "source": source.Name}
	syncs.DeletePartialMatch(labels)
	syncSeconds.DeletePartialMatch(labels)
	sourceErrors.DeletePartialMatch(labels)
}
