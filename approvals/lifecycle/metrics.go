package lifecycle

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

// recordEvery is the time between two records of measurements that decide nothing.
const recordEvery = time.Minute

// recordAfter is the number of measurements that are recorded before a minute is over: a process
// keeps a few hundred, and ten metrics a second make 600.
const recordAfter = 100

// NextOfMetrics returns the intents for a metrics gate. A decision, the outcome of a metric, a
// trouble and the first requests are recorded at once, other measurements once a minute or once
// they are many: a process that ends loses a minute at most, and one that runs loses none.
func NextOfMetrics(g *v1alpha1.Gate, facts GateFacts, now time.Time) []GateIntent {
	next := judged(g, facts)
	many := facts.Metrics != nil && len(facts.Metrics.Readings) >= recordAfter
	if len(next) == 0 || gate.Decided(g) || many || matters(&g.Status, &facts.Decision.Status, now) {
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
		if first || was.Name != is.Name || was.CheckDigest != is.CheckDigest || was.Outcome != is.Outcome || was.Trouble != is.Trouble ||
			is.MeasuredAt != nil && (was.MeasuredAt == nil || now.Sub(was.MeasuredAt.Time) >= recordEvery) {
			return true
		}
	}
	return equality.Semantic.DeepEqual(before.Metrics, after.Metrics) // the message is new
}
