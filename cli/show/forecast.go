package show

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/internal/plain"
)

// NeedsAt says what passes a gate that a step will have, with a forecast of its comparisons if the
// gates so far have measured the traffic.
func NeedsAt(w *Whole, step int, policy v1alpha1.GatePolicy) string {
	words := Needs(policy)
	share := shareOfStep(&w.Release.Spec, &w.Release.Status, step)
	if policy.Metrics == nil || w.Release.Status.Rollback != nil || !(share > 0 && share < 1) {
		return words
	}
	for _, metric := range policy.Metrics.Metrics {
		traffic, known := measuredTraffic(w, metric.Name)
		if !known {
			continue
		}
		only := policy.Metrics.DeepCopy()
		only.Metrics = []v1alpha1.GateMetric{metric}
		for _, forecast := range gate.Forecasts(only, traffic, share) {
			if text := forecast.String(); text != "" {
				words += fmt.Sprintf("; %s: %s", plain.UpTo(plain.Line(metric.Name), maxMetricName), text)
			}
		}
	}
	return words
}

// minLooks is the number of measurements that tell the traffic.
const minLooks = 2

// measuredTraffic returns the traffic that the gates of this attempt have measured by a metric of
// errors; false if none has.
func measuredTraffic(w *Whole, name string) (gate.Traffic, bool) {
	var best *v1alpha1.Compared
	var seconds float64
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
				best, seconds = compared, gate.MetricInterval(g.Spec.Policy.Metrics).Seconds()
			}
		}
	}
	if best == nil || best.Old.Requests <= 0 || best.New.Requests < 0 {
		return gate.Traffic{}, false
	}
	requests := float64(best.Old.Requests + best.New.Requests)
	return gate.Traffic{
		PerSecond: requests / (float64(best.Looks) * seconds),
		Errors:    min(max(float64(best.Old.Errors)/float64(best.Old.Requests), 0), 1),
	}, true
}

// wholePercent is all requests.
const wholePercent = 100

// shareOfStep returns the share of the requests that a step gives the new version, by its routes or
// else by its pods.
func shareOfStep(spec *v1alpha1.BatchReleaseSpec, status *v1alpha1.BatchReleaseStatus, step int) float64 {
	if weight, shared := spec.TrafficOf(false, step); shared {
		return float64(weight) / wholePercent
	}
	steps := spec.Steps(false)
	if step >= len(steps) {
		return 0
	}
	pods, err := intstr.GetScaledValueFromIntOrPercent(&steps[step].Replicas, int(status.Replicas), true)
	if err != nil || status.Replicas <= 0 {
		return 0
	}
	return float64(pods) / float64(status.Replicas)
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
