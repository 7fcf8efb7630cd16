package sim

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// newState returns a state whose world is held against the laws.
func newState(setup Setup) *State {
	s := NewState(setup)
	s.observer = newChecker(s.World)
	return s
}

func releasing(setup Setup) *State {
	s := newState(setup)
	Event{Kind: Give, Text: "v2"}.Apply(s)
	return s
}

// queueing is a release that is finished before the next begins.
func queueing(setup Setup) *State {
	setup.Supersede = v1alpha1.SupersedeQueue
	return releasing(setup)
}

// steppingBack is a release that a jump back takes updated pods away from.
func steppingBack(setup Setup) *State {
	setup.StepBack = v1alpha1.StepBackRemovePods
	return releasing(setup)
}

// goingBack is a release whose last step begins, and which somebody takes back to its first.
func goingBack(setup Setup) *State {
	s := calmed(steppingBack(setup), inStep(2))
	Event{Kind: Jump}.Apply(s)
	return s
}

// superseded is a release that another one takes the place of while its pods are ready and not available yet.
func superseded(setup Setup) *State {
	setup.MinReady, setup.Steps = true, Steps("100% none")
	s := calmed(releasing(setup), func(s *State) bool {
		set := s.Set("v2")
		return set != nil && set.Status.Ready > set.Status.Available
	})
	Event{Kind: Give, Text: "v3"}.Apply(s)
	return s
}

// newborn is a release that comes together with its Deployment.
func newborn(setup Setup) *State {
	setup.Newborn = true
	return releasing(setup)
}

// sick is a release whose pods do not become available.
func sick(setup Setup) *State {
	s := releasing(setup)
	s.Sick = "v2"
	return s
}

// released is a release that is completed.
func released(setup Setup) *State {
	return calmed(releasing(setup), ended)
}

// ending is a release that the next pass hands back.
func ending(setup Setup) *State {
	s := releasing(setup)
	for {
		next, _ := Calm(s)
		if next == nil || slices.Contains([]v1alpha1.Phase{v1alpha1.PhaseFinalizing, v1alpha1.PhaseCompleted}, next.Release.Status.Phase) {
			return s
		}
		s = next
	}
}

// rolledBackAfter is a release that was completed and rolled back: v2 is still what is given.
func rolledBackAfter(setup Setup) *State {
	s := released(setup)
	Event{Kind: Rollback, Text: "true"}.Apply(s)
	return calmed(s, ended)
}

// rolledBackUnseen is one whose history the cache still has as it was before.
func rolledBackUnseen(setup Setup) *State {
	before := released(setup).Kept
	s := rolledBackAfter(setup)
	Event{Kind: Restart}.Apply(s)
	s.Lag.Kept = &before
	return s
}

// reverting is a release that is completed, and brings its template back when somebody changes that.
func reverting(setup Setup) *State {
	setup.Drift = v1alpha1.DriftRevert
	return released(setup)
}

// scaledToZero is a release that waits at its first gate, with a workload of no pods.
func scaledToZero(setup Setup) *State {
	s := calmed(releasing(setup), atStep(0))
	Event{Kind: Scale}.Apply(s)
	for s.Release.Status.Replicas > 0 {
		for _, event := range calmTurns(s) {
			if event.Kind != Confirm && !event.idle(s) {
				event.Apply(s)
			}
		}
	}
	return s
}

// heldAsItIs is a release that holds a StatefulSet of strategy OnDelete with the template that it has.
func heldAsItIs(setup Setup) *State {
	setup.Strategy = OnDelete
	return calmed(releasing(setup), func(s *State) bool { return s.Workload.Hold != nil })
}

// surging is a release of a DaemonSet that its native controller rolls with maxSurge: one node has two pods.
func surging(setup Setup) *State {
	s := releasing(setup)
	if s.Kind() == DaemonSet {
		s.Places[0].Revision = "v0"
		s.addPlace(Place{Name: s.Places[0].Name + "-too", Node: s.Places[0].Node, Revision: "v1"})
	}
	return s
}

// calmed lets things go their way until something is so, or to the end.
func calmed(s *State, until func(*State) bool) *State {
	for !until(s) {
		next, _ := Calm(s)
		if next == nil {
			break
		}
		s = next
	}
	return s
}

// midway is a release whose second step begins.
func midway(setup Setup) *State { return calmed(releasing(setup), inStep(1)) }

// invalidSteps is a release that waits at its first gate, and whose steps somebody has made invalid since.
func invalidSteps(way int32) func(Setup) *State {
	return func(setup Setup) *State {
		s := calmed(releasing(setup), atStep(0))
		Event{Kind: Spoil, N: way}.Apply(s)
		(Event{Kind: Pass}).Apply(s)
		return s
	}
}

// crowded is a release of v2 that is completed, and one of v3 that waits for room.
func crowded(setup Setup) *State {
	s := released(setup)
	Event{Kind: Give, Text: "v3"}.Apply(s)
	Event{Kind: Crowd}.Apply(s)
	Event{Kind: Pass}.Apply(s)
	return s
}

// madeAnew is a release of v2, which is older than v3, because somebody has created the workload again from it.
func madeAnew(setup Setup) *State {
	s := released(setup)
	Event{Kind: Give, Text: "v3"}.Apply(s)
	s = calmed(s, ended)
	Event{Kind: DeleteWorkload}.Apply(s)
	Event{Kind: Give, Text: "v2"}.Apply(s)
	Event{Kind: CreateWorkload, Text: "v2"}.Apply(s)
	return calmed(s, ended)
}
