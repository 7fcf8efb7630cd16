package worlds

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/sluice-dev/sluice/judge"
)

// Result sums up the verdicts on many releases of a world.
type Result struct {
	Releases int
	// Rejected, Passed and Unfit count the releases in which the judge ever gave that verdict, and
	// PassedFirst the releases that it passed before it rejected them, or never did.
	Rejected, Passed, PassedFirst, Unfit int
	// Requests and Looks are medians at the rejection: the requests that the new version had served,
	// and the looks; 0 if less than half were rejected.
	Requests float64
	Looks    int
}

// one holds the verdicts on one release.
type one struct {
	rejected, passed, unfit bool
	requests                float64
	looks, passedAt         int
}

// Try judges releases of a world with the default rules, at each look of four hours.
func (w World) Try(releases int) Result {
	return w.sum(releases, func(seed uint64) (o one) {
		e := judge.New()
		looks := 0
		for look := range w.Release(seed) {
			looks++
			e, _ = e.Add(look) // worlds make counts that can be
			switch e.Verdict(judge.Default()).Outcome {
			case judge.Worse:
				o.rejected, o.requests, o.looks = true, e.New.Requests, looks
				return o
			case judge.Fine:
				if !o.passed {
					o.passed, o.passedAt = true, looks
				}
			case judge.Unfit:
				o.unfit = true
			case judge.NotYet:
			}
		}
		return o
	})
}

// TryRival judges the same releases as others do.
func (w World) TryRival(rival Rival, releases int) Result {
	return w.sum(releases, func(seed uint64) (o one) {
		says := rival.Judge()
		for look := range w.Release(seed) {
			o.looks++
			o.requests += look.New.Requests
			if says(look) {
				o.rejected = true
				return o
			}
		}
		return o
	})
}

func (w World) sum(releases int, try func(seed uint64) one) Result {
	all := make([]one, releases)
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		wait.Go(func() {
			for i := worker; i < releases; i += workers {
				all[i] = try(uint64(i))
			}
		})
	}
	wait.Wait()
	result := Result{Releases: releases}
	var requests []float64
	var looks []int
	for _, o := range all {
		if o.rejected {
			result.Rejected++
			requests, looks = append(requests, o.requests), append(looks, o.looks)
		}
		if o.passed {
			result.Passed++
			if o.rejected && o.passedAt < o.looks || !o.rejected {
				result.PassedFirst++
			}
		}
		if o.unfit {
			result.Unfit++
		}
	}
	if half := releases / 2; len(requests) > half {
		slices.Sort(requests)
		slices.Sort(looks)
		result.Requests, result.Looks = requests[half], looks[half]
	}
	return result
}

// The promises of the judge at its default rules.
const (
	mostRejected = 0.01 // of good versions
	mostPassed   = 0.05 // of those that are twice as bad
	leastFound   = 0.9  // of the bad versions of worlds with MostRequests
)

// Broken returns which promises a result breaks.
func (w World) Broken(r Result) (broken []string) {
	of := float64(r.Releases)
	if w.Ratio <= 1 {
		if float64(r.Rejected) > mostRejected*of {
			broken = append(broken, fmt.Sprintf("%s: %d of %d good versions were rejected", w.Name, r.Rejected, r.Releases))
		}
		return broken
	}
	if float64(r.PassedFirst) > mostPassed*of {
		broken = append(broken, fmt.Sprintf("%s: %d of %d bad versions passed", w.Name, r.PassedFirst, r.Releases))
	}
	if w.MostRequests > 0 && (float64(r.Rejected) < leastFound*of || r.Requests > w.MostRequests) {
		broken = append(broken, fmt.Sprintf("%s: %d of %d bad versions were rejected, after %.0f requests", w.Name, r.Rejected, r.Releases, r.Requests))
	}
	return broken
}
