package judge

import "math"

// tempers are ratios of a rate of errors to Rules.Floor that wealth is put on: below and above it.
var (
	belowFloor = [...]float64{0, 0.25, 0.5, 0.8}
	aboveFloor = [...]float64{1.5, 2, 4, 10}
)

// wealthAgainst returns what independent errors speak against a rate of errors, by the likelihood
// of each of tempers times the rate. Its mean is at most 1 while the rate is true, or is further
// from the tempers. The dispersion counts errors that come in bursts once for each burst.
func wealthAgainst(rate float64, c Count, dispersion float64, tempers []float64) float64 {
	sum := 0.0
	for _, temper := range tempers {
		alternative := min(rate*temper, 1-1e-9)
		likelihood := (c.Requests - c.Errors) * math.Log((1-alternative)/(1-rate))
		if c.Errors > 0 {
			likelihood += c.Errors * math.Log(alternative/rate) // log(0) rules the temper 0 out
		}
		sum += math.Exp(min(likelihood/dispersion, math.Log(mostWealth)))
	}
	return sum / float64(len(tempers))
}
