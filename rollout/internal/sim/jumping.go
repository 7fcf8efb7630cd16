package sim

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// jumpedBack reports whether a step stands as passed by the record of a jump back to one after it.
func jumpedBack(status *v1alpha1.BatchReleaseStatus, index int) bool {
	jump := status.Jump
	return jump != nil && jump.Attempt == status.Attempt && jump.To <= jump.From && int32(index) < jump.To
}

// jumpedOver reports whether the gates of a step that can be skipped are answered by the record of a jump beyond it.
func jumpedOver(status *v1alpha1.BatchReleaseStatus, index int) bool {
	jump := status.Jump
	return jump != nil && jump.Attempt == status.Attempt && jump.From <= int32(index) && int32(index) < jump.To
}

// judgeJump: what counts as evidence a person has asked for, and updated pods are removed where the strategy says so.
func (w *World) judgeJump(status *v1alpha1.BatchReleaseStatus) {
	was, jump := w.Release.Status.Jump, status.Jump
	if jump == nil || jump.Attempt == 0 || was != nil && *was == *jump {
		return
	}
	if w.Past.Asked&(1<<jump.To) == 0 {
		w.breach("I3 a jump is asked for", fmt.Sprintf("to step %d", jump.To))
	}
	if removes := w.Release.Spec.Strategy.StepBack == v1alpha1.StepBackRemovePods; jump.RemovePods != (removes && jump.To < jump.From) {
		w.breach("I5 a jump back removes pods if it is to", fmt.Sprintf("to step %d", jump.To))
	}
}

// steppedBack reports whether the step was jumped back to with the pods, and how many updated ones are to stay.
func (w *World) steppedBack(status *v1alpha1.BatchReleaseStatus) (least int32, back bool) {
	jump := status.Jump
	if jump == nil || !jump.RemovePods || jump.Attempt != status.Attempt || jump.To != status.CurrentStepIndex {
		return 0, false
	}
	return Rescaled(w.steps(status)[jump.To], w.Past.Entered, w.Workload.Replicas), true
}

// opensWhenBack: nobody is asked before the pods are what the step says, unless others have changed them since.
func opensWhenBack(w *World, c change) string {
	target, back := w.steppedBack(c.pass.intent)
	if _, opens := c.action.(plan.OpenGate); !opens || !back || w.Past.Meddled || len(w.Sets) < 2 {
		return ""
	}
	if s := w.Set(c.pass.intent.UpdateRevision); s != nil && s.Replicas > target {
		return fmt.Sprintf("there are %d updated pods, not %d", s.Replicas, target)
	}
	return ""
}
