package judge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/judge"
)

// TestForecastByPods: verdicts come in the looks that were forecast, by a factor of two, with many
// pods and with few.
func TestForecastByPods(t *testing.T) {
	t.Parallel()
	for _, traffic := range []judge.Traffic{
		{Requests: 300, Share: 0.5, Errors: 0.01, NewPods: 10, OldPods: 10},
		{Requests: 1500, Share: 0.05, Errors: 0.01, NewPods: 1, OldPods: 19},
		{Requests: 300, Share: 0.1, Errors: 0.01, NewPods: 1, OldPods: 9},
		{Requests: 3000, Share: 0.25, Errors: 0.01, NewPods: 1, OldPods: 3},
	} {
		t.Run(fmt.Sprint(traffic), func(t *testing.T) {
			t.Parallel()
			rules := judge.Default()
			pass, reject := rules.LooksToPass(traffic, 1), rules.LooksToReject(traffic, 2)
			for _, tc := range []struct {
				name     string
				outcome  judge.Outcome
				ratio    float64
				forecast float64
			}{{"pass", judge.Fine, 1, pass}, {"reject", judge.Worse, 2, reject}} {
				var took []int
				for seed := range uint64(31) {
					if looks, outcome := decided(traffic, tc.ratio, seed); outcome == tc.outcome {
						took = append(took, looks)
					}
				}
				slices.Sort(took)
				if median := float64(took[len(took)/2]); median > 2*tc.forecast || median < tc.forecast/2 {
					t.Errorf("%s: takes %v looks in the median, and the forecast is %v", tc.name, median, tc.forecast)
				}
			}
		})
	}
	if looks := judge.Default().LooksToReject(judge.Traffic{Requests: 3000, Share: 0.5, Errors: 0.01, NewPods: 1, OldPods: 1}, 2); !math.IsInf(looks, 1) {
		t.Errorf("one pod that is twice as bad as another one is rejected after %v looks, want never: it may have a bad node", looks)
	}
}

// decided returns the outcome of a release, and its looks.
func decided(traffic judge.Traffic, ratio float64, seed uint64) (int, judge.Outcome) {
	random := rand.New(rand.NewPCG(seed, 11))
	count := func(requests, rate float64) judge.Count {
		errors := math.Round(requests*rate + math.Sqrt(requests*rate)*random.NormFloat64())
		if requests*rate < 20 { // binomial
			errors = 0
			for range int(requests) {
				if random.Float64() < rate {
					errors++
				}
			}
		}
		return judge.Count{Requests: requests, Errors: max(0, errors)}
	}
	evidence := judge.New()
	for looks := range 5000 {
		look := judge.Look{NewPods: traffic.NewPods, Old: make([]judge.Part, min(judge.Parts, traffic.OldPods))}
		look.New = count(math.Round(traffic.Requests*traffic.Share), traffic.Errors*ratio)
		for pod := range traffic.OldPods {
			of := count(math.Round(traffic.Requests*(1-traffic.Share)/float64(traffic.OldPods)), traffic.Errors)
			part := &look.Old[pod%len(look.Old)]
			part.Pods++
			part.Requests += of.Requests
			part.Errors += of.Errors
		}
		evidence, _ = evidence.Add(look)
		if outcome := evidence.Verdict(judge.Default()).Outcome; outcome != judge.NotYet {
			return looks + 1, outcome
		}
	}
	return 5000, judge.NotYet
}
