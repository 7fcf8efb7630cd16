// Package worlds makes releases of services whose rates of errors are known, to try judges on.
package worlds

import (
	"iter"
	"math"
	"math/rand/v2"

	"github.com/sluice-dev/sluice/judge"
)

// World is a service while a new version of it is released.
type World struct {
	Name     string
	Requests float64 // a second, of both versions together
	Errors   float64 // the share of the requests of the old version that fail
	Ratio    float64 // of the new version's share of errors to that of the old
	Pods     int

	Share     func(part float64) float64 // of the new version, by the part of the time that has passed
	Load      func(part float64) float64 // times Requests
	Burst     float64                    // errors that come together
	Deviation float64                    // of the rates of errors of pods, relative
	Restarts  float64                    // a look fails with this chance, for up to 20 looks

	// MostRequests is the promised median of the requests to a bad version until it is rejected; 0 if
	// none is promised.
	MostRequests float64
}

// Interval is the number of seconds between two looks; Looks is their number: four hours.
const (
	Interval = 15
	Looks    = 4 * 3600 / Interval
)

// Release yields the looks of one release. The same seed gives the same release.
func (w World) Release(seed uint64) iter.Seq[judge.Look] {
	return func(yield func(judge.Look) bool) {
		r := &release{World: w, rand: rand.New(rand.NewPCG(seed, 34)), pods: make([]pod, w.Pods)} //nolint:gosec // a seed gives the same release again
		for i := range r.pods {
			r.pods[i].factor = math.Exp(w.Deviation*r.rand.NormFloat64() - w.Deviation*w.Deviation/2)
		}
		away := 0
		for t := range Looks {
			newer := r.serve(float64(t) / Looks)
			if away == 0 && w.Restarts > 0 && r.rand.Float64() < w.Restarts {
				away = 1 + r.rand.IntN(20)
			}
			if away > 0 {
				away--
				continue
			}
			if !yield(r.look(newer)) {
				return
			}
		}
	}
}

type pod struct {
	factor float64
	now    judge.Count // since the last look
}

type release struct {
	World
	rand *rand.Rand
	pods []pod
}

// serve lets an interval pass, and returns how many pods run the new version: the first ones.
func (r *release) serve(part float64) (newer int) {
	share := r.Share(part)
	newer = min(r.Pods-1, max(1, int(math.Round(share*float64(r.Pods)))))
	requests := r.Requests * Interval * r.Load(part)
	for i := range r.pods {
		p := &r.pods[i]
		mean, rate := requests*share/float64(newer), r.Errors*r.Ratio
		if i >= newer {
			mean, rate = requests*(1-share)/float64(r.Pods-newer), r.Errors
		}
		n := poisson(r.rand, mean)
		p.now.Requests += n
		p.now.Errors += min(n, r.Burst*poisson(r.rand, n*rate*p.factor/r.Burst))
	}
	return newer
}

func (r *release) look(newer int) judge.Look {
	look := judge.Look{NewPods: newer, Old: make([]judge.Part, min(judge.Parts, r.Pods))}
	for i := range r.pods {
		p := &r.pods[i]
		if i < newer {
			look.New.Requests += p.now.Requests
			look.New.Errors += p.now.Errors
		} else {
			part := &look.Old[i%len(look.Old)]
			part.Requests += p.now.Requests
			part.Errors += p.now.Errors
			part.Pods++
		}
		p.now = judge.Count{}
	}
	return look
}

// poisson draws from Poisson's distribution: by counting for small means, from the normal
// distribution for means above 200, where the two differ by less than a percent.
func poisson(r *rand.Rand, mean float64) float64 {
	if mean <= 0 {
		return 0
	}
	if mean > 200 {
		return max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64()))
	}
	n, p, least := 0.0, r.Float64(), math.Exp(-mean)
	for ; p > least; n++ {
		p *= r.Float64()
	}
	return n
}

// Constant returns the same value at any time.
func Constant(x float64) func(float64) float64 {
	return func(float64) float64 { return x }
}

// Steps returns the share of the new version in a release of five steps.
func Steps(part float64) float64 {
	return []float64{0.05, 0.1, 0.2, 0.3, 0.5}[int(part*5)]
}

// Day returns the load of a service whose day lasts as long as the release.
func Day(part float64) float64 {
	return 1 + 0.8*math.Sin(2*math.Pi*part)
}
