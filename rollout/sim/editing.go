package sim

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// EditStep edits what the step in progress says, as somebody does who may push and not approve:
// pods, requests and matches become those of the next step, or fewer requests go to the new
// version. What was approved stays what it was (World.Sound).
func (w *World) EditStep(more bool) bool {
	status, spec := w.Release.Status, *w.Release.Spec
	steps, i := append([]v1alpha1.Step(nil), spec.Strategy.Steps...), int(status.CurrentStepIndex)
	if w.Release.Purged || w.Release.Spoiled != 0 || status.Rollback != nil || !status.Entered() || i >= len(steps)-1 || i >= len(w.Sound.Strategy.Steps) {
		return false
	}
	before := steps[i]
	switch {
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

// approve takes what the steps say now for what was approved: a step is entered.
func (p *Past) approve(w *World) {
	if p.Cleared = false; w.Release.Edited && w.Release.Spoiled == 0 {
		w.Sound = w.Release.Spec
	}
}

// again reports whether a step that was edited is entered again. Its gates must have passed before.
func (p *Past) again(w *World, intent *v1alpha1.BatchReleaseStatus) bool {
	was := w.Release.Status
	same := was.Entered() && was.Attempt == intent.Attempt && was.CurrentStepIndex == intent.CurrentStepIndex
	if !w.Release.Edited || !same || was.StepStartedAt.Equal(intent.StepStartedAt) || w.Sound == w.Release.Spec {
		return false
	}
	if !p.Cleared && !w.gatesPassed(intent, int(intent.CurrentStepIndex)) {
		w.breach("I3 a step that says more is entered again once its gates have passed", fmt.Sprintf("step %d", intent.CurrentStepIndex))
	}
	return true
}
