package sim

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/rollout/plan"
)

// beforeTrain keeps the fleet as it is before a pass of the train. It returns a check for after the
// pass: a member that was at rest, and that nothing wakes, stays at rest.
func (w *fleetWalk) beforeTrain(seat int) func() {
	if seat != 0 || w.fault != "" {
		return func() {}
	}
	before := w.f.Train.Release.Status
	fleet, _ := w.laws.clone()
	return func() {
		after := w.f.Train.Release.Status
		if before.Run == after.Run && before.Phase == after.Phase && before.Attempt == after.Attempt {
			return
		}
		woken := plan.RunChanges(before, after)
		for i := range w.f.Members {
			if slices.Contains(woken, MemberName(i)) {
				continue
			}
			rest := restOf(w.f, i)
			if now, _ := w.laws.clone(); rest == passOf(fleet, i) {
				if does := passOf(now, i); rest != does {
					w.fail(fmt.Sprintf("who waits is woken: %s does not see %s, and would do\n%s\nnot\n%s", MemberName(i), w.f, does, rest))
				}
			}
		}
	}
}

// passOf tells how a member is after passes.
func passOf(f *Fleet, i int) string {
	f.trainSeen[i] = nil
	s := f.State(i + 1)
	s.Process = &Process{}
	for range 3 {
		Event{Kind: Pass}.Apply(s)
	}
	return restOf(f, i)
}

// restOf returns the pods of a member, its state and its message.
func restOf(f *Fleet, i int) string {
	s := f.State(i + 1)
	status := s.Release.Status
	return fmt.Sprintf("%s %s %d %s", s.World, status.State, status.Attempt, status.Message)
}
