package show

import (
	"math"
	"testing"
)

// TestSparkline: values are drawn from 0 to the largest; nothing is drawn that has no height.
func TestSparkline(t *testing.T) {
	t.Parallel()
	for want, values := range map[string][]float64{
		"▁▅█": {0, 0.5, 1}, "██": {3, 3}, "▁█": {-1, 2},
	} {
		if got := Sparkline(values); got != want {
			t.Errorf("%v is %s, want %s", values, got, want)
		}
	}
	for _, values := range [][]float64{nil, {1}, {0, 0}, {1, math.NaN()}, {math.Inf(1), 1}} {
		if got := Sparkline(values); got != "" {
			t.Errorf("%v is %s", values, got)
		}
	}
}
