package judge

import "slices"

// ratios are rates of errors, new to old, that evidence bets against: at most so much, and at least
// so much. They lie densest where verdicts do.
var ratios = [...]float64{0.5, 0.65, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10}

// even is the place of the ratio 1.
var even = slices.Index(ratios[:], 1)

// shareAt returns the share of the errors that falls on the new version if its rate is ratio times
// that of the old one, and it serves the share q of the requests.
func shareAt(ratio, q float64) float64 {
	return q * ratio / (1 - q + q*ratio)
}

// claim holds what speaks against one ratio.
type claim struct {
	AtMost, AtLeast bets
	Excess          excess
}

func newClaims() (c [len(ratios)]claim) {
	for i := range c {
		c[i].AtMost, c[i].AtLeast = newBets(), newBets()
	}
	return c
}

// add adds a look with errors; q is the share of the new version in the requests.
func (c *claim) add(ratio, newErrors, oldErrors, q float64) {
	had, share := newErrors/(newErrors+oldErrors), shareAt(ratio, q)
	c.AtMost.add(had, share)
	c.AtLeast.add(1-had, 1-share)
	c.Excess.add(newErrors, oldErrors, share)
}

// bounds returns the least and the greatest ratio that the bets leave, each at a level; 0 if they
// leave all.
func (e Evidence) bounds(level float64) (low, high float64) {
	for i := 0; i < len(ratios) && e.claims[i].AtMost.wealth() >= 1/level; i++ {
		low = ratios[i]
	}
	for i := len(ratios) - 1; i >= 0 && e.claims[i].AtLeast.wealth() >= 1/level; i-- {
		high = ratios[i]
	}
	return low, high
}

// excess sums up the errors of the new version beyond its share, and the variance that independent
// errors of either version would give that sum.
type excess struct{ Sum, New, Old float32 }

// add adds a look; share is that of the new version in its errors if a claim is true.
func (x *excess) add(newErrors, oldErrors, share float64) {
	errors := newErrors + oldErrors
	x.Sum += float32(newErrors - errors*share)
	x.New += float32(errors * share * (1 - share) * (1 - share))
	x.Old += float32(errors * (1 - share) * share * share)
}
