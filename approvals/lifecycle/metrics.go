package lifecycle

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

const (
	// recordEvery is the time between two records of measurements that decide nothing.
	recordEvery = time.Minute
	// troubleEvery is the time between two records of a trouble that comes or goes: a server may answer
	// every other second.
	troubleEvery = 3 * time.Second
)

// NextOfMetrics returns the intents for a metrics gate. A decision, the outcome of a metric and the
// first requests are recorded at once, a trouble soon, other measurements once a minute: a process
// that ends loses a minute at most.
func NextOfMetrics(g *v1alpha1.Gate, facts GateFacts, now time.Time) []GateIntent {
	next := judged(g, facts)
	if len(next) == 0 || gate.Decided(g) || matters(&g.Status, &facts.Decision.Status, now) {
		return next
	}
	return nil
}

// matters reports whether a status of a metrics gate is to be recorded now.
func matters(before, after *v1alpha1.GateStatus, now time.Time) bool {
	if before.Decision != after.Decision || before.Undecided != after.Undecided || len(before.Metrics) != len(after.Metrics) || len(after.Metrics) == 0 {
		return true
	}
	for i := range after.Metrics {
		was, is := &before.Metrics[i], &after.Metrics[i]
		first := is.Compared != nil && is.Compared.Looks > 0 && (was.Compared == nil || was.Compared.Looks == 0)
		if first || was.Name != is.Name || was.CheckDigest != is.CheckDigest || was.Outcome != is.Outcome ||
			is.MeasuredAt != nil && (was.MeasuredAt == nil || now.Sub(was.MeasuredAt.Time) >= every(was, is)) {
			return true
		}
	}
	return equality.Semantic.DeepEqual(before.Metrics, after.Metrics) // the message is new
}

// every returns the time between the records of a metric.
func every(was, is *v1alpha1.MetricStatus) time.Duration {
	if was.Trouble != is.Trouble {
		return troubleEvery
	}
	return recordEvery
}
