package sim

import (
	"fmt"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestGivenAtAnyMomentOfARollback gives a template after each event of a rollback: another one, and the very one that is
// rolled back. What is left of that asks its gates again, however many pods it has, and gets none when somebody scales,
// with the controller there and away.
func TestGivenAtAnyMomentOfARollback(t *testing.T) {
	t.Parallel()
	cases := map[string]Setup{
		"from a release that was completed": ten("1", "50%", "100%"),
		"from the last step":                ten("3 none", "100% manual").of(6).limits(0, 1),
		"of one pod":                        ten("1", "100%").of(1).limits(1, 0),
	}
	for name, setup := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for moment := turnedRound(setup); moment != nil; moment, _ = Calm(moment) {
				for _, given := range []string{"v2", "v3"} {
					for _, size := range []int32{setup.Replicas, 1, 2, 20} {
						givenAt(t, moment.Clone(), given, size, true)
						givenAt(t, moment.Clone(), given, size, false)
					}
				}
			}
		})
	}
}

// turnedRound is a release of all pods that somebody has just asked to roll back, by a template that Git brings back so
// that the one before can be given again.
func turnedRound(setup Setup) *State {
	last := int32(len(setup.Steps) - 1)
	s := calmed(releasing(setup), func(s *State) bool { return completed(s) || atStep(last)(s) })
	Event{Kind: Give, Text: "v1"}.Apply(s)
	return s
}

func givenAt(t *testing.T, s *State, given string, size int32, there bool) {
	t.Helper()
	what := fmt.Sprintf("%s is given, then scaled to %d, controller there %t, at %s", given, size, there, s.World)
	Event{Kind: Give, Text: given}.Apply(s)
	for range 3 { // the native controller has something to say between any two passes
		Event{Kind: Pass}.Apply(s)
		Event{Kind: SyncWorkload}.Apply(s)
		wantLaws(t, what, s)
	}
	if (Event{Kind: Scale, N: size}).Apply(s); there {
		s.rested(t)
	} else {
		s.others()
	}
	wantLaws(t, what, s)
	wantGoodEnd(t, what, s)
}

// TestScaledDownWhenSuperseded scales a release down in which another has just taken the place of one in
// progress, and up again while the controller is away: the pods that are left to be the first to grow are stable ones.
func TestScaledDownWhenSuperseded(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]Setup{
		"ten":        ten("3 none", "50%", "100%"),
		"no surge":   ten("2", "50%", "100%").of(5).limits(0, 1),
		"much surge": ten("50%", "100%").of(20).limits(10, 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for moment := releasing(setup); moment != nil; moment, _ = Calm(moment) {
				if moment.Release.Status.Phase != v1alpha1.PhaseRollingUpdate {
					continue
				}
				for _, size := range []int32{0, 1, 2} {
					s := moment.Clone()
					what := fmt.Sprintf("superseded and scaled to %d at %s", size, s.World)
					Event{Kind: Give, Text: "v3"}.Apply(s)
					Event{Kind: Pass}.Apply(s)
					Event{Kind: SyncWorkload}.Apply(s)
					Event{Kind: Scale, N: size}.Apply(s)
					s.rested(t)
					Event{Kind: Scale, N: 8}.Apply(s)
					s.others()
					wantLaws(t, what, s)
					wantGoodEnd(t, what, s)
				}
			}
		})
	}
}
