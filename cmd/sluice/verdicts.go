package main

import (
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/judge"
)

// maxMetricName is the length of the name of a metric.
const maxMetricName = 63

// verdictTable judges the evidence in gates again, and returns a table with a row for each
// comparison. The error names the first metric whose evidence can't be read, or gives another
// outcome than the gate has.
func verdictTable(gates []v1alpha1.Gate) (*metav1.Table, error) {
	table, first := &metav1.Table{}, error(nil)
	for _, name := range []string{"Gate", "Metric", "Bound", "Looks", "New", "Old", "Ratio", "Verdict"} {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string"})
	}
	for i := range gates {
		for j := range gates[i].Status.Metrics {
			metric := &gates[i].Status.Metrics[j]
			if metric.Compared == nil {
				continue
			}
			replayed, err := replay(&gates[i], metric)
			if first == nil {
				first = err
			}
			for k := range replayed {
				table.Rows = append(table.Rows, verdictRow(gates[i].Name, metric.Name, &replayed[k]))
			}
		}
	}
	return table, first
}

// replay judges the evidence of a metric again. The error names a gate that says something else.
func replay(g *v1alpha1.Gate, metric *v1alpha1.MetricStatus) ([]gate.Replayed, error) {
	replayed, outcome, err := gate.Replay(metric.Compared)
	name := plain.Line(g.Name + ": metric " + plain.UpTo(metric.Name, maxMetricName))
	switch {
	case err != nil:
		return replayed, fmt.Errorf("gate %s: %w", name, err)
	case outcome != metric.Outcome && !watchesOn(g, metric, outcome):
		return replayed, fmt.Errorf("gate %s: its evidence comes to %q, and its status says %q", name, orOpen(outcome), orOpen(metric.Outcome))
	case outcome == v1alpha1.MetricFailed && passedByMetrics(g, metric.Name):
		return replayed, fmt.Errorf("gate %s: it has passed, and its evidence comes to %q", name, outcome)
	}
	return replayed, nil
}

// watchesOn reports whether a metric of a guard is open whatever its evidence comes to, unless that
// is a failure.
func watchesOn(g *v1alpha1.Gate, metric *v1alpha1.MetricStatus, outcome v1alpha1.MetricOutcome) bool {
	return g.IsGuard() && metric.Outcome == "" && outcome != v1alpha1.MetricFailed
}

// passedByMetrics reports whether a gate has passed without a person, and a metric is one of those
// that decide it.
func passedByMetrics(g *v1alpha1.Gate, metric string) bool {
	if g.Status.Decision != v1alpha1.DecisionPassed || g.Status.Undecided || g.Status.Force != nil || g.Spec.Policy.Metrics == nil {
		return false
	}
	return slices.ContainsFunc(g.Spec.Policy.Metrics.Metrics, func(m v1alpha1.GateMetric) bool { return m.Name == metric && !m.DryRun })
}

func orOpen(outcome v1alpha1.MetricOutcome) string {
	if outcome == "" {
		return "no verdict yet"
	}
	return plain.Line(string(outcome))
}

func verdictRow(name, metric string, at *gate.Replayed) metav1.TableRow {
	counted := func(n judge.Count) string { return fmt.Sprintf("%.0f of %.0f", n.Errors, n.Requests) }
	bound, ratio := "errors", "unknown"
	if at.Bound != "" {
		bound = "slower than " + plain.UpTo(plain.Line(at.Bound), maxMetricName)
	}
	switch {
	case at.High > 0:
		ratio = fmt.Sprintf("%.2f to %.2f", at.Low, at.High)
	case at.Low > 0:
		ratio = fmt.Sprintf("at least %.2f", at.Low)
	}
	return metav1.TableRow{Cells: []any{
		plain.Line(name), plain.UpTo(plain.Line(metric), maxMetricName), bound, strconv.Itoa(at.Evidence.Looks),
		counted(at.Evidence.New), counted(at.Evidence.Old), ratio, string(at.Outcome),
	}}
}
