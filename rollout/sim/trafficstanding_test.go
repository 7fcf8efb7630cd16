package sim

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// standstills returns ways to stop a release of v2 in mid-step, each with the events of a calm world that would end
// the stop.
func standstills() map[string]struct {
	stop func(*State)
	ends []Kind
} {
	type standstill = struct {
		stop func(*State)
		ends []Kind
	}
	do := func(events ...Event) func(*State) {
		return func(s *State) {
			for _, e := range events {
				e.Apply(s)
			}
		}
	}
	return map[string]standstill{
		"it waits at its gate": {do(), nil},
		"it is suspended":      {do(Event{Kind: Suspend}), []Kind{Resume}},
		"it has failed": {func(s *State) {
			failed := *s.Release.Status
			failed.Phase = v1alpha1.PhaseFailed
			s.Release.Status, s.Release.Version = &failed, s.next()
		}, []Kind{Retry}},
		"somebody has changed the workload": {do(Event{Kind: StripHold}), []Kind{Retry}},
		"its steps can't be read":           {do(Event{Kind: Spoil, N: moreSteps}), []Kind{Repair}},
		"its controller can't read routes":  {do(Event{Kind: TurnOff}), []Kind{TurnOn}},
		"another route is gone":             {do(Event{Kind: DeleteRoute, Text: "other"}), []Kind{CreateRoute}},
	}
}

// TestRequestsFitPodsWhateverStops: a workload is scaled, as an autoscaler does, while its release stands with requests on both sides.
func TestRequestsFitPodsWhateverStops(t *testing.T) {
	t.Parallel()
	steps := map[string][]string{
		"a percentage": {"50% 50%", "100%"}, "fewer requests than pods": {"50% 20%", "100%"}, "a number": {"3 50%", "100%"},
		"blue-green": {"100% 30%", "100% 100%"}, "all requests": {"100% 100%", "100% 100%"},
	}
	for step, words := range steps {
		for stopped, how := range standstills() {
			t.Run(step+", "+stopped, func(t *testing.T) {
				t.Parallel()
				of := trafficOf(func(t *v1alpha1.Traffic) {
					t.Routes, t.KeepOldPods = append(t.Routes, routeOf("other")), words[0][:4] == "100%"
				})
				s := calmed(releasing(Setup{
					Replicas: 6, Steps: Steps(words...), HistoryLimit: 2, Traffic: of, MaxSurge: intstr.FromInt32(1), MaxUnavailable: intstr.FromInt32(0),
				}), atStep(0))
				how.stop(s)
				for _, replicas := range []int32{18, 2, 12, 5} {
					(Event{Kind: Scale, N: replicas}).Apply(s)
					standCalmly(s, how.ends)
					if len(s.Broken) > 0 {
						t.Fatalf("scaled to %d: %s", replicas, s.Broken[0])
					}
				}
				if s = calmed(s, ended); unfinished(s.World) != "" || len(s.Broken) > 0 {
					t.Errorf("it goes on, and ends as %s: %s, broken: %v", s.World, unfinished(s.World), s.Broken)
				}
			})
		}
	}
}

// TestRequestsFitPodsWhateverStopsTheEnd is that for old pods that are kept after the last gate.
func TestRequestsFitPodsWhateverStopsTheEnd(t *testing.T) {
	t.Parallel()
	for stopped, how := range standstills() {
		if how.ends == nil {
			continue
		}
		t.Run(stopped, func(t *testing.T) {
			t.Parallel()
			of := trafficOf(func(t *v1alpha1.Traffic) {
				t.Routes, t.KeepOldPods, t.OldPodsDelaySeconds = append(t.Routes, routeOf("other")), true, 1000*readySeconds
			})
			s := passed(Setup{
				Replicas: 6, Steps: Steps("100% 30%", "100% 100%"), HistoryLimit: 2, Traffic: of, MaxSurge: intstr.FromInt32(1), MaxUnavailable: intstr.FromInt32(0),
			})
			how.stop(s)
			for _, replicas := range []int32{18, 2, 12, 5} {
				(Event{Kind: Scale, N: replicas}).Apply(s)
				standCalmly(s, how.ends)
				if len(s.Broken) > 0 {
					t.Fatalf("scaled to %d: %s", replicas, s.Broken[0])
				}
			}
		})
	}
}

// standCalmly lets everybody do what is left to do but for what people do.
func standCalmly(s *State, ends []Kind) { turnCalmly(s, 100, ends) }

// turnCalmly lets everybody do that so many times.
func turnCalmly(s *State, turns int, ends []Kind) {
	for range turns {
		for _, event := range calmTurns(s) {
			if !slices.Contains(append([]Kind{Confirm, Approve}, ends...), event.Kind) && !event.idle(s) {
				event.Apply(s)
			}
		}
	}
}

// TestRequestsFitPodsInARollback scales a workload while a rollback waits at its gate, or is on the
// way there.
func TestRequestsFitPodsInARollback(t *testing.T) {
	t.Parallel()
	for step, words := range map[string][]string{"canary": {"50% 50%", "100%"}, "fewer requests than pods": {"50% 20%", "100%"}, "blue-green": {"100% 50%", "100% 100%"}} {
		for turns := range 6 {
			t.Run(fmt.Sprintf("%s, after %d turns", step, turns), func(t *testing.T) {
				t.Parallel()
				s := calmed(releasing(Setup{
					Replicas: 10, Steps: Steps(words...), Rollback: Steps("30% manual", "100%"), HistoryLimit: 2, MaxSurge: intstr.FromString("25%"),
					MaxUnavailable: intstr.FromInt32(0), Traffic: trafficOf(func(t *v1alpha1.Traffic) { t.KeepOldPods = step == "blue-green" }),
				}), atStep(0))
				standCalmly(s, nil)
				(Event{Kind: Rollback, Text: "true"}).Apply(s)
				turnCalmly(s, turns, nil)
				for _, replicas := range []int32{20, 50, 8} {
					(Event{Kind: Scale, N: replicas}).Apply(s)
					standCalmly(s, nil)
					if len(s.Broken) > 0 {
						t.Fatalf("scaled to %d: %s", replicas, s.Broken[0])
					}
				}
				if s = calmed(s, ended); unfinished(s.World) != "" || len(s.Broken) > 0 {
					t.Errorf("it goes on, and ends as %s: %s, broken: %v", s.World, unfinished(s.World), s.Broken)
				}
			})
		}
	}
}

// TestRequestsFitPodsWhoseGrowthIsRefused: a workload is scaled up at a gate, and the API server takes no more pods of the new version.
func TestRequestsFitPodsWhoseGrowthIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		words []string
		most  int32
	}{"canary": {[]string{"50% 50%", "100%"}, 16}, "blue-green": {[]string{"100% 50%", "100% 100%"}, 33}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := calmed(releasing(Setup{
				Replicas: 6, Steps: Steps(test.words...), HistoryLimit: 2, MaxSurge: intstr.FromInt32(1), MaxUnavailable: intstr.FromInt32(0),
				Traffic: trafficOf(func(t *v1alpha1.Traffic) { t.KeepOldPods = name == "blue-green" }),
			}), atStep(0))
			standCalmly(s, nil)
			Event{Kind: Refuse, Text: string(NewPods)}.Apply(s)
			(Event{Kind: Scale, N: 18}).Apply(s)
			standCalmly(s, []Kind{Cure, Retry})
			if weight := s.Traffic.Routes[0].Weight; weight != test.most || s.Release.Status.RefusedWrite == nil {
				t.Errorf("%s: want %d%% and the refused write told: %+v", s.World, test.most, s.Release.Status.RefusedWrite)
			}
			Event{Kind: Cure}.Apply(s)
			(Event{Kind: Retry}).Apply(s)
			standCalmly(s, nil)
			if weight := s.Traffic.Routes[0].Weight; weight != 50 {
				t.Errorf("cured: %s: want the share of the step", s.World)
			}
			if s = calmed(s, ended); unfinished(s.World) != "" || len(s.Broken) > 0 {
				t.Errorf("it goes on, and ends as %s: %s, broken: %v", s.World, unfinished(s.World), s.Broken)
			}
		})
	}
}

// TestRequestsFitPodsInAFailedRollback scales a workload up whose rollback has failed beside pods of
// the version that it leaves.
func TestRequestsFitPodsInAFailedRollback(t *testing.T) {
	t.Parallel()
	for turns := range 12 {
		s := calmed(releasing(Setup{
			Replicas: 12, Steps: Steps("100% 30%", "100% 100%"), Rollback: Steps("50% soak", "100%"), HistoryLimit: 2, MaxSurge: intstr.FromInt32(2),
			MaxUnavailable: intstr.FromInt32(0), Traffic: trafficOf(func(t *v1alpha1.Traffic) { t.KeepOldPods = true }),
		}), atStep(0))
		(Event{Kind: Rollback, Text: "true"}).Apply(s)
		turnCalmly(s, turns, nil)
		if s.Release.Status.Phase != v1alpha1.PhaseRollingBack {
			continue
		}
		failed := *s.Release.Status
		failed.Phase = v1alpha1.PhaseFailed
		s.Release.Status, s.Release.Version = &failed, s.next()
		(Event{Kind: Scale, N: 15}).Apply(s)
		standCalmly(s, []Kind{Retry})
		if len(s.Broken) > 0 {
			t.Errorf("failed after %d turns: %s", turns, s.Broken[0])
		}
	}
}
