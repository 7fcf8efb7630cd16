package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Metrics answer what a comparison needs to be foreseen.
type Metrics struct {
	// Provider has the metrics that gates share; without a name it is not known.
	Provider *v1alpha1.MetricProvider
	// Ask returns the value of a PromQL query; false if it selects nothing. A QueryError is a mistake
	// in the query, any other error one of the server.
	Ask func(query string) (float64, bool, error)
}

// shared returns the provider; nil if it is not known.
func (m *Metrics) shared() *v1alpha1.MetricProvider {
	if m == nil {
		return nil
	}
	return m.Provider
}

// QueryError is the error of a query that a server can't evaluate.
type QueryError struct{ Message string }

// Error implements error.
func (e QueryError) Error() string { return e.Message }

const (
	// tooLong is the time to a verdict from which a comparison is probably a mistake.
	tooLong = 24 * time.Hour
	// hourly is a query for the requests a second of the last hour.
	hourly = "sum(rate((%s)[1h:1m]))"
	// wholePercent is all requests.
	wholePercent = 100
)

// forecast foresees the comparisons of a release at the traffic of the last hour.
func (r *review) forecast(metrics *Metrics) error {
	for i, step := range r.object.Spec.Strategy.Steps {
		at := gate.TrafficAt(&r.object.Spec, i, r.replicas())
		if !(at.Share > 0 && at.Share < 1) {
			continue
		}
		for j := range step.Gates {
			if policy := step.Gates[j].Metrics; policy != nil {
				path := field.NewPath("spec", "strategy", "steps").Index(i).Child("gates").Index(j).Child("metrics")
				if err := r.forecastGate(metrics, policy, at, path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// forecastGate foresees the comparisons of a gate by what its step says of traffic and pods.
func (r *review) forecastGate(metrics *Metrics, policy *v1alpha1.MetricsGate, step gate.Traffic, path *field.Path) error {
	if r.lacksProvider(metrics.Provider, policy, path) {
		return nil
	}
	variables := gate.Variables{"namespace": r.release.Namespace, "release": r.release.Name, "workload": r.release.Workload}
	checks, wrong := gate.MetricChecks(policy, metrics.Provider, variables, path)
	if wrong != nil {
		r.refuseEach(path, wrong)
	}
	for i, check := range checks {
		if check.Compare == nil || check.Compare.Buckets != "" || check.DryRun {
			continue
		}
		at := path.Child("metrics").Index(i).String()
		traffic, known, err := metrics.traffic(check.Compare, step)
		if bad, is := errors.AsType[QueryError](err); is {
			r.find(Error, r.place(), at, at+": "+bad.Message)
			continue
		}
		if err != nil {
			return fmt.Errorf("forecast %s: %w", at, err)
		}
		if !known {
			r.find(Warning, r.place(), at, at+": no forecast: requests counts none in the last hour, so that nothing can be compared")
			continue
		}
		forecast := gate.Forecast(check, &r.object, traffic)
		if forecast.Never && forecast.Floor {
			continue // its floor alone can end it
		}
		words := fmt.Sprintf("%s: %s requests a second, of which %s %% fail, %s %% to the new version: %s",
			at, plain.Number(traffic.PerSecond, 3), plain.Number(wholePercent*traffic.Errors, 3), plain.Number(wholePercent*traffic.Share, 3), forecast)
		severity := Notice
		if forecast.Never || max(forecast.Pass, forecast.Reject) > tooLong {
			severity = Warning
		}
		r.find(severity, r.place(), at, words)
	}
	return nil
}

// lacksProvider reports whether a gate needs another provider than the one that is known, and warns
// of it.
func (r *review) lacksProvider(known *v1alpha1.MetricProvider, policy *v1alpha1.MetricsGate, path *field.Path) bool {
	shares := slices.ContainsFunc(policy.Metrics, func(m v1alpha1.GateMetric) bool { return m.Compare == nil && m.Query == nil })
	at := path.Child("provider").String()
	var why string
	switch {
	case known.Name == "" && shares:
		why = fmt.Sprintf("give the file of MetricProvider %s, whose metrics the gate names, with --metrics-provider", policy.Provider)
	case known.Name != "" && known.Name != policy.Provider:
		why = fmt.Sprintf("the gate asks MetricProvider %s, and the file of --metrics-provider has %s: correct the name, or give the other file", policy.Provider, known.Name)
	default:
		return false
	}
	r.find(Warning, r.place(), at, at+": no forecast: "+why)
	return true
}

// refuseEach reports each problem of a gate that its provider shows.
func (r *review) refuseEach(path *field.Path, err error) {
	problems := []error{err}
	if all, is := errors.AsType[utilerrors.Aggregate](err); is {
		problems = all.Errors()
	}
	for _, problem := range problems {
		at := path.String()
		if invalid, is := errors.AsType[*field.Error](problem); is && strings.HasPrefix(invalid.Field, at) {
			at = invalid.Field
		}
		r.find(Error, r.place(), at, problem.Error())
	}
}

// traffic returns the traffic of the last hour as it will be at a step; false if there was none.
func (m *Metrics) traffic(compare *v1alpha1.CompareMetric, step gate.Traffic) (gate.Traffic, bool, error) {
	requests, found, err := m.Ask(fmt.Sprintf(hourly, compare.Requests))
	if err != nil || !found || !(requests > 0) {
		return gate.Traffic{}, false, err
	}
	failed, _, err := m.Ask(fmt.Sprintf(hourly, compare.Errors))
	if err != nil {
		return gate.Traffic{}, false, err
	}
	step.PerSecond, step.Errors = requests, min(max(failed/requests, 0), 1)
	return step, true, nil
}

// replicas returns the size of the workload; 0 if it is not known.
func (r *review) replicas() int32 {
	if r.workload == nil || r.workload.replicas == nil {
		return 0
	}
	return *r.workload.replicas
}
