package sim

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// approve takes what the steps say now for what was approved: a step is entered.
func (p *Past) approve(w *World) {
	if p.Cleared = false; w.Release.Edited && w.Release.Spoiled == 0 {
		w.Sound = w.Release.Spec
	}
}

// again reports whether a step that was edited is entered again. Its gates must have
// passed before. A pass that has read an earlier release, and keeps what that says, enters nothing.
func (p *Past) again(x *pass, intent *v1alpha1.BatchReleaseStatus) bool {
	w, was := x.world, x.world.Release.Status
	same := was.Entered() && was.Attempt == intent.Attempt && was.CurrentStepIndex == intent.CurrentStepIndex
	if !w.Release.Edited || !same || was.StepStartedAt.Equal(intent.StepStartedAt) || x.stored.StepStartedAt.Equal(intent.StepStartedAt) || w.Sound == w.Release.Spec {
		return false
	}
	if !p.Cleared && !gatesPassed(w, intent, int(intent.CurrentStepIndex)) {
		w.breach("I3 a step that says more is entered again once its gates have passed", fmt.Sprintf("step %d", intent.CurrentStepIndex))
	}
	return true
}
