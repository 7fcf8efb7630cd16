package gate

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/judge"
)

// Traffic describes the requests to both versions together.
type Traffic struct {
	// PerSecond is the number of requests a second, more than 0, and Share the share of the new version
	// in them, in (0, 1).
	PerSecond, Share float64
	// Errors is the share of the requests to the old version that fail, in [0, 1].
	Errors float64
	// NewPods and OldPods count the pods of the versions; 0 if they are not known.
	NewPods, OldPods int
}

// wholePercent is all requests.
const wholePercent = 100

// TrafficAt returns the share of the requests that a step of a release gives the new version, by
// its routes or else by its pods, and the pods; 0 for what is not known. Replicas are the size of
// the workload, 0 if it is not known.
func TrafficAt(spec *v1alpha1.BatchReleaseSpec, step int, replicas int32) (at Traffic) {
	steps, of := spec.Strategy.Steps, int(replicas)
	if of <= 0 {
		of = wholePercent // a percentage is known
	}
	if step >= len(steps) || replicas <= 0 && steps[step].Replicas.Type == intstr.Int {
		return at
	}
	pods, err := intstr.GetScaledValueFromIntOrPercent(&steps[step].Replicas, of, true)
	if err != nil {
		return at
	}
	at.Share = float64(pods) / float64(of)
	if replicas > 0 {
		at.NewPods, at.OldPods = pods, max(of-pods, 0)
	}
	if weight, shared := spec.TrafficOf(false, step); shared {
		at.Share = float64(weight) / wholePercent
	}
	return at
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
	// version all the same. FewPods says that one bad version of so few pods looks like one bad node.
	Never, Floor, FewPods bool
}

// Forecasts returns the forecasts of the comparisons of a release's gate. Metrics of a provider
// count as comparisons of errors; queries, latencies and dry runs are left out.
func Forecasts(policy *v1alpha1.MetricsGate, release *v1alpha1.BatchRelease, traffic Traffic) []MetricForecast {
	var all []MetricForecast
	for _, metric := range policy.Metrics {
		check := MetricCheck{MetricCheck: metric.MetricCheck, Name: metric.Name, Interval: MetricInterval(policy)}
		switch {
		case metric.DryRun || metric.Query != nil || metric.Compare != nil && metric.Compare.Buckets != "":
			continue
		case metric.Compare == nil:
			check.Compare = &v1alpha1.CompareMetric{}
		}
		all = append(all, Forecast(check, release, traffic))
	}
	return all
}

// Forecast returns the forecast of a release's comparison of errors.
func Forecast(check MetricCheck, release *v1alpha1.BatchRelease, traffic Traffic) MetricForecast {
	look := judge.Traffic{
		Requests: traffic.PerSecond * check.Interval.Seconds(), Share: traffic.Share, Errors: traffic.Errors,
		NewPods: traffic.NewPods, OldPods: traffic.OldPods,
	}
	forecast := forecastOf(rulesOf(check.Compare).Among(comparisons(release)), look, check.Interval, check.Interval)
	forecast.Metric = check.Name
	return forecast
}

// forecastOf forecasts a comparison by the traffic of each look, with the time between two looks,
// in whole intervals.
func forecastOf(rules judge.Rules, look judge.Traffic, every, interval time.Duration) MetricForecast {
	pass, reject := rules.LooksToPass(look, 1), rules.LooksToReject(look, rules.Worse)
	f := MetricForecast{Ratio: rules.Worse, Floor: rules.Floor > 0}
	if f.Never = math.IsInf(pass, 0) || math.IsNaN(pass+reject); f.Never {
		return f
	}
	after := func(looks float64) time.Duration {
		return time.Duration(min(looks, float64(maxDuration/every)) * float64(every)).Round(interval)
	}
	f.Pass, f.FewPods = after(pass), math.IsInf(reject, 0)
	if !f.FewPods {
		f.Reject = after(reject)
	}
	return f
}

// String says how long the comparison takes; empty if only its floor can end it.
func (f MetricForecast) String() string {
	switch {
	case f.Never && f.Floor:
		return ""
	case f.Never:
		return "with so few errors there is nothing to compare: set floor to a share that is good enough"
	case f.FewPods:
		return fmt.Sprintf("at this traffic about %s to pass; with so few pods, one %g times as bad is not told from a bad node", brief(f.Pass), f.Ratio)
	}
	return fmt.Sprintf("at this traffic about %s to pass, %s to find one %g times as bad", brief(f.Pass), brief(f.Reject), f.Ratio)
}

// forecastWords says how long a verdict takes in all at the traffic so far; empty while nothing is
// known.
func forecastWords(e judge.Evidence, rules judge.Rules, every, interval time.Duration) string {
	if e.Looks < 2 || e.New.Requests <= 0 || e.Old.Requests <= 0 {
		return ""
	}
	sum := e.New.Requests + e.Old.Requests
	look := judge.Traffic{
		Requests: sum / float64(e.Looks), Share: e.New.Requests / sum, Errors: e.Old.Errors / e.Old.Requests, NewPods: e.NewPods, OldPods: e.OldPods,
	}
	if words := forecastOf(rules, look, every, interval).String(); words != "" {
		return "; " + words
	}
	return ""
}
