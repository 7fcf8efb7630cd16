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

// compared returns three runs of a bench of ten pods. The second one was slow on all sides.
func compared() sides {
	native := []sample{
		{wall: 2 * time.Second, plane: 3 * time.Second, extent: extent{8, 13}, all: 80},
		{wall: 8 * time.Second, plane: 4 * time.Second, extent: extent{7, 12}, all: 95},
		{wall: 3 * time.Second, plane: 5 * time.Second, extent: extent{8, 14}, all: 90},
	}
	sluice := []sample{
		{
			wall: 6 * time.Second, plane: 4 * time.Second, extent: extent{8, 12}, handOvers: []time.Duration{10 * ms, 20 * ms},
			requests: map[string]int{"get": 20, "patch": 40}, all: 130, usage: usage{cpu: 300 * ms, peak: 50 << 20},
		},
		{
			wall: 9 * time.Second, plane: 6 * time.Second, extent: extent{9, 13}, handOvers: []time.Duration{30 * ms, 110 * ms},
			requests: map[string]int{"get": 30, "patch": 70}, all: 170, usage: usage{cpu: 900 * ms, peak: 60 << 20},
		},
		{
			wall: 6300 * ms, plane: 5 * time.Second, extent: extent{9, 11}, handOvers: []time.Duration{12 * ms, 15 * ms},
			requests: map[string]int{"create": 1, "get": 21, "patch": 45}, all: 140, usage: usage{cpu: 350 * ms, peak: 49 << 20},
		},
	}
	argo := []sample{
		{
			wall: 12 * time.Second, plane: 6 * time.Second, extent: extent{7, 13}, handOvers: []time.Duration{200 * ms, 300 * ms},
			requests: map[string]int{"patch": 90, "update": 110}, all: 260, usage: usage{cpu: 800 * ms, peak: 80 << 20},
		},
		{
			wall: 15 * time.Second, plane: 7 * time.Second, extent: extent{8, 12}, handOvers: []time.Duration{250 * ms, 900 * ms},
			requests: map[string]int{"patch": 90, "update": 130}, all: 300, usage: usage{cpu: 1200 * ms, peak: 90 << 20},
		},
		{
			wall: 10 * time.Second, plane: 5 * time.Second, extent: extent{8, 12}, handOvers: []time.Duration{240 * ms, 310 * ms},
			requests: map[string]int{"patch": 80, "update": 110}, all: 250, usage: usage{cpu: 700 * ms, peak: 70 << 20},
		},
	}
	return sides{native, sluice, argo}
}

// TestReportOfComparison shows what comes of the samples: medians, ratios run by run, the
// worst of the pods, and the verdicts.
func TestReportOfComparison(t *testing.T) {
	t.Parallel()
	c := comparison{
		fleet: fleet{pods: 10},
		goals: goals{
			wall: 7 * time.Second, ratio: 2, ofArgo: 0.6, handOver: 100 * ms, requests: 67, all: 140, cpu: 300 * ms, peak: 60 << 20,
		},
	}
	got := c.report(compared())
	const want = `B0  ten pods
                            native   Sluice                       Argo Rollouts          wanted
  wall time                 3.0 s    6.3 s                        12.0 s                 <= 7.0 s    met
    times native                     2.10                         3.33                   <= 2.0      MISSED
    times Argo Rollouts              0.60                                                <= 0.6      met
  hand-over, median                  20 ms                        300 ms
    p99                              110 ms                       900 ms                 <= 100 ms   MISSED
    worst                            110 ms                       900 ms
  API requests                       67                           200                    <= 67       met
    by verb                          create 1, get 21, patch 45   patch 90, update 110
    of all controllers      90       140                          260                    <= 140      met
  controller CPU                     0.35 s                       0.80 s                 <= 0.30 s   MISSED
  controller memory, peak            50 MiB                       80 MiB                 <= 60 MiB   met
  control plane CPU         4.00 s   5.00 s                       6.00 s
  least pods available      7        8                            7                      >= 8        met
  most pods                 14       13                           13                     <= 13       met

`
	if diff := cmp.Diff(want, printed(t, got, "B0", "ten pods")); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if !got.missed() {
		t.Error("one number that is missed is enough for the whole: want missed, got met")
	}
}
