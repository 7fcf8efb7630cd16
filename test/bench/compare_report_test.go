package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const ms = time.Millisecond

// printed returns a report as it is shown, with its name and title.
func printed(t *testing.T, r report, name, title string) string {
	t.Helper()
	var out strings.Builder
	if err := r.print(&out, name, title); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// compared returns three runs of a bench of ten pods. The second one was slow on both sides.
func compared() (native, sluice []sample) {
	native = []sample{
		{wall: 2 * time.Second, plane: 3 * time.Second, extent: extent{8, 13}},
		{wall: 8 * time.Second, plane: 4 * time.Second, extent: extent{7, 12}},
		{wall: 3 * time.Second, plane: 5 * time.Second, extent: extent{8, 14}},
	}
	sluice = []sample{
		{
			wall: 6 * time.Second, plane: 4 * time.Second, extent: extent{8, 12}, handOvers: []time.Duration{10 * ms, 20 * ms},
			requests: map[string]int{"get": 20, "patch": 40}, usage: usage{cpu: 300 * ms, peak: 50 << 20},
		},
		{
			wall: 9 * time.Second, plane: 6 * time.Second, extent: extent{9, 13}, handOvers: []time.Duration{30 * ms, 110 * ms},
			requests: map[string]int{"get": 30, "patch": 70}, usage: usage{cpu: 900 * ms, peak: 60 << 20},
		},
		{
			wall: 6300 * ms, plane: 5 * time.Second, extent: extent{9, 11}, handOvers: []time.Duration{12 * ms, 15 * ms},
			requests: map[string]int{"create": 1, "get": 21, "patch": 45}, usage: usage{cpu: 350 * ms, peak: 49 << 20},
		},
	}
	return native, sluice
}

// TestReportOfComparison shows what comes of the samples: medians, ratios run by run, the
// worst of the pods, and the verdicts.
func TestReportOfComparison(t *testing.T) {
	t.Parallel()
	c := comparison{
		fleet: fleet{pods: 10},
		goals: goals{wall: 7 * time.Second, ratio: 2, handOver: 100 * ms, requests: 67, cpu: 300 * ms},
		argo:  &figures{wall: "13.8 s", handOver: "0.28 s", requests: "368", cpu: "1.2 s"},
	}
	got := c.report(compared())
	const want = `B0  ten pods
                            native   Sluice                       wanted               Argo Rollouts 1.9 *
  wall time                 3.0 s    6.3 s                        <= 7.0 s    met      13.8 s
    times native                     2.10                         <= 2.0      MISSED
  hand-over, median                  20 ms                                             0.28 s
    p99                              110 ms                       <= 100 ms   MISSED
    worst                            110 ms
  API requests                       67                           <= 67       met      368
    by verb                          create 1, get 21, patch 45
  controller CPU                     0.35 s                       <= 0.30 s   MISSED   1.2 s
  controller memory, peak            50 MiB
  control plane CPU         4.00 s   5.00 s
  least pods available      7        8                            >= 8        met
  most pods                 14       13                           <= 13       met

`
	if diff := cmp.Diff(want, printed(t, got, "B0", "ten pods")); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if !got.missed() {
		t.Error("one number that is missed is enough for the whole: want missed, got met")
	}
}
