package sim

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestNativeRolloutUnderWay begins a release in the middle of the native controller's own rollout to the same template:
// it is completed, and its version one to go back to, when that is over and not before.
func TestNativeRolloutUnderWay(t *testing.T) {
	t.Parallel()
	s := NewState(ten("1", "100%"))
	s.Drift("v2")
	s.SyncWorkload() // the first pods of v2 are made
	s.Give("v2")
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
