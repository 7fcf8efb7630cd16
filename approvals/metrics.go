package approvals

import (
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// What is known of the budget of each source at its forge, as of the last answer.
var (
	budgetLimit = forgeGauge("sluice_forge_requests_limit",
		"Requests that the forge allows in an hour; 0 where there is no limit.")
	budgetRemaining = forgeGauge("sluice_forge_requests_remaining",
		"Requests that are left until the hour is over.")
	budgetReset = forgeGauge("sluice_forge_reset_timestamp_seconds",
		"When all requests are there again, as a Unix time.")
	budgetLimitedUntil = forgeGauge("sluice_forge_limited_until_timestamp_seconds",
		"Until when the forge wants no requests, as a Unix time; in the past if it takes them.")
	requestsSent = forgeGauge("sluice_forge_requests",
		"Requests that were sent since the credentials were read, those answered with not modified included.")
	reportsBehind = forgeGauge("sluice_forge_reports_waiting",
		"Statuses that wait until the forge allows more requests.")
	requestsUnchanged = forgeGauge("sluice_forge_requests_unchanged",
		"Those of the requests that were answered with not modified, which cost nothing.")
)

// The workers of the controllers bound it: a forge that answers slowly shows.
var _ = promauto.With(metrics.Registry).NewGaugeFunc(prometheus.GaugeOpts{
	Name: "sluice_forge_queue_depth", Help: "Requests to forges that wait for their answer.",
}, func() float64 { return float64(wire.Unanswered()) })

func forgeGauge(name, help string) *prometheus.GaugeVec {
	return promauto.With(metrics.Registry).NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"namespace", "source"})
}

func publishBudget(source types.NamespacedName, budget forge.Budget) {
	set := func(gauge *prometheus.GaugeVec, value float64) {
		gauge.WithLabelValues(source.Namespace, source.Name).Set(value)
	}
	set(budgetLimit, float64(budget.Limit))
	set(budgetRemaining, float64(budget.Remaining))
	set(requestsSent, float64(budget.Requests))
	set(requestsUnchanged, float64(budget.Unchanged))
	if !budget.Reset.IsZero() {
		set(budgetReset, float64(budget.Reset.Unix()))
	}
	if !budget.LimitedUntil.IsZero() {
		set(budgetLimitedUntil, float64(budget.LimitedUntil.Unix()))
	}
}

func forgetBudget(source types.NamespacedName) {
	for _, gauge := range []*prometheus.GaugeVec{
		budgetLimit, budgetRemaining, budgetReset, budgetLimitedUntil, requestsSent, requestsUnchanged, reportsBehind,
	} {
		gauge.DeleteLabelValues(source.Namespace, source.Name)
	}
}
