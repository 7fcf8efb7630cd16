package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// applied are the kinds of what happens, at any moment, to a workload that others apply.
var applied = slices.Concat(
	slices.Repeat([]Kind{Apply}, 12),
	slices.Repeat([]Kind{PassDies, PassRaces, Restart, SyncWorkloadLate, Scale, Rollback, Suspend, Resume, Reject, PodFails, PodLost, Freeze, Touch, Retry}, 3),
	[]Kind{Unpause, StripHold, Elapse, Refuse, Refuse, Refuse, Cure, Cure},
)

// TestWalksOfFollowed lets others apply templates, and anything else happen, to followed workloads
// in any order: no pod runs a template that nobody approved, and the last template is released, or
// kept out as it was rolled back.
func TestWalksOfFollowed(t *testing.T) {
	t.Parallel()
	for _, kind := range workload.Kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				w := beginFollowed(t, kind)
				for range rapid.IntRange(0, 120).Draw(t, "events") {
					w.step(w.anyOf("event", usual, applied))
				}
				w.calmDown()
			})
		})
	}
}

// beginFollowed begins a walk of a followed workload that runs v1, and is at rest.
func beginFollowed(t *rapid.T, kind string) *walk {
	setup := drawSetup(t, rapid.Int32Range(0, 8).Draw(t, "replicas"))
	setup.Follow, setup.Kind, setup.Strategy, setup.OneVersion, setup.Newborn, setup.Paused = true, kind, RollingUpdate, false, false, false
	setup.Supersede, setup.Drift = v1alpha1.SupersedeRestart, v1alpha1.DriftReport
	setup.Ordered = kind == StatefulSet && rapid.Bool().Draw(t, "ordered")
	setup.Several = kind == StatefulSet && rapid.Bool().Draw(t, "several")
	w := &walk{t, play(t, script{setup: setup, sick: rapid.SampledFrom([]string{"", "", "v2", "v3"}).Draw(t, "sick")})}
	for !completed(w.state) {
		for _, event := range calmTurns(w.state) {
			w.step(event)
		}
	}
	w.step(Event{Kind: Apply, Text: "v2"})
	return w
}
