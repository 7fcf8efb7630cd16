package sim

import (
	"fmt"
	"testing"
)

// TestNativeTurnsInAPass lets the native controllers, and the pods, get as far as they can before one request of a release,
// or before each from that one on. What they make up meets our writes as conflicts, and ends passes that have
// entered steps: no old pod comes back for that.
func TestNativeTurnsInAPass(t *testing.T) {
	t.Parallel()
	for _, size := range []int32{1, 2, 3, 10} {
		for _, bounds := range [][2]int32{{0, 1}, {1, 0}, {1, 1}, {3, 2}} {
			setup := ten("10% none", "50% none", "100%").of(size).limits(bounds[0], bounds[1])
			t.Run(fmt.Sprintf("%d pods, %d more, %d fewer", size, bounds[0], bounds[1]), func(t *testing.T) {
				t.Parallel()
				requests := turnsMeanwhile(t, setup, func(int) bool { return false })
				for n := range requests {
					turnsMeanwhile(t, setup, func(k int) bool { return k == n })
					turnsMeanwhile(t, setup, func(k int) bool { return k >= n })
				}
			})
		}
	}
}

// turnsMeanwhile lets others act before those requests of a release that are chosen. It returns how many requests there were.
func turnsMeanwhile(t *testing.T, setup Setup, chosen func(request int) bool) int {
	t.Helper()
	s, request := releasing(setup), 0
	for range maxEvents {
		report := s.Process.Pass(s.World, Mishaps{Before: func(w *World) {
			if chosen(request) {
				(&State{World: w}).others()
			}
			request++
		}})
		for _, done := range report.Done {
			if scale, is := scaleOf(done.Action); is && scale.Set.Revision == "v1" && scale.To > scale.From {
				t.Fatalf("old pods come back, from %d to %d, because %s: %s", scale.From, scale.To, done.Action.Why(), s.World)
			}
		}
		wantLaws(t, "a native turn meanwhile", s)
		if completed(s) {
			return request
		}
		s.others()
	}
	t.Fatalf("the release does not end: %s", s.World)
	return request
}
