package sim

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestWalked repeats, as short as they get, walks of TestWalksOfEachKind that ended badly: for a law or for how the world goes on that
// was not thought out.
func TestWalked(t *testing.T) {
	t.Parallel()
	pass, sync := Event{Kind: Pass}, Event{Kind: SyncWorkload}
	walks := map[string]struct {
		setup  Setup
		events []Event
	}{
		"completed while a pod goes that somebody scales away": {
			setup:  Setup{Kind: StatefulSet, Replicas: 2, Graceful: true},
			events: []Event{{Kind: PassDies, N: 3}, {Kind: Give, Text: "v1"}, pass, {Kind: Scale, N: 1}, pass, sync, pass, {Kind: PassDies, N: 1}, sync, pass},
		},
		"the hold is stripped while some pods may be updated, and there are none any more": {
			setup:  Setup{Kind: StatefulSet, Replicas: 2},
			events: []Event{pass, sync, pass, {Kind: StripHold}, {Kind: Scale, N: 0}, sync, sync, pass},
		},
		"pods that are to go have ended": {
			setup: Setup{Kind: StatefulSet, Replicas: 3, Ordered: true},
			events: []Event{
				{Kind: Drift, Text: "v3"}, {Kind: Scale, N: 0}, {Kind: PodEnds, Text: "v1"}, {Kind: PodEnds, Text: "v1"}, sync, pass, sync, pass, sync, pass, pass,
			},
		},
		"the hold is stripped while some pods may be updated, and the release deleted": {
			setup:  Setup{Kind: StatefulSet, Replicas: 2},
			events: []Event{pass, sync, pass, {Kind: StripHold}, {Kind: DeleteRelease}, pass},
		},
		"a take-over is rewritten until it is sent no more": {
			setup:  Setup{Kind: DaemonSet, Replicas: 1},
			events: slices.Concat([]Event{{Kind: Refuse, Text: string(StampedLate)}}, slices.Repeat([]Event{sync, pass, {Kind: Wait}}, 4), []Event{{Kind: Cure}}),
		},
	}
	for name, walk := range walks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walk.setup.Steps, walk.setup.HistoryLimit, walk.setup.MaxUnavailable = Steps("100%"), 2, intstr.FromInt32(1)
			s := releasing(walk.setup)
			for _, e := range walk.events {
				e.Apply(s)
			}
			if s = calmed(s, func(s *State) bool { return len(s.Broken) > 0 }); len(s.Broken) > 0 || s.Unfinished() != "" {
				t.Errorf("it ends as %s: %s, broken: %v", s.World, s.Unfinished(), s.Broken)
			}
		})
	}
}
