package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/internal/plain"
)

// NeedsAt says what passes a gate that a step will have, with a forecast of its comparisons if the
// gates so far have measured the traffic.
func NeedsAt(w *Whole, step int, policy v1alpha1.GatePolicy) string {
	words := Needs(policy)
	at := gate.TrafficAt(&w.Release.Spec, step, w.Release.Status.Replicas)
	if policy.Metrics == nil || w.Release.Status.Rollback != nil || !(at.Share > 0 && at.Share < 1) || metricsBefore(w.Release, step) > maxForeseen {
		return words
	}
	for _, metric := range policy.Metrics.Metrics {
		if !measuredTraffic(w, metric.Name, &at) {
			continue
		}
		only := policy.Metrics.DeepCopy()
		only.Metrics = []v1alpha1.GateMetric{metric}
		for _, forecast := range gate.Forecasts(only, w.Release, at) {
			if text := forecast.String(); text != "" {
				words += fmt.Sprintf("; %s: %s", plain.UpTo(plain.Line(metric.Name), maxMetricName), text)
			}
		}
	}
	return words
}

// maxForeseen is the number of metrics of steps to come after which nothing more is foreseen: a
// forecast takes a millisecond, and a release may have thousands of metrics.
const maxForeseen = 20

// metricsBefore counts the metrics of the steps between the current one and another.
func metricsBefore(release *v1alpha1.BatchRelease, step int) (count int) {
	for i := int(release.Status.CurrentStepIndex) + 1; i < step; i++ {
		for _, policy := range release.Spec.Gates(false, i) {
			if policy.Metrics != nil {
				count += len(policy.Metrics.Metrics)
			}
		}
	}
	return count
}

// minLooks is the number of measurements that tell the traffic.
const minLooks = 2

// measuredTraffic sets the traffic that the gates of this attempt have measured by a metric of
// errors. It reports whether one has.
func measuredTraffic(w *Whole, name string, traffic *gate.Traffic) bool {
	var best *v1alpha1.Compared
	var every time.Duration
	for i := range w.Gates {
		g := &w.Gates[i]
		if g.Spec.ReleaseRef.UID != w.Release.UID || g.Spec.Attempt != w.Release.Status.Attempt || g.Spec.Policy.Metrics == nil {
			continue
		}
		for j := range g.Status.Metrics {
			metric := &g.Status.Metrics[j]
			compared := metric.Compared
			ofErrors := compared != nil && len(compared.Bounds) == 1 && compared.Bounds[0].Bound == ""
			if metric.Name == name && ofErrors && compared.Looks >= minLooks && (best == nil || compared.Looks > best.Looks) {
				best, every = compared, gate.MetricInterval(g.Spec.Policy.Metrics)
				if metric.MeasuredAt != nil {
					every = gate.LookEvery(best, every, metric.MeasuredAt.Time)
				}
			}
		}
	}
	if best == nil || best.Old.Requests <= 0 || best.New.Requests < 0 {
		return false
	}
	traffic.PerSecond = float64(best.Old.Requests+best.New.Requests) / (float64(best.Looks) * every.Seconds())
	traffic.Errors = min(max(float64(best.Old.Errors)/float64(best.Old.Requests), 0), 1)
	return true
}

// metricNeeds names the metrics of a gate.
func metricNeeds(policy *v1alpha1.MetricsGate) string {
	names := make([]string, len(policy.Metrics))
	for i := range policy.Metrics {
		names[i] = policy.Metrics[i].Name
	}
	slices.Sort(names)
	return fmt.Sprintf("metrics of %s: %s", policy.Provider, strings.Join(names, ", "))
}
