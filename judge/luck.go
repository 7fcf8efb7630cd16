package judge

import "math"

// single sums up the errors that each version would have by its requests, each divided by the pods
// of its look: few pods that had most of the errors count as few, however many come later.
type single struct{ New, Old float32 }

func (s *single) add(newExpected, oldExpected float64, newPods, oldPods int) {
	if newPods > 0 && oldPods > 0 {
		s.New += float32(newExpected / float64(newPods))
		s.Old += float32(oldExpected / float64(oldPods))
	}
}

// pods returns how many pods the expected errors of a version are of; 0 if nobody knows.
func pods(expected float64, single float32) float64 {
	if single == 0 {
		return 0
	}
	return max(1, expected/float64(single))
}

// chance returns the chance that luck and pods make what speaks against a claim: an excess of
// errors in a direction, 1 or -1. An excess in the other one says nothing.
func (e Evidence) chance(c *claim, direction float64) float64 {
	excess, atEqual := float64(c.Excess.Sum), float64(e.claims[even].Excess.Sum)
	if excess*direction <= 0 {
		return 1
	}
	return e.spread.chance(
		side{e.New.Errors, e.New.Errors - excess, float64(c.Excess.New), pods(e.New.Errors-atEqual, e.single.New)},
		side{e.Old.Errors, e.Old.Errors + excess, float64(c.Excess.Old), pods(e.Old.Errors+atEqual, e.single.Old)})
}

// chance returns the chance that luck and pods make the errors of a version differ from those that
// it has under a claim at least as much as they do, at this look: the mean of normal tails of the
// root of the deviance, by the weights of deviations.
func (s *spread) chance(newSide, oldSide side) float64 {
	deviance, ofPods := newSide.deviance()+oldSide.deviance(), 0.0
	if newSide.pods > 0 && oldSide.pods > 0 {
		ofPods = newSide.luck*newSide.expected/newSide.pods + oldSide.luck*oldSide.expected/oldSide.pods
	}
	binomial := newSide.expected * oldSide.expected / (newSide.expected + oldSide.expected)
	luck := s.dispersion() * (newSide.luck + oldSide.luck)
	sum := 0.0
	for i, w := range s.weights() {
		variance := luck + deviations[i]*deviations[i]*ofPods
		sum += w * math.Erfc(math.Sqrt(deviance*binomial/variance/2)) / 2
	}
	return sum
}

// side is a version under a claim.
type side struct {
	errors, expected float64
	luck             float64 // its part of the variance of the excess
	pods             float64
}

// deviance returns the part of a version in the deviance of Poisson's distribution, without what
// the versions have in common.
func (s side) deviance() float64 {
	if s.errors == 0 {
		return 0
	}
	return 2 * s.errors * math.Log(s.errors/s.expected)
}
