package judge

import "math"

// Traffic describes the requests of each look to come.
type Traffic struct {
	Requests float64 // of both versions, more than 0
	Share    float64 // of the new version in them, in (0, 1)
	Errors   float64 // share of the requests of the old version that fail, in [0, 1]

	NewPods, OldPods int // 0 if nobody knows
}

// LooksToReject returns the looks after which a version with ratio times the errors of the old one
// is rejected, in the median; infinite if it never is. It takes pods of the old version to differ
// by luck alone.
func (r Rules) LooksToReject(t Traffic, ratio float64) float64 {
	bets := looks(r.Alpha, t.growth(ratio, func(share float64) (float64, float64) { return share, t.Share }))
	if t.after(bets, ratio).beyondPods() {
		return bets
	}
	least, most := bets, bets
	for !t.after(most, ratio).beyondPods() {
		if least, most = most, 2*most; !(most < mostLooks) {
			return math.Inf(1)
		}
	}
	for most-least > 1 {
		if middle := math.Round((least + most) / 2); t.after(middle, ratio).beyondPods() {
			most = middle
		} else {
			least = middle
		}
	}
	return most
}

// mostLooks bounds a forecast: a year of looks a second.
const mostLooks = 3e7

// after returns the evidence to expect after a number of looks, as far as luck and pods go.
func (t Traffic) after(looks, ratio float64) Evidence {
	e := New()
	oldErrors := looks * t.Requests * (1 - t.Share) * t.Errors
	newErrors := looks * t.Requests * t.Share * min(1, t.Errors*ratio)
	e.New.Errors, e.Old.Errors = newErrors, oldErrors
	e.claims[even].Excess.add(newErrors, oldErrors, t.Share)
	had := newErrors + oldErrors
	e.single.add(had*t.Share, had*(1-t.Share), t.NewPods, t.OldPods)
	parts := min(t.OldPods, Parts)
	for i := range parts {
		expected := oldErrors / float64(parts)
		luck := math.Sqrt(expected * (1 - 1/float64(parts)))
		e.spread.Part[i] = part{float32(expected + luck), float32(expected)}
		e.spread.Single += float32(oldErrors / float64(t.OldPods))
	}
	return e
}

// beyondPods reports whether luck and pods don't account for the errors of the new version.
func (e Evidence) beyondPods() bool { return e.chance(&e.claims[even], 1) <= podsReject }

// LooksToPass returns the looks after which a version with ratio times the errors of the old one
// passes, in the median; infinite if it never does.
func (r Rules) LooksToPass(t Traffic, ratio float64) float64 {
	bound := 1 - shareAt(r.Worse, t.Share)
	return looks(r.Beta, t.growth(ratio, func(share float64) (float64, float64) { return 1 - share, bound }))
}

// looks returns how many looks of a growth take the mean of the bets to 1/level.
func looks(level, growth float64) float64 {
	if growth <= 0 {
		return math.Inf(1)
	}
	return math.Ceil(math.Log(float64(len(stakes))/level) / growth)
}

// growth returns the mean logarithm by which the best stake grows in a look.
func (t Traffic) growth(ratio float64, bet func(share float64) (had, bound float64)) float64 {
	newErrors := poisson(t.Requests * t.Share * min(1, t.Errors*ratio))
	oldErrors := poisson(t.Requests * (1 - t.Share) * t.Errors)
	best := 0.0
	for _, stake := range stakes {
		mean := 0.0
		for _, a := range newErrors {
			for _, b := range oldErrors {
				if a.value+b.value > 0 {
					had, bound := bet(a.value / (a.value + b.value))
					mean += a.chance * b.chance * math.Log1p(stake*(had/bound-1))
				}
			}
		}
		best = max(best, mean)
	}
	return best
}

type outcome struct{ value, chance float64 }

// exactMean is the mean up to which each count has its own outcome.
const exactMean = 30

// poisson returns the outcomes of Poisson's distribution: each count for a small mean, or else nine
// of the normal distribution.
func poisson(mean float64) (outcomes []outcome) {
	if mean > exactMean {
		sum := 0.0
		for x := -4.0; x <= 4; x++ {
			sum += math.Exp(-x * x / 2)
		}
		for x := -4.0; x <= 4; x++ {
			outcomes = append(outcomes, outcome{mean + x*math.Sqrt(mean), math.Exp(-x*x/2) / sum})
		}
		return outcomes
	}
	chance := math.Exp(-mean)
	for n := 0.0; n <= mean+8*math.Sqrt(mean)+8; n++ {
		outcomes = append(outcomes, outcome{n, chance})
		chance *= mean / (n + 1)
	}
	return outcomes
}
