package gate_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/judge"
)

// TestForecastOfVerdict: a gate that waits says how long a verdict takes, and what to do where it
// takes for ever.
func TestForecastOfVerdict(t *testing.T) {
	t.Parallel()
	for oldErrors, says := range map[float64]string{8: "; at this traffic about ", 0: "; with so few errors there is nothing to compare"} {
		s := newMetricScene(t, ofProvider(job))
		s.decide(s.look(oldErrors, oldErrors), s.look(oldErrors, oldErrors), s.look(oldErrors, oldErrors))
		s.want(v1alpha1.DecisionWaiting, says)
		t.Log(s.gate.Status.Message)
	}
}

// TestForecastOfSlowServer: a forecast counts the looks that there were, not those that were tried:
// a server that reads its pods once a minute gives one look a minute.
func TestForecastOfSlowServer(t *testing.T) {
	t.Parallel()
	passes := regexp.MustCompile(`about (\S+) to pass, (\S+) to find`)
	forecast := func(between int) [2]time.Duration {
		s := newMetricScene(t, ofProvider(job))
		for range 5 {
			s.decide(s.look(8, 8))
			for range between {
				s.decide(s.reading(0, func(r *gate.MetricReading) { r.Looks = []gate.BoundLook{{}} }))
			}
		}
		found := passes.FindStringSubmatch(s.gate.Status.Message)
		if found == nil {
			t.Fatalf("no forecast in %q", s.gate.Status.Message)
		}
		var took [2]time.Duration
		for i := range took {
			var err error
			if took[i], err = time.ParseDuration(found[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		return took
	}
	fast, slow := forecast(0), forecast(3)
	for i := range fast {
		if ratio := slow[i].Seconds() / fast[i].Seconds(); ratio < 3 || ratio > 6 {
			t.Errorf("at a look a minute it takes %s, at four it takes %s", slow[i], fast[i])
		}
	}
}

// TestForecastOfFewPods: a gate that can't tell a bad version from a bad node says so.
func TestForecastOfFewPods(t *testing.T) {
	t.Parallel()
	s := newMetricScene(t, ofProvider(job))
	for range 3 {
		s.decide(s.reading(0, func(r *gate.MetricReading) {
			of := judge.Count{Requests: 1000, Errors: 10}
			r.Looks = []gate.BoundLook{{Look: judge.Look{New: of, NewPods: 1, Old: []judge.Part{{Count: of, Pods: 1}}}}}
		}))
	}
	s.want(v1alpha1.DecisionWaiting, "with so few pods, one 2 times as bad is not told from a bad node")
}
