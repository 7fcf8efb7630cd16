package sim

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestBornPaused releases to a Deployment that was made paused and has no ReplicaSet: where it is given another template than its own, the
// pods of its own come first, so that no more of the other come than the steps allow.
func TestBornPaused(t *testing.T) {
	t.Parallel()
	born := func(given string) *State {
		s := ten("1", "50%", "100%")
		s.Newborn, s.Paused = true, true
		state := newState(s)
		Event{Kind: Give, Text: given}.Apply(state)
		return state
	}
	t.Run("the template it has", func(t *testing.T) {
		t.Parallel()
		s := born("v1")
		s.rested(t)
		if status := s.Release.Status; status.Reason != v1alpha1.ReasonNativeRollout || status.StableRevision != "" || s.Workload.Hold != nil {
			t.Errorf("it waits for %s %q, %q is stable; want it to wait until the Deployment is resumed: %s", status.Reason, status.Message, status.StableRevision, s.World)
		}
		Event{Kind: Unpause}.Apply(s)
		s = calmed(s, completed)
		wantLaws(t, "resumed", s)
		if left := unfinished(s.World); left != "" {
			t.Errorf("resumed, it does not end well: %s", left)
		}
	})
	t.Run("another template", func(t *testing.T) {
		t.Parallel()
		s := calmed(born("v2"), atStep(0))
		s.others()
		Event{Kind: Pass}.Apply(s)
		if status := s.Release.Status; status.CurrentStepState != v1alpha1.StepBlocking || s.Set("v2").Replicas != 1 || s.Set("v1").Replicas != 9 || status.UpdatedReplicas != 1 {
			t.Errorf("the first gate waits with %d of 10 pods told, and there are %s; want it asked with 1, and 9 of the template before", status.UpdatedReplicas, s.World)
		}
		s = calmed(s, completed)
		wantLaws(t, "the end", s)
		if left := unfinished(s.World); left != "" {
			t.Errorf("it does not end well: %s", left)
		}
	})
}
