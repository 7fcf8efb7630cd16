package sim

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// What is rolled back from while another template waits for room asks its gates if Git brings it back: the version that
// is left is the one that ran, and not the one that never did.
func TestRolledBackWhileAnotherWaits(t *testing.T) {
	t.Parallel()
	s := calmed(releasing(ten("1", "50%", "100%")), completed)
	pass := func() { Event{Kind: Pass}.Apply(s) }
	Event{Kind: Give, Text: "v3"}.Apply(s)
	Event{Kind: Crowd}.Apply(s)
	pass()
	s.Annotate(v1alpha1.RollbackAnnotation, "v1")
	for range 3 {
		pass()
	}
	if from := s.Release.Status.Rollback.From; from != "v2" {
		t.Errorf("the rollback leaves %s, want v2, which ran", from)
	}
	Event{Kind: SyncWorkload}.Apply(s)
	Event{Kind: Give, Text: "v2"}.Apply(s)
	for range 6 {
		pass()
		Event{Kind: SyncWorkload}.Apply(s)
	}
	if len(s.Broken) > 0 || s.Release.Status.Rollback != nil {
		t.Errorf("v2 returns as a revert, by the rollback to %q: %v", s.Release.Status.RolledBackTo(), s.Broken)
	}
}
