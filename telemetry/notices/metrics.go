package notices

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Results of a notice.
const (
	resultDelivered = "delivered"
	resultRetried   = "retried"
	resultDropped   = "dropped"
	resultRefused   = "refused"
)

var (
	sent = promauto.With(metrics.Registry).NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_notices_total",
		Help: "Notices by receiver and result: delivered; retried, once for each failed attempt; refused by the receiver; " +
			"dropped, because the queue was full or the receiver was unreachable for an hour.",
	}, []string{"receiver", "result"})
	waiting = promauto.With(metrics.Registry).NewGaugeVec(prometheus.GaugeOpts{
		Name: "sluice_notices_pending", Help: "Notices that wait for delivery to a receiver.",
	}, []string{"receiver"})
	valid = promauto.With(metrics.Registry).NewGauge(prometheus.GaugeOpts{
		Name: "sluice_notices_config_valid",
		Help: "1 if the file with the configuration of notices is valid and in use; 0 if it is invalid and an earlier configuration is in use.",
	})
	unrecorded = promauto.With(metrics.Registry).NewCounter(prometheus.CounterOpts{
		Name: "sluice_notices_record_failures_total",
		Help: "Failed writes of the record of notices. If the controller ends before the next successful write, some notices may be repeated or lost.",
	})
)

// open begins each series of a receiver at 0.
func open(receiver string) {
	for _, result := range []string{resultDelivered, resultRetried, resultDropped, resultRefused} {
		sent.WithLabelValues(receiver, result)
	}
	waiting.WithLabelValues(receiver)
}

// forget deletes the series of a receiver that is no longer configured.
func forget(receiver string) {
	sent.DeletePartialMatch(prometheus.Labels{"receiver": receiver})
	waiting.DeleteLabelValues(receiver)
}
