package simulate

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/rollout/sim"
)

// verdict returns when the comparisons of a gate pass a version as good as the old one; zero if the
// trace has no traffic, or they never do.
func (r *run) verdict(g *sim.Gate) time.Time {
	var longest time.Duration
	for _, forecast := range r.forecasts(g) {
		if forecast.Never {
			return time.Time{}
		}
		longest = max(longest, forecast.Pass)
	}
	if longest == 0 {
		return time.Time{}
	}
	return g.Made.Add(longest)
}

// forecasts returns what is foreseen of a metrics gate at the traffic of the trace, by the share of
// the new version when the gate opened, and notes it.
func (r *run) forecasts(g *sim.Gate) []gate.MetricForecast {
	if known, is := r.foreseen[g.Name]; is {
		return known
	}
	share := r.share()
	if r.trace.Traffic == nil || g.Spec.Policy.Metrics == nil || isGuard(g) || !(share > 0 && share < 1) {
		return nil
	}
	row := r.row()
	traffic := gate.Traffic{
		PerSecond: r.trace.Traffic.RequestsPerSecond, Share: share, Errors: r.trace.Traffic.Errors / wholePercent,
		NewPods: int(row.New), OldPods: int(row.Old),
	}
	forecasts := gate.Forecasts(g.Spec.Policy.Metrics, &v1alpha1.BatchRelease{Spec: *r.Release.Spec}, traffic)
	for _, forecast := range forecasts {
		if words := forecast.String(); words != "" {
			r.note("gate %s, metric %s: %s", r.named.gate(g.Name), forecast.Metric, words)
		}
	}
	if r.foreseen == nil {
		r.foreseen = map[string][]gate.MetricForecast{}
	}
	r.foreseen[g.Name] = forecasts
	return forecasts
}

// share returns the share of the requests that the new version gets: by its routes, or else by its
// pods.
func (r *run) share() float64 {
	if route := r.shared(); route != nil {
		return float64(route.Weight) / wholePercent
	}
	row := r.row()
	return float64(row.New) / float64(max(row.New+row.Old, 1))
}
