package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestReportOfRest: memory and writes are the worst of all restarts, the rest is the middle one's.
func TestReportOfRest(t *testing.T) {
	t.Parallel()
	s := restSample{
		usage: usage{cpu: time.Minute, memory: 100<<20 - 1, peak: 110 << 20},
		restarts: []restart{
			{quiet: 400 * ms, requests: map[string]int{"get": 1}, usage: usage{cpu: 500 * ms, peak: 70 << 20}},
			{quiet: 11 * time.Second, requests: map[string]int{"get": 3}, writes: 1, usage: usage{cpu: 700 * ms, peak: 100 << 20}},
			{quiet: 600 * ms, requests: map[string]int{"get": 2, "watch": 6}, usage: usage{cpu: 600 * ms, peak: 60 << 20}},
		},
	}
	r := rest{watched: time.Minute, memory: 100 << 20, restart: 10 * time.Second}
	const want = `B0  at rest
                                            Sluice           wanted
  API requests in 1m0s, the lease's aside   0                0           met
  controller memory at rest                 100 MiB          < 100 MiB   met
    peak, first start                       110 MiB
    peak, restart                           100 MiB          < 100 MiB   MISSED
  restart until ready and quiet             600 ms           <= 10.0 s   met
    writes                                  1                0           MISSED
    API requests                            get 2, watch 6
    controller CPU                          0.60 s

`
	if diff := cmp.Diff(want, printed(t, r.report(s), "B0", "at rest")); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	s.requests, s.memory = map[string]int{"get": 1}, 100<<20
	s.restarts = s.restarts[1:2]
	for label, got := range verdicts(r.report(s)) {
		if got != missed {
			t.Errorf("%s: want %s of a controller that does not rest, got %s", label, missed, got)
		}
	}
}
