package gate

import (
	"fmt"
	"math"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/judge"
)

// Traffic describes the requests to both versions together.
type Traffic struct {
	// PerSecond is the number of requests a second, more than 0.
	PerSecond float64
	// Errors is the share of the requests to the old version that fail, in [0, 1].
	Errors float64
}

// MetricForecast says how long a comparison takes at some traffic, in the median.
type MetricForecast struct {
	// Metric is the name of the metric.
	Metric string
	// Pass is the time until a version as good as the old one passes, and Reject the time until one
	// that is Ratio times as bad is rejected; at most maxDuration.
	Pass, Reject time.Duration
	// Ratio is the ratio that must not pass.
	Ratio float64
	// Never says that the errors are too few to compare. Floor says that a floor can pass such a
	// version all the same.
	Never, Floor bool
}

// Forecasts returns the forecasts of a gate's comparisons, at a step that gives the new version a
// share of the requests, in (0, 1). Metrics of a provider count as comparisons of errors; queries,
// latencies and dry runs are left out.
func Forecasts(policy *v1alpha1.MetricsGate, traffic Traffic, share float64) []MetricForecast {
	var all []MetricForecast
	for _, metric := range policy.Metrics {
		check := MetricCheck{MetricCheck: metric.MetricCheck, Name: metric.Name, Interval: MetricInterval(policy)}
		switch {
		case metric.DryRun || metric.Query != nil || metric.Compare != nil && metric.Compare.Buckets != "":
			continue
		case metric.Compare == nil:
			check.Compare = &v1alpha1.CompareMetric{}
		}
		all = append(all, Forecast(check, traffic, share))
	}
	return all
}

// Forecast returns the forecast of a comparison of errors, at a step that gives the new version a
// share of the requests, in (0, 1).
func Forecast(check MetricCheck, traffic Traffic, share float64) MetricForecast {
	look := judge.Traffic{Requests: traffic.PerSecond * check.Interval.Seconds(), Share: share, Errors: traffic.Errors}
	forecast := forecastOf(rulesOf(check.Compare), look, check.Interval)
	forecast.Metric = check.Name
	return forecast
}

// forecastOf forecasts a comparison by the traffic of each look.
func forecastOf(rules judge.Rules, look judge.Traffic, interval time.Duration) MetricForecast {
	pass, reject := rules.LooksToPass(look, 1), rules.LooksToReject(look, rules.Worse)
	f := MetricForecast{Ratio: rules.Worse, Floor: rules.Floor > 0}
	if f.Never = math.IsInf(pass, 0) || math.IsInf(reject, 0) || math.IsNaN(pass+reject); f.Never {
		return f
	}
	after := func(looks float64) time.Duration {
		return time.Duration(min(looks, float64(maxDuration/interval)) * float64(interval)).Round(interval)
	}
	f.Pass, f.Reject = after(pass), after(reject)
	return f
}

// String says how long the comparison takes; empty if only its floor can end it.
func (f MetricForecast) String() string {
	switch {
	case f.Never && f.Floor:
		return ""
	case f.Never:
		return "with so few errors there is nothing to compare: set floor to a share that is good enough"
	}
	return fmt.Sprintf("at this traffic about %s to pass, %s to find one %g times as bad", brief(f.Pass), brief(f.Reject), f.Ratio)
}

// forecastWords says how long a verdict takes in all at the traffic so far; empty while nothing is
// known.
func forecastWords(e judge.Evidence, check MetricCheck) string {
	if e.Looks < 2 || e.New.Requests <= 0 || e.Old.Requests <= 0 {
		return ""
	}
	sum := e.New.Requests + e.Old.Requests
	look := judge.Traffic{Requests: sum / float64(e.Looks), Share: e.New.Requests / sum, Errors: e.Old.Errors / e.Old.Requests}
	if words := forecastOf(rulesOf(check.Compare), look, check.Interval).String(); words != "" {
		return "; " + words
	}
	return ""
}
