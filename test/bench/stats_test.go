package main

import (
	"testing"

	"pgregory.net/rapid"
)

// TestPercentileCounts checks what a percentile promises of any values.
func TestPercentileCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(-50, 50), 1, 300).Draw(t, "values")
		p := rapid.IntRange(0, 99).Draw(t, "p")
		got := percentile(values, float64(p))
		below, notAbove := 0, 0
		for _, v := range values {
			if v < got {
				below++
			}
			if v <= got {
				notAbove++
			}
		}
		if 100*below > p*len(values) {
			t.Errorf("want at most %d%% of %d values below %d, got %d", p, len(values), got, below)
		}
		if 100*notAbove <= p*len(values) {
			t.Errorf("want more than %d%% of %d values not above %d, got %d", p, len(values), got, notAbove)
		}
	})
}
