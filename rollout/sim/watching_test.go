package sim

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func slowly(deadline time.Duration) *State {
	return releasing(Setup{
		Replicas: 6, Steps: Steps("2 none", "100%"), HistoryLimit: 10, Deadline: deadline,
		MaxSurge: intstr.FromInt32(1), MaxUnavailable: intstr.FromInt32(0), OnFailure: v1alpha1.FailureRollback,
	})
}

// TestClockThatJumpsFailsNothing lets the clock of the controller's node go ahead and back between the pods of a slow release, or
// the controller be away, or start again on a node with another clock: none of it is a reason to fail it.
func TestClockThatJumpsFailsNothing(t *testing.T) {
	t.Parallel()
	const deadline = 10 * time.Minute
	for name, happens := range map[string][]Event{
		"ahead":                    {{Kind: Leap, N: 1}},
		"back":                     {{Kind: Leap, N: -1}},
		"to and fro":               {{Kind: Leap, N: 1}, {Kind: Leap, N: -2}, {Kind: Leap, N: 3}},
		"away":                     {{Kind: Away}},
		"away, and another one":    {{Kind: Away}, {Kind: Restart}},
		"a node with another time": {{Kind: Restart}, {Kind: Leap, N: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := slowly(deadline)
			for range 60 {
				for _, event := range happens {
					event.Apply(s)
					Event{Kind: Pass}.Apply(s) // it looks before the pod is there
				}
				s.slow(t, deadline)
			}
			wantLaws(t, name, s)
			if status := s.Release.Status; !completed(s) || status.Rollback != nil {
				t.Errorf("a pod every 6 minutes, deadline 10: %s %s", s.World, status.Message)
			}
		})
	}
}

// TestStuckReleaseFailsInTime: what makes no progress fails at its deadline, whatever the clock says, and not much later
// if the controller is restarted again and again.
func TestStuckReleaseFailsInTime(t *testing.T) {
	t.Parallel()
	const deadline = 10 * time.Minute
	for name, test := range map[string]struct {
		restarts     int // every so many looks; never if 0
		leap         int32
		least, limit time.Duration
	}{
		"undisturbed":                   {least: deadline, limit: deadline + glance},
		"the clock goes ahead and back": {leap: 1, least: deadline, limit: deadline + glance},
		"restarted every 5 minutes":     {restarts: 5, least: deadline, limit: 2 * deadline},
		"every 4, by another clock":     {restarts: 4, leap: -1, least: deadline, limit: 2 * deadline},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := slowly(deadline)
			s.Sick = "v2"
			for s.Release.Status.Batch == "" {
				s.turns()
			}
			began, leap := s.Now, test.leap
			writes := s.Release.Version
			for look := 1; s.Release.Status.Rollback == nil && s.Now.Sub(began) < time.Hour; look++ {
				if test.restarts > 0 && look%test.restarts == 0 {
					Event{Kind: Restart}.Apply(s)
				}
				Event{Kind: Leap, N: leap}.Apply(s)
				leap = -leap
				s.watch(glance)
				s.turns()
			}
			wantLaws(t, name, s)
			if took := s.Now.Sub(began).Round(glance); took < test.least || took > test.limit {
				t.Errorf("it fails after %s, want %s to %s", took, test.least, test.limit)
			}
			if n := s.Release.Version - writes; n > 20 {
				t.Errorf("the release is written %d times meanwhile", n)
			}
		})
	}
}

// turns lets everybody take turns, with no time to speak of.
func (s *State) turns() {
	for changed := true; changed; {
		changed = (Event{Kind: SyncWorkload}).Apply(s)
		for i := range s.Sets {
			changed = syncSet(s.World, &s.Sets[i]) || changed
			if s.Sets[i].Revision != s.Sick {
				changed = makeReady(s.World, &s.Sets[i]) || changed
			}
		}
		changed = (Event{Kind: Pass}).Apply(s) || changed
	}
}
