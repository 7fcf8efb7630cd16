package sim

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// others lets everybody but the controller and people take turns until nobody has anything left to do.
func (s *State) others() {
	for changed := true; changed; {
		changed = (Event{Kind: SyncWorkload}).Apply(s)
		for i := range s.Sets {
			changed = syncSet(s.World, &s.Sets[i]) || changed
			changed = makeReady(s.World, &s.Sets[i]) || changed
		}
	}
}

// rested lets the controller go on too, until it has nothing left to do.
func (s *State) rested(t *testing.T) {
	t.Helper()
	for range maxEvents {
		s.others()
		if !(Event{Kind: Pass}).Apply(s) {
			return
		}
	}
	t.Fatalf("it goes on and on: %s", s.World)
}

func wantLaws(t *testing.T, what string, s *State) {
	t.Helper()
	for _, broken := range s.Broken {
		t.Errorf("%s: %s", what, broken)
	}
	s.Broken = nil
}

// TestScaledAtAnyMomentOfARelease scales a release after each event of its way, up, down, and there and back: with the
// controller there, and with it away until everybody else has come to rest. The laws hold, and the end is reached.
func TestScaledAtAnyMomentOfARelease(t *testing.T) {
	t.Parallel()
	cases := map[string]Setup{
		"percentages":              ten("10% none", "50% none", "60%", "100%").of(20).limits(1, 0),
		"gates pass by themselves": ten("25% soak", "50% soak", "100%").of(20),
		"numbers":                  ten("3 none", "8", "12", "100%").of(15),
		"numbers and percentages":  ten("5 none", "10%", "80%", "100%").of(12).limits(0, 1),
		"a step of all pods":       ten("2", "50%", "100%").of(2).limits(1, 0),
		"a step of more than all":  ten("5 none", "6", "100%").of(3).limits(0, 1),
		"one pod":                  ten("1", "100%").of(1).limits(1, 0),
	}
	for name, setup := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			for moment := releasing(setup); moment != nil; moment, _ = Calm(moment) {
				for _, sizes := range [][]int32{{1}, {2}, {8}, {40}, {3, 20}, {30, 4}} {
					scaledAt(t, moment.Clone(), sizes, true)
					scaledAt(t, moment.Clone(), sizes, false)
					runs += 2
				}
			}
			t.Logf("%d runs", runs)
		})
	}
}

func scaledAt(t *testing.T, s *State, sizes []int32, there bool) {
	t.Helper()
	what := fmt.Sprintf("scaled to %d, controller there %t, at %s", sizes, there, s.World)
	for _, n := range sizes {
		Event{Kind: Scale, N: n}.Apply(s)
		if there {
			s.rested(t)
		} else {
			s.others()
		}
		wantLaws(t, what, s)
	}
	wantGoodEnd(t, what, s)
}

// TestScaledToZeroAtAnyMomentOfARelease does so to 0 and back, with any history limit: whoever is there, the pods that
// come first run the stable version.
func TestScaledToZeroAtAnyMomentOfARelease(t *testing.T) {
	t.Parallel()
	for _, history := range []int{0, 1, 10} {
		for name, setup := range map[string]Setup{
			"ten":         ten("1", "50% none", "100%"),
			"two":         ten("2", "100%").of(2).limits(0, 1),
			"without any": ten("50%", "100%").of(0),
		} {
			setup.HistoryLimit = history
			t.Run(fmt.Sprintf("%s, history %d", name, history), func(t *testing.T) {
				t.Parallel()
				for moment := releasing(setup); moment != nil; moment, _ = Calm(moment) {
					for _, back := range []int32{1, 10} {
						for _, there := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, false}} {
							zeroAt(t, moment.Clone(), back, there)
						}
					}
				}
			})
		}
	}
}

// zeroAt scales to 0 and then back, each with the controller there or away.
func zeroAt(t *testing.T, s *State, back int32, there [2]bool) {
	t.Helper()
	what := fmt.Sprintf("scaled to 0 and %d, controller there %v, at %s", back, there, s.World)
	for i, n := range []int32{0, back} {
		Event{Kind: Scale, N: n}.Apply(s)
		if s.others(); there[i] {
			s.rested(t)
		}
		wantLaws(t, what, s)
	}
	wantGoodEnd(t, what, s)
}

// TestScaledToZeroAndUpAtOnce does so before anybody else looks, to a release that comes together with its workload, which is paused, so that
// the stable version has no ReplicaSet: its first pod waits for those that are to go.
func TestScaledToZeroAndUpAtOnce(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]Setup{"surge": ten("2", "100%").of(5).limits(1, 0), "none": ten("2", "100%").of(5).limits(0, 1)} {
		setup.Paused = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for moment := newborn(setup); moment != nil; moment, _ = Calm(moment) {
				for _, back := range []int32{1, 2, 5} {
					s, what := moment.Clone(), fmt.Sprintf("scaled to 0 and %d, at %s", back, moment.World)
					for _, n := range []int32{0, back} {
						Event{Kind: Scale, N: n}.Apply(s)
						Event{Kind: Pass}.Apply(s)
						wantLaws(t, what, s)
					}
					wantGoodEnd(t, what, s)
				}
			}
		})
	}
}

// TestGivenBackInANativeRollout releases what the pods run already at each moment of the native controller's own rollout of another
// template, which somebody has begun by hand before Sluice has released anything.
func TestGivenBackInANativeRollout(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]Setup{"surge": ten("2", "100%").of(7).limits(1, 0), "none": ten("2", "100%").of(7).limits(0, 1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moment := newState(setup)
			Event{Kind: Drift, Text: "v3"}.Apply(moment)
			for turns := 0; moment.Set("v1").Replicas > 0; turns++ {
				s, what := moment.Clone(), fmt.Sprintf("given what runs, at %s", moment.World)
				Event{Kind: Give, Text: "v1"}.Apply(s)
				for range 3 {
					Event{Kind: Pass}.Apply(s)
					s.others()
					wantLaws(t, what, s)
				}
				wantGoodEnd(t, what, s)
				if (Event{Kind: SyncWorkload}).Apply(moment); turns%2 > 0 {
					moment.others()
				}
			}
		})
	}
}

// TestRolledBackWithoutPods asks, at any moment of a release, for a rollback of what is scaled to 0: that is done at once, and the
// pods that come later run the stable version.
func TestRolledBackWithoutPods(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]Setup{"ten": ten("1", "50% none", "100%"), "without any": ten("50%", "100%").of(0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for moment := releasing(setup); moment != nil; moment, _ = Calm(moment) {
				s, what := moment.Clone(), fmt.Sprintf("scaled to 0 and rolled back, at %s", moment.World)
				began := s.Release.Status.Phase != "" && s.Release.Status.Phase != v1alpha1.PhaseCompleted
				Event{Kind: Scale, N: 0}.Apply(s)
				s.rested(t)
				Event{Kind: Rollback, Text: "true"}.Apply(s)
				s.rested(t)
				if began && s.Workload.Template != "v1" {
					t.Errorf("%s: it runs %s", what, s.Workload.Template)
				}
				Event{Kind: Scale, N: 10}.Apply(s)
				wantGoodEnd(t, what, s)
			}
		})
	}
}

// TestScaledWhileStepsAreInvalid makes the steps invalid after each event of a release, and of a rollback, in each way, and scales it
// then: it stops, follows, and once they are fixed completes.
func TestScaledWhileStepsAreInvalid(t *testing.T) {
	t.Parallel()
	back := ten("50% none", "100%")
	back.Rollback = Steps("30%", "100%")
	cases := map[string]struct {
		setup  Setup
		events []Event
	}{
		"percentages": {setup: ten("10% none", "50%", "100%").of(11).limits(1, 0)},
		"numbers":     {setup: ten("3 none", "8", "100%").limits(0, 1)},
		"back again":  {setup: back, events: []Event{{Kind: Rollback, Text: "true"}}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := releasing(test.setup)
			for _, event := range test.events {
				start = calmed(start, inStep(1))
				event.Apply(start)
			}
			for moment := start; moment != nil; moment, _ = Calm(moment) {
				for way := fewerSteps; way <= rollbackSteps; way++ {
					for _, sizes := range [][]int32{{4}, {20}, {20, 10}, {4, 20}, {0, 10}} {
						spoilt := moment.Clone()
						Event{Kind: Spoil, N: way}.Apply(spoilt)
						scaledAt(t, spoilt, sizes, true)
					}
				}
			}
		})
	}
}

// slow lets half of the deadline go by before each pod comes up, and everybody else take turns meanwhile.
func (s *State) slow(t *testing.T, deadline time.Duration) bool {
	t.Helper()
	s.watch(deadline * 6 / 10)
	came := false
	for i := range s.Sets {
		came = makeReady(s.World, &s.Sets[i]) || came
	}
	for changed := true; changed; {
		changed = (Event{Kind: SyncWorkload}).Apply(s)
		for i := range s.Sets {
			changed = syncSet(s.World, &s.Sets[i]) || changed
		}
		changed = (Event{Kind: Approve}).Apply(s) || (Event{Kind: Pass}).Apply(s) || changed
	}
	return came
}

// TestSlowReleaseIsNeverFailed: pods that take more than half of the deadline each are progress, whatever somebody scales
// the workload to on the way.
func TestSlowReleaseIsNeverFailed(t *testing.T) {
	t.Parallel()
	const deadline = 10 * time.Minute
	for _, from := range []int32{0, 3, 10, 14} {
		for _, to := range []int32{20, 8, 2, 30} {
			s := releasing(Setup{
				Replicas: 20, Steps: Steps("50%", "100%"), HistoryLimit: 10, Deadline: deadline,
				MaxSurge: intstr.FromInt32(1), MaxUnavailable: intstr.FromInt32(0), OnFailure: v1alpha1.FailureRollback,
			})
			scaled := false
			for range 200 {
				if set := s.Set("v2"); !scaled && set != nil && set.Pods.Available == from {
					Event{Kind: Scale, N: to}.Apply(s)
					scaled = true
				}
				if s.slow(t, deadline); waitsForPerson(s.World) {
					Event{Kind: Confirm}.Apply(s)
				}
			}
			if status := s.Release.Status; !completed(s) || status.Rollback != nil {
				t.Errorf("scaled from 20 to %d at %d updated pods, a pod every 6 minutes, deadline 10: %s %s", to, from, s.World, status.Message)
			}
			wantLaws(t, fmt.Sprintf("scaled to %d", to), s)
		}
	}
}

// wantGoodEnd lets a release complete with nothing going wrong any more, and checks it against the laws on the way.
func wantGoodEnd(t *testing.T, what string, s *State) {
	t.Helper()
	s = calmed(s, func(s *State) bool { return len(s.Broken) > 0 })
	wantLaws(t, what, s)
	if left := unfinished(s.World); left != "" {
		t.Errorf("%s: it does not end well: %s", what, left)
	}
}
