package sim

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestWalked repeats, as short as they get, walks of TestWalks and TestWalksOfEachKind that ended badly: for a law or for how the world goes on that
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
		"what keeps a release from going away is told, though its workload is gone": {
			setup: Setup{Replicas: 0},
			events: []Event{
				{Kind: Refuse, Text: string(TakeOvers)}, pass, {Kind: DeleteWorkload}, {Kind: Refuse, Text: string(Annotations)}, {Kind: DeleteRelease}, pass,
			},
		},
		"scaled to 0 with a template that a stopped release has not given yet": {
			setup: Setup{Replicas: 4, Steps: Steps("1 none", "100%")},
			events: slices.Concat(
				slices.Repeat([]Event{pass, sync, {Kind: SyncSet, Text: "v1"}, {Kind: SyncSet, Text: "v2"}, {Kind: PodReady, Text: "v2"}, {Kind: SyncSet, Text: "v2"}}, 12),
				[]Event{{Kind: Rollback, Text: "true"}, pass, {Kind: SyncSet, Text: "v1"}, {Kind: PodReady, Text: "v1"}, {Kind: SyncSet, Text: "v1"}, sync, {Kind: Refuse, Text: string(TakeOvers)}, {Kind: Give, Text: "v3"}, pass, pass},
				[]Event{{Kind: Spoil, N: fewerSteps}, {Kind: Cure}, {Kind: Scale, N: 0}, sync},
				slices.Repeat([]Event{pass, {Kind: SyncSet, Text: "v1"}, {Kind: SyncSet, Text: "v2"}}, 4),
				[]Event{{Kind: Scale, N: 3}, sync}, slices.Repeat([]Event{pass, {Kind: SyncSet, Text: "v1"}, {Kind: SyncSet, Text: "v2"}}, 4),
			),
		},
		"scaled to 0 and up again while the native controller lags, at a step of no pods": {
			setup: Setup{Replicas: 1, Steps: Steps("0", "100%")},
			events: []Event{
				pass, sync, pass, {Kind: Scale, N: 0}, {Kind: Scale, N: 8}, {Kind: SyncWorkloadLate, N: 1}, {Kind: SyncSet, Text: "v1"}, pass, sync,
			},
		},
		"born paused without pods, and scaled up before a first step of no pods": {
			setup:  Setup{Replicas: 0, Paused: true, Newborn: true, Steps: Steps("0", "100%")},
			events: []Event{{Kind: PassDies, N: 1}, sync, {Kind: Scale, N: 8}, sync, pass, sync, pass, sync, pass, sync},
		},
		"... seen by a process whose cache has no history": {
			setup: Setup{Replicas: 0, Paused: true, Newborn: true, Steps: Steps("0", "100%")},
			events: []Event{
				{Kind: PassDies, N: 1}, {Kind: Scale, N: 1}, {Kind: Freeze, Text: string(ReleaseObject)}, {Kind: Freeze, Text: string(KeptObjects)},
				sync, pass, sync, {Kind: PassDies, N: 2}, sync,
			},
		},
		"scaled to 0 while the native controller still makes all pods that are approved": {
			setup: Setup{Replicas: 1},
			events: []Event{
				pass, {Kind: Scale, N: 0}, {Kind: SyncWorkloadLate, N: 2}, {Kind: SyncWorkloadLate, N: 1}, {Kind: Suspend}, {Kind: Scale, N: 1},
				{Kind: SyncWorkloadLate, N: 1}, {Kind: Scale, N: 0}, {Kind: SyncWorkloadLate, N: 1},
			},
		},
		"the workload is created again in mid-revert, and the version that was left is given again": {
			setup: Setup{Kind: StatefulSet, Replicas: 2, Steps: Steps("1", "100%")},
			events: []Event{
				pass, sync, {Kind: DeleteWorkload}, {Kind: CreateWorkload, Text: "v3"}, {Kind: Give, Text: "v1"}, sync, pass, sync, pass,
				{Kind: PodReady, Text: "web-0"}, sync, {Kind: PodReady, Text: "web-1"}, sync, pass, {Kind: DeleteWorkload}, {Kind: Give, Text: "v3"}, {Kind: CreateWorkload, Text: "v1"},
				sync, {Kind: PodReady, Text: "web-0"}, sync, {Kind: PodReady, Text: "web-1"}, sync, pass,
			},
		},
		"the native controller still makes pods of a drift that is reverted": {
			setup: Setup{Replicas: 2, Drift: v1alpha1.DriftRevert, Strategy: Recreate, OneVersion: true},
			events: []Event{
				pass, {Kind: Rollback, Text: "true"}, pass, {Kind: Drift, Text: "v2"}, sync, pass, {Kind: SyncSet, Text: "v1"}, {Kind: SyncWorkloadLate, N: 1},
			},
		},
		"the template is written otherwise as a refused write meets the deadline": {
			setup: Setup{Replicas: 4, Steps: Steps("1 none", "100%"), Deadline: time.Hour}.turning().queue(),
			events: slices.Concat(
				[]Event{pass, sync, {Kind: Refuse, Text: string(Annotations + unanswered)}, {Kind: Retry}, pass, {Kind: Elapse}, {Kind: Give, Text: "v2~"}},
				slices.Repeat([]Event{pass, sync}, 2), []Event{{Kind: Cure}},
			),
		},
	}
	for name, walk := range walks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walk.setup.HistoryLimit, walk.setup.MaxUnavailable = 2, intstr.FromInt32(1)
			if walk.setup.Steps == nil {
				walk.setup.Steps = Steps("100%")
			}
			s := releasing(walk.setup)
			for _, e := range walk.events {
				e.Apply(s)
			}
			if s = calmed(s, func(s *State) bool { return len(s.Broken) > 0 }); len(s.Broken) > 0 || unfinished(s.World) != "" {
				t.Errorf("it ends as %s: %s, broken: %v", s.World, unfinished(s.World), s.Broken)
			}
		})
	}
}
