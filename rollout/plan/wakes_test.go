package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWakesAreListedWithTheirReasons: all that wakes a release up is in one list, the earliest
// first, each with its reason.
func TestWakesAreListedWithTheirReasons(t *testing.T) {
	t.Parallel()
	s := running(10)
	s = s.but(refusing(WriteOf(takeOverOf(t, next(t, s)))))
	p := next(t, s)
	var got []WakeReason
	for i, wake := range p.Wakes {
		got = append(got, wake.Why)
		if i > 0 && wake.After < p.Wakes[i-1].After || wake.After <= 0 {
			t.Errorf("wakes %v are not in order", p.Wakes)
		}
	}
	if diff := cmp.Diff([]WakeReason{WakeRefused, WakeDeadline}, got); diff != "" {
		t.Errorf("wakes of a release whose take-over is refused (-want +got):\n%s", diff)
	}
	if p.Wake() != p.Wakes[0].After {
		t.Errorf("it wakes after %s, want the first of %v", p.Wake(), p.Wakes)
	}
	if idle := next(t, completed(10)); len(idle.Wakes) > 0 || idle.Wake() != 0 {
		t.Errorf("a release at rest wakes up: %v", idle.Wakes)
	}
}
