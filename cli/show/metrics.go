package show

import (
	"math"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

const (
	// maxMetricName is the length of the name of a metric.
	maxMetricName = 63
	// maxCourse is the number of bars of a course.
	maxCourse = 32
)

// metricNodes returns the metrics of a gate, each with the course of what was measured.
func metricNodes(gate *v1alpha1.Gate) []Node {
	nodes := make([]Node, 0, len(gate.Status.Metrics))
	for i := range gate.Status.Metrics {
		metric := &gate.Status.Metrics[i]
		node := Node{Name: "metric " + plain.UpTo(plain.Line(metric.Name), maxMetricName), State: metricState(metric), Text: plain.Line(metric.Message)}
		if line := Sparkline(courseOf(metric)); line != "" {
			node.Text = line + " " + node.Text
		}
		nodes = append(nodes, node)
	}
	return nodes
}

func metricState(metric *v1alpha1.MetricStatus) State {
	switch {
	case metric.Outcome == v1alpha1.MetricPassed:
		return Good
	case metric.Trouble == v1alpha1.TroubleNoNewPods: // as in the first moments of each release
		return Waiting
	case metric.Outcome == v1alpha1.MetricFailed, metric.Trouble != "":
		return Bad
	}
	return Waiting
}

// courseOf returns the values that were measured of a metric, the oldest first: the new version's
// share of errors, or the results of a query.
func courseOf(metric *v1alpha1.MetricStatus) (values []float64) {
	add := func(text string) {
		if value, err := strconv.ParseFloat(strings.Trim(text, "[]"), 64); err == nil {
			values = append(values, value)
		}
	}
	if metric.Compared != nil {
		for _, point := range metric.Compared.Trail {
			add(point.New)
		}
	}
	if metric.Measured != nil {
		for _, measurement := range metric.Measured.Last {
			add(measurement.Value)
		}
	}
	return values[max(0, len(values)-maxCourse):]
}

// bars are the heights of a sparkline.
var bars = []rune("▁▂▃▄▅▆▇█")

// Sparkline draws values as a line of bars from 0 to the largest of them; empty for less than two
// values, or without one above 0.
func Sparkline(values []float64) string {
	most := 0.0
	for _, value := range values {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return ""
		}
		most = max(most, value)
	}
	if len(values) < 2 || most <= 0 {
		return ""
	}
	line := make([]rune, len(values))
	for i, value := range values {
		line[i] = bars[min(max(int(value/most*float64(len(bars))), 0), len(bars)-1)]
	}
	return string(line)
}
