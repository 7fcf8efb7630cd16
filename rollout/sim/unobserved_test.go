package sim

import (
	"strings"
	"testing"
)

// TestANativeControllerThatDoesNotObserveIsTold: a workload in places is taken over, and its native controller can't write what it needs.
func TestANativeControllerThatDoesNotObserveIsTold(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{StatefulSet, DaemonSet} {
		s := releasing(ten("50%", "100%").of(4).as(kind, 1))
		turnCalmly(s, 20, []Kind{SyncWorkload})
		(Event{Kind: Elapse}).Apply(s)
		(Event{Kind: Pass}).Apply(s)
		if status := s.Release.Status; s.Workload.Hold == nil || !strings.Contains(status.Message, "kube-controller-manager") {
			t.Errorf("%s: in %s it says %q, want the native controller named", kind, s.World, status.Message)
		}
		if s = calmed(s, ended); unfinished(s.World) != "" || len(s.Broken) > 0 {
			t.Errorf("%s: it goes on, and ends as %s: %s, broken: %v", kind, s.World, unfinished(s.World), s.Broken)
		}
	}
}
