package sim

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// editStep edits what the step in progress says, as somebody does who may push and not approve:
// pods, requests and matches become those of the next step, or fewer requests go to the new
// version. World.Sound keeps the approved steps. A next step of fewer pods at any size, such as
// 0% after 10, is no edit: the laws don't know steps that are lowered
// (plan.TestAnEditedStepTakesMoreWhenItsGatesHavePassed does).
func editStep(w *World, more bool) bool {
	status, spec := w.Release.Status, *w.Release.Spec
	steps, i := append([]v1alpha1.Step(nil), spec.Strategy.Steps...), int(status.CurrentStepIndex)
	if w.Release.Purged || w.Release.Spoiled != 0 || status.Rollback != nil || !status.Entered() || i >= len(steps)-1 || i >= len(w.Sound.Strategy.Steps) {
		return false
	}
	before := steps[i]
	switch {
	case more && lowers(steps[i], steps[i+1]):
		return false
	case more:
		steps[i].Replicas, steps[i].Matches = steps[i+1].Replicas, matches
		steps[i].Traffic = fmt.Sprintf("%d%%", shareOf(steps, i+1))
	case shareOf(steps, i) > 0:
		steps[i].Traffic = fmt.Sprintf("%d%%", shareOf(steps, i-1))
	}
	if spec.Strategy.Traffic == nil {
		steps = withoutTraffic(steps)
	}
	if steps[i].Replicas == before.Replicas && steps[i].Traffic == before.Traffic && len(steps[i].Matches) == len(before.Matches) {
		return false
	}
	spec.Strategy.Steps = steps
	w.updateRelease(func(r *Release) { r.Spec, r.Edited, r.Generation = &spec, true, r.Generation+1 })
	return true
}

// lowers reports whether another step has fewer pods than this one at any size of the workload.
func lowers(step, next v1alpha1.Step) bool {
	for replicas := range int32(100) { // percentages differ at each hundredth
		if Target(next, replicas) < Target(step, replicas) {
			return true
		}
	}
	return false
}

// shareOf returns what a step gives to the new version, by the words of the API.
func shareOf(steps []v1alpha1.Step, index int) int32 {
	if index >= len(steps)-1 {
		return 100
	}
	for ; index >= 0; index-- {
		if text := steps[index].Traffic; text != "" {
			var n int32
			_, _ = fmt.Sscanf(text, "%d%%", &n)
			return n
		}
	}
	return 0
}
