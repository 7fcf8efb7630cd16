package sim

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestNativeRolloutUnderWay begins a release in the middle of the native controller's own rollout to the same template:
// it is completed, and its version one to go back to, when that is over and not before.
func TestNativeRolloutUnderWay(t *testing.T) {
	t.Parallel()
	s := newState(ten("1", "100%"))
	Event{Kind: Drift, Text: "v2"}.Apply(s)
	Event{Kind: SyncWorkload}.Apply(s) // the first pods of v2 are made
	Event{Kind: Give, Text: "v2"}.Apply(s)
	for moment := s; moment != nil; moment, _ = Calm(moment) {
		s = moment
		Event{Kind: Pass}.Apply(s)
		status, old := s.Release.Status, s.Set("v1")
		if completed(s) && old != nil && old.Status.Current > 0 {
			t.Fatalf("%s, and %d pods run v1: %s", status.Message, old.Status.Current, s.World)
		}
		if told := status.Reason; !completed(s) && told != v1alpha1.ReasonNativeRollout && told != v1alpha1.ReasonTakingOver && told != "" {
			t.Fatalf("it says %s %q before the rollout is over: %s", told, status.Message, s.World)
		}
	}
	wantLaws(t, "the end", s)
	if !completed(s) || s.Release.stable() != "v2" || s.Release.Status.Attempt != 1 {
		t.Errorf("it ends with %s, %s is stable: %s", s.Release.Status.Message, s.Release.stable(), s.World)
	}
}

// TestNativeScalingThatDoesNotEnd: a native rollout, scaled to what the new version has already while the old one goes, leaves a note of
// a scaling that does not end, for the native controller renews only those of ReplicaSets that it scales. A release that has
// held nothing has no part in that, and does not write to what it does not hold. One that hands a workload back leaves no such note.
func TestNativeScalingThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	s := scalingForEver()
	Event{Kind: Give, Text: "v2"}.Apply(s)
	if s = calmed(s, completed); !s.native().scalingEvent() || unfinished(s.World) != "" || s.Set("v2").Desired != 9 {
		t.Errorf("nothing was held, and left is %q; a scaling event %t, of %d: %s", unfinished(s.World), s.native().scalingEvent(), s.Set("v2").Desired, s.World)
	}
	Event{Kind: Give, Text: "v3"}.Apply(s)
	if s = calmed(s, ended); s.native().scalingEvent() || unfinished(s.World) != "" || !same(s.Workload.Template, "v3") {
		t.Errorf("a release that held the workload leaves %q: %s", unfinished(s.World), s.World)
	}
	s.Set("v3").Desired = 9 // as if the hand-back had left it
	if left := unfinished(s.World); left == "" {
		t.Errorf("a note that a hand-back leaves is not found: %s", s.World)
	}
}

// TestNativeScalingHoldsItsRolloutUp: where the native rollout that a release waits for stands still for it, the release goes on once
// somebody has scaled the workload to another size.
func TestNativeScalingHoldsItsRolloutUp(t *testing.T) {
	t.Parallel()
	s := scalingForEver()
	Event{Kind: Drift, Text: "v1"}.Apply(s)
	Event{Kind: Give, Text: "v1"}.Apply(s)
	Event{Kind: SyncWorkload}.Apply(s)
	if (Event{Kind: SyncWorkload}).Apply(s) || s.Set("v1").Replicas > 0 {
		t.Fatalf("the native controller goes on: %s", s.World)
	}
	if s = calmed(s, ended); unfinished(s.World) != "" || s.Workload.Replicas != 4 {
		t.Errorf("it ends as %s: %s", s.World, unfinished(s.World))
	}
}

// scalingForEver is a workload whose native rollout to v2 was scaled from 9 to the 3 pods that v2 had while those of v1 were going.
func scalingForEver() *State {
	s := newState(ten("1", "100%").of(9).limits(3, 9))
	Event{Kind: Drift, Text: "v2"}.Apply(s)
	Event{Kind: SyncWorkload}.Apply(s) // 3 pods of v2 are made
	Event{Kind: Scale, N: 3}.Apply(s)
	Event{Kind: SyncWorkloadLate, N: 1}.Apply(s) // all of v1 go
	return s
}
