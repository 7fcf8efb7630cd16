package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

func TestReactions(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	write := func(resource string, at time.Duration, code int) controlplane.Request {
		received := start.Add(at)
		return controlplane.Request{Verb: "patch", UserAgent: "sluice/v1", Resource: resource, Received: received, Answered: received.Add(2), Code: code}
	}
	requests := []controlplane.Request{
		write("httproutes", 0, http.StatusOK), // of the first step, which no gate has opened
		write("gates/status", 10, http.StatusOK),
		write("batchreleases/status", 15, http.StatusOK),
		write("httproutes", 16, http.StatusConflict),
		write("httproutes", 18, http.StatusOK),
		write("httproutes", 19, http.StatusOK),
		write("batchreleases/status", 40, http.StatusOK), // the log is not in order
		write("gates/status", 30, http.StatusOK),
		write("httproutes", 50, http.StatusOK),
	}
	want := []reaction{{gate: 8, step: 3, own: 1}, {gate: 20, step: 10, own: 8}}
	if diff := cmp.Diff(want, reactions(requests), cmp.AllowUnexported(reaction{})); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
}

func TestVerdictsOfShares(t *testing.T) {
	t.Parallel()
	s := shares{fleet: fleet{pods: 10, steps: tenSteps()}, more: 3, handOver: 50 * time.Millisecond}
	released := func(requests int, took time.Duration) []moved {
		return []moved{{requests: map[string]int{"patch": requests}, reactions: []reaction{{gate: 3 * took, step: 2 * took, own: took}}}}
	}
	for name, test := range map[string]struct {
		requests int
		took     time.Duration
		missed   bool
	}{
		"as wanted":         {130, 50 * time.Millisecond, false},
		"too many requests": {131, 50 * time.Millisecond, true},
		"too late":          {130, 51 * time.Millisecond, true},
	} {
		if got := s.report(released(100, 0), released(test.requests, 0), released(0, test.took)).missed(); got != test.missed {
			t.Errorf("%s: missed is %t, want %t", name, got, test.missed)
		}
	}
}

func TestStepsOfBlueGreen(t *testing.T) {
	t.Parallel()
	var got []string
	for _, s := range blueGreen(2) {
		got = append(got, s.Replicas.String()+" "+s.Traffic)
	}
	if diff := cmp.Diff([]string{"100% 0%", "100% 50%", "100% 100%"}, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}
