package judge

import "math"

// Parts is the number of parts that pods of the old version are divided into. A caller with fewer
// pods has a part for each.
const Parts = 8

// spread holds how the parts of the old version differ.
type spread struct {
	Part [Parts]part
	// Single is the sum of the expected errors of each part divided by its pods.
	Single float32
	// Within is the sum of squared differences within looks, each over its expectation, and Free
	// the number of those that are free: errors in bursts of b have b times the variance.
	Within, Free float32
	// Halves are the even and the odd parts against each other, both ways.
	Halves [2]bets
}

// part holds the errors that a part had, and those that it would have had by its requests.
type part struct{ Errors, Expected float32 }

func newSpread() spread {
	return spread{Halves: [2]bets{newBets(), newBets()}}
}

func (s *spread) add(old []Part) {
	var total, even Count
	used := 0
	for i, p := range old {
		total = total.plus(p.Count)
		if p.Requests > 0 {
			used++
		}
		if i%2 == 0 {
			even = even.plus(p.Count)
		}
	}
	if used < 2 || total.Errors < least {
		return
	}
	for i, p := range old {
		if p.Requests < least*total.Requests {
			if p.Requests > 0 {
				used--
			}
			continue
		}
		expected := total.Errors * p.Requests / total.Requests
		s.Part[i].Errors += float32(p.Errors)
		s.Part[i].Expected += float32(expected)
		s.Single += float32(expected / float64(max(1, p.Pods)))
		s.Within += float32((p.Errors - expected) * (p.Errors - expected) / expected)
	}
	s.Free += float32(used - 1)
	if q := even.Requests / total.Requests; q >= least && q <= 1-least {
		share := even.Errors / total.Errors
		s.Halves[0].add(share, q)
		s.Halves[1].add(1-share, 1-q)
	}
}

// differ reports whether the halves of the old version reject each other at a level.
func (s *spread) differ(level float64) bool {
	return (s.Halves[0].wealth()+s.Halves[1].wealth())/2 >= 1/level
}

// dispersion returns the variance of the errors of a look over that of independent ones, at
// least 1: the size of a burst.
func (s *spread) dispersion() float64 {
	if s.Free == 0 {
		return 1
	}
	return max(1, float64(s.Within/s.Free))
}

// squares returns Pearson's statistic of the parts, and their number.
func (s *spread) squares() (sum, parts float64) {
	for _, p := range s.Part {
		if p.Expected > 0 {
			d := float64(p.Errors - p.Expected)
			sum += d * d / float64(p.Expected)
			parts++
		}
	}
	return sum, parts
}

// deviations are relative standard deviations that the rates of errors of pods may have.
var deviations = [...]float64{0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1}

// usual holds the weights of deviations before any look: those of the upper half of a normal
// distribution with a deviation of 0.2, each up to the middle between two.
var usual = func() (w [len(deviations)]float64) {
	below := 0.0
	for i := range w {
		w[i] = 1 - below
		if i < len(w)-1 {
			up := math.Erf((deviations[i] + deviations[i+1]) / 2 / 0.2 / math.Sqrt2)
			w[i], below = up-below, up
		}
	}
	return w
}()

// weights returns the chance of each of deviations, by Bayes' rule: Pearson's statistic of the
// parts over dispersion + deviation²·(expected errors of a pod) has a chi-squared distribution.
func (s *spread) weights() (w [len(deviations)]float64) {
	sum, parts := s.squares()
	total := 0.0
	for i, d := range deviations {
		w[i] = usual[i]
		if parts >= 2 {
			factor := s.dispersion() + d*d*float64(s.Single)/parts
			// chi-squared density of sum/factor, less what all have in common
			w[i] *= math.Exp(-sum/factor/2 - math.Log(factor)*(parts-1)/2)
		}
		total += w[i]
	}
	if total == 0 {
		w[len(w)-1], total = 1, 1
	}
	for i := range w {
		w[i] /= total
	}
	return w
}

// deviation returns the mean of deviations by their weights.
func (s *spread) deviation() float64 {
	mean := 0.0
	for i, w := range s.weights() {
		mean += w * deviations[i]
	}
	return mean
}

// between returns the ratio of the rates of two versions that pods account for in all but 1 % of
// releases: at least 1.
func (s *spread) between(newPods, oldPods int) float64 {
	if newPods == 0 || oldPods == 0 {
		return 1
	}
	return math.Exp(2.33 * s.deviation() * math.Sqrt(1/float64(newPods)+1/float64(oldPods)))
}
