package judge

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Histogram holds how many requests took at most each bound, between two looks: as a Prometheus
// histogram counts them. The last bound is infinite, and its count that of all requests.
type Histogram struct {
	Bounds []float64 // rising
	Counts []float64 // one for each bound, none lower than the one before
}

// Check returns what is wrong with the histogram.
func (h Histogram) Check() error {
	switch {
	case len(h.Bounds) < 2 || len(h.Bounds) != len(h.Counts):
		return fmt.Errorf("%d bounds and %d counts: a histogram has as many of both, and at least 2", len(h.Bounds), len(h.Counts))
	case !math.IsInf(h.Bounds[len(h.Bounds)-1], 1):
		return fmt.Errorf("the last bound is %v, not +Inf: all requests can't be counted", h.Bounds[len(h.Bounds)-1])
	case !(h.Counts[0] >= 0) || math.IsInf(h.Counts[len(h.Counts)-1], 0):
		return errors.New("a count of the histogram is below 0, or is not finite")
	}
	for i := 1; i < len(h.Bounds); i++ {
		if !(h.Bounds[i-1] < h.Bounds[i]) || !(h.Counts[i-1] <= h.Counts[i]) {
			return fmt.Errorf("bucket %v: bounds must rise, and counts must not fall", h.Bounds[i])
		}
	}
	return nil
}

// Slower counts requests that took longer than a bound of the histogram as errors.
func (h Histogram) Slower(bound float64) (Count, error) {
	i := slices.Index(h.Bounds, bound)
	if i < 0 {
		return Count{}, fmt.Errorf("the histogram has no bucket for %v", bound)
	}
	all := h.Counts[len(h.Counts)-1]
	return Count{all, all - h.Counts[i]}, nil
}

// slow are the shares of requests that are slow at the bounds which a judge of latency looks at:
// beyond the median, and the slowest 10 % and 1 %.
var slow = [...]float64{0.5, 0.1, 0.01}

// JudgedBounds returns up to three finite bounds to judge latency at, from what the old version has
// served so far: the least ones that at most half of its requests exceed, at most 10 % and at most
// 1 %. A caller keeps them: bets that came before bounds were chosen would not be fair. Nothing is
// interpolated: each bound is a metric of its own, whose errors are the slower requests.
func (h Histogram) JudgedBounds() (bounds []float64) {
	all := h.Counts[len(h.Counts)-1]
	for _, share := range slow {
		for i, bound := range h.Bounds[:len(h.Bounds)-1] {
			if all-h.Counts[i] > share*all {
				continue
			}
			if !slices.Contains(bounds, bound) {
				bounds = append(bounds, bound)
			}
			break
		}
	}
	return bounds
}
