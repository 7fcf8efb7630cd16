package sim

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// impatient is a release whose deadline is shorter than the time that it tells itself to wait.
func impatient() *State {
	return releasing(Setup{
		Replicas: 4, Steps: Steps("50% 20% none", "50% 50% none", "100% none"), HistoryLimit: 2, Traffic: trafficOf(func(*v1alpha1.Traffic) {}),
		MaxSurge: intstr.FromInt32(1), MaxUnavailable: intstr.FromInt32(0), Deadline: impatience, OnFailure: v1alpha1.FailureRollback,
	})
}

const impatience = 10 * time.Minute

// routesTurn lets everybody take turns, and those who forward requests, too.
func (s *State) routesTurn() {
	for changed := true; changed; {
		s.turns()
		changed = false
		for _, event := range trafficTurns(s.World) {
			changed = event.Apply(s) || changed
		}
	}
}

// failsAfter is how long a release is looked at until it fails; 0 if it ends.
func (s *State) failsAfter(each func(look int)) time.Duration {
	began := s.Now
	for look := 1; !completed(s) && s.Release.Status.Rollback == nil && s.Now.Sub(began) < 40*time.Hour; look++ {
		each(look)
		s.watch(glance)
		s.routesTurn()
	}
	if s.Release.Status.Rollback == nil {
		return 0
	}
	return s.Now.Sub(began).Round(glance)
}

// TestTimeThatIsSaidFailsNoRelease has pods stay, and endpoints and routes be as they are, for longer than the deadline.
func TestTimeThatIsSaidFailsNoRelease(t *testing.T) {
	t.Parallel()
	for name, each := range map[string]func(*State, int){
		"undisturbed": func(*State, int) {},
		"restarted in between": func(s *State, look int) {
			if look%100 == 50 {
				(Event{Kind: Restart}).Apply(s)
			}
		},
		"the clock goes to and fro": func(s *State, look int) { (Event{Kind: Leap, N: int32(look%2*2 - 1)}).Apply(s) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := impatient()
			took := s.failsAfter(func(look int) { each(s, look) })
			wantLaws(t, name, s)
			if took != 0 || !completed(s) {
				t.Errorf("it fails after %s: %s %s", took, s.World, s.Release.Status.Message)
			}
		})
	}
}

// TestOnlyTimeThatIsSaidIsExcused: a Gateway that never tells that it follows fails a release at its deadline, and whoever keeps its route from
// coming to rest keeps it from that for a time that is bounded.
func TestOnlyTimeThatIsSaidIsExcused(t *testing.T) {
	t.Parallel()
	const bound = 2 * (drainSeconds + 2*readySeconds) * time.Second
	for name, test := range map[string]struct {
		each         func(*State, int)
		least, limit time.Duration
	}{
		"a Gateway that never tells of the next share": {
			func(s *State, _ int) { silence(s.World, "route") }, readySeconds*time.Second + impatience, readySeconds*time.Second + impatience + 2*glance,
		},
		"a route that is written again and again": {func(s *State, look int) {
			if look%20 == 0 {
				writeRoute(s.World, s.Traffic.route("route"), func(*Route) {})
			}
		}, impatience, impatience + bound + glance},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := impatient()
			for look := 0; s.Traffic.Routes[0].Weight == 0; look++ {
				if look > 1000 {
					t.Fatalf("nobody gets requests: %s", s.World)
				}
				s.watch(glance)
				s.routesTurn()
			}
			test.each(s, 0)
			took := s.failsAfter(func(look int) { test.each(s, look) })
			wantLaws(t, name, s)
			if took < test.least || took > test.limit {
				t.Errorf("it fails after %s, want %s to %s: %s %s", took, test.least, test.limit, s.World, s.Release.Status.Message)
			}
		})
	}
}
