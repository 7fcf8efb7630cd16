package worlds_test

import (
	"math"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/judge"
	"github.com/sluice-dev/sluice/judge/worlds"
)

// TestPromises tries the judge on some releases of each world. The command table does on ten
// thousand.
func TestPromises(t *testing.T) {
	const releases = 100
	for _, w := range append(worlds.Good, worlds.Bad...) {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			for _, promise := range w.Broken(w.Try(releases)) {
				t.Error(promise)
			}
		})
	}
}

// TestRivals: the usual tests reject good versions, as their literature warns, on the releases on
// which the judge does not.
func TestRivals(t *testing.T) {
	for _, tc := range []struct {
		world worlds.World
		rival worlds.Rival
		least float64
	}{
		{worlds.Equal, worlds.ZTest, 0.05},
		{worlds.Bursts, worlds.ZTest, 0.5},
		{worlds.Equal, worlds.TwiceRate, 0.9},
		{worlds.Equal, worlds.Flagger, 0.9},
	} {
		if r := tc.world.TryRival(tc.rival, 50); float64(r.Rejected) < tc.least*float64(r.Releases) {
			t.Errorf("%s, %s: %d of %d good versions were rejected, want at least %v", tc.world.Name, tc.rival.Name, r.Rejected, r.Releases, tc.least)
		}
	}
}

// TestForecastOfLooks: the judge takes as many looks as it forecasts, within a half.
func TestForecastOfLooks(t *testing.T) {
	for _, tc := range []struct {
		name            string
		requests, share float64 // a second
		errors, ratio   float64
	}{
		{"twice as bad", 10, 0.5, 0.01, 2},
		{"twice as bad, little traffic", 2, 0.5, 0.01, 2},
		{"five times as bad", 2, 0.1, 0.01, 5},
		{"fifty times as bad", 10, 0.05, 0.001, 50},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := worlds.World{
				Name: tc.name, Requests: tc.requests, Errors: tc.errors, Ratio: tc.ratio, Pods: 40, Burst: 1,
				Share: worlds.Constant(tc.share), Load: worlds.Constant(1),
			}
			got := w.Try(100)
			traffic := judge.Traffic{Requests: tc.requests * worlds.Interval, Share: tc.share, Errors: tc.errors}
			want := judge.Default().LooksToReject(traffic, tc.ratio)
			if math.Abs(math.Log(float64(got.Looks)/want)) > math.Log(1.5) {
				t.Errorf("took %d looks in the median, forecast %v", got.Looks, want)
			}
		})
	}
}

// TestForecastOfPasses: good versions take half to twice the looks that the judge forecasts.
func TestForecastOfPasses(t *testing.T) {
	for _, share := range []float64{0.5, 0.1} {
		w := worlds.Equal
		w.Share = worlds.Constant(share)
		traffic := judge.Traffic{Requests: w.Requests * worlds.Interval, Share: share, Errors: w.Errors}
		want := judge.Default().LooksToPass(traffic, 1)
		var took []int
		for seed := range uint64(101) {
			e, looks := judge.New(), 0
			for look := range w.Release(seed) {
				looks++
				e, _ = e.Add(look)
				if e.Verdict(judge.Default()).Outcome == judge.Fine {
					break
				}
			}
			took = append(took, looks)
		}
		slices.Sort(took)
		if got := float64(took[50]); got < want/2 || got > want*2 {
			t.Errorf("share %v: took %v looks in the median, forecast %v", share, got, want)
		}
	}
	if got := judge.Default().LooksToPass(judge.Traffic{Requests: 150, Share: 0.5, Errors: 0.01}, 3); !math.IsInf(got, 1) {
		t.Errorf("a version three times as bad passes after %v looks, want never", got)
	}
}
