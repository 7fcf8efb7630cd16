package show

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	rules "github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/judge"
)

// Verdicts judges the evidence in gates again, and returns a table with a row for each comparison.
// The error names the first metric whose evidence can't be read, or gives another outcome than the
// gate has.
func Verdicts(gates []v1alpha1.Gate) (*metav1.Table, error) {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		column("Gate"), column("Metric"), column("Bound"), column("Looks"), column("New"), column("Old"), column("Ratio"), column("Verdict"),
	}}
	var first error
	for i := range gates {
		for j := range gates[i].Status.Metrics {
			metric := &gates[i].Status.Metrics[j]
			if metric.Compared == nil {
				continue
			}
			replayed, outcome, err := rules.Replay(metric.Compared)
			name := plain.Line(gates[i].Name + ": metric " + plain.UpTo(metric.Name, maxMetricName))
			switch {
			case err != nil:
				err = fmt.Errorf("gate %s: %w", name, err)
			case outcome != metric.Outcome && !(gates[i].IsGuard() && metric.Outcome == ""): // a guard watches on
				err = fmt.Errorf("gate %s: its evidence comes to %q, and its status says %q", name, orOpen(outcome), orOpen(metric.Outcome))
			}
			if err != nil && first == nil {
				first = err
			}
			for _, at := range replayed {
				table.Rows = append(table.Rows, verdictRow(&gates[i], metric.Name, &at))
			}
		}
	}
	return table, first
}

func orOpen(outcome v1alpha1.MetricOutcome) string {
	if outcome == "" {
		return "no verdict yet"
	}
	return plain.Line(string(outcome))
}

func verdictRow(g *v1alpha1.Gate, metric string, at *rules.Replayed) metav1.TableRow {
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
		plain.Line(g.Name), plain.UpTo(plain.Line(metric), maxMetricName), bound, strconv.Itoa(at.Evidence.Looks),
		counted(at.Evidence.New), counted(at.Evidence.Old), ratio, string(at.Outcome),
	}}
}
