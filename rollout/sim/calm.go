package sim

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Calm returns what a state becomes next if nothing goes wrong any more, and by which event;
// nil if it is at rest.
func Calm(s *State) (*State, Event) {
	var next *State
	for _, event := range calmTurns(s) {
		if event.idle(s) {
			continue
		}
		if next == nil {
			next = s.Clone()
		}
		if event.Apply(next) || len(next.Broken) > len(s.Broken) {
			return next, event
		}
		if event.Kind == Pass {
			next = nil // it takes time, though it has changed nothing
		}
	}
	return nil, Event{}
}

func calmTurns(s *State) []Event {
	events := []Event{{Kind: Thaw}, {Kind: Cure}, {Kind: Resume}, {Kind: Repair}}
	events = append(events, s.Workload.kind.podEvents(s.World, SyncSet, PodReady, PodAvailable, PodGone, PodHeals)...)
	events = append(events, trafficTurns(s.World)...)
	if s.Traffic != nil {
		events = append(events, mendedTraffic(s.World)...)
	}
	events = append(events, Event{Kind: SyncWorkload}, Event{Kind: Approve}, Event{Kind: CreateWorkload, Text: "v1"})
	switch {
	case (s.Release.Status.State == v1alpha1.StateRejected || s.Release.Status.StoppedFor(v1alpha1.StopGuardRejected)) && !unacknowledged(s.World):
		fix := Event{Kind: Give, Text: s.Release.Template + "-repaired"}
		if s.follows() {
			fix.Kind = Apply
		}
		events = append(events, Event{Kind: Pass}, fix)
	case s.Release.Status.State == v1alpha1.StateNativeRollout && s.Workload.Paused: // as only a Deployment can be
		events = append(events, Event{Kind: Unpause})
	case s.Release.Status.State == v1alpha1.StateNativeRollout && endlessScaling(s.World):
		events = append(events, Event{Kind: Pass}, Event{Kind: Scale, N: s.Workload.Replicas + 1})
	case unacknowledged(s.World):
		events = append(events, Event{Kind: Pass}, Event{Kind: Retry})
	case waitsForPerson(s.World):
		events = append(events, Event{Kind: Confirm})
	case s.Traffic != nil && s.Release.Status.Phase == v1alpha1.PhaseFailed && s.Release.Status.Rollback == nil && beyondStep(s.World):
		// More updated pods than the step says leave the version before no room for all requests, with
		// which a route begins: the failure says so.
		events = append(events, Event{Kind: Rollback, Text: "true"})
	case s.Release.Status.Phase == v1alpha1.PhaseFailed, s.waitsForRetry():
		events = append(events, Event{Kind: Retry})
	}
	return append(events, Event{Kind: Pass}, Event{Kind: Settle}, Event{Kind: Wait})
}
