package sim

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// jumpedBack reports whether a step stands as passed by the record of a jump back to one after it.
func jumpedBack(status *v1alpha1.BatchReleaseStatus, index int) bool {
	return slices.ContainsFunc(status.Jumps(), func(jump v1alpha1.EarlierJump) bool {
		return jump.To <= jump.From && int32(index) < jump.To
	})
}

// jumpedOver reports whether the gates of a step that can be skipped are answered by the record of
// a jump beyond it.
func jumpedOver(status *v1alpha1.BatchReleaseStatus, index int) bool {
	return slices.ContainsFunc(status.Jumps(), func(jump v1alpha1.EarlierJump) bool {
		return jump.From <= int32(index) && int32(index) < jump.To
	})
}

// judgeJump: a person has asked for what counts as evidence, and updated pods are removed where the
// strategy says so.
func judgeJump(w *World, status *v1alpha1.BatchReleaseStatus) {
	judgeRecord(w, status)
	was, jump := w.Release.Status.Jump, status.Jump
	if jump == nil || was != nil && was.Time == jump.Time && was.From == jump.From && was.To == jump.To && was.Attempt == jump.Attempt {
		return
	}
	past(w).answered(w, jump)
	if jump.Attempt == 0 {
		return
	}
	if past(w).Asked&(1<<jump.To) == 0 {
		w.breach("I3 a jump was requested", fmt.Sprintf("to step %d", jump.To))
	}
	if removes := w.Release.Spec.Strategy.StepBack == v1alpha1.StepBackRemovePods; jump.RemovePods != (removes && jump.To < jump.From) {
		w.breach("I5 a jump back removes pods if it is to", fmt.Sprintf("to step %d", jump.To))
	}
}

// answered: a request from Git is answered once, whoever requests another step later.
func (p *Past) answered(w *World, jump *v1alpha1.Jump) {
	if wanted := w.Release.Spec.ReleaseTo; jump.By != "releaseTo" || wanted == nil {
		return
	}
	if p.Answered {
		w.breach("I3 what Git asks for is gone to once", fmt.Sprintf("step %d again", jump.To))
	}
	p.Answered = true
}

// judgeRecord: a jump that is on record counts until its attempt is over, whatever else is
// requested; one that can't be gone to changes nothing of the release.
func judgeRecord(w *World, status *v1alpha1.BatchReleaseStatus) {
	was := w.Release.Status
	if status.Attempt != was.Attempt || w.Release.Deleting { // one that waits for its routes only goes, and may find the workload created again
		return
	}
	if was.WorkloadUID != "" && was.WorkloadUID != w.Workload.UID { // the gates of a workload that was created again are asked again
		return
	}
	for i := range stepsOf(w, status) {
		if jumpedOver(was, i) && !jumpedOver(status, i) || jumpedBack(was, i) && !jumpedBack(status, i) {
			w.breach("I3 a jump that is on record counts", fmt.Sprintf("not for step %d any more", i))
		}
	}
	asked := was.NextStepIndex
	if asked == nil || status.NextStepIndex != nil || *asked >= 0 && int(*asked) < len(stepsOf(w, status)) {
		return
	}
	if len(status.Jumps()) > len(was.Jumps()) {
		return // one that Git asks for is answered beside it
	}
	if _, back := steppedBack(w, was); back && status.CurrentStepIndex == was.CurrentStepIndex {
		if _, still := steppedBack(w, status); !still {
			w.breach("a jump that is refused changes nothing", fmt.Sprintf("no pods are removed any more at step %d", was.CurrentStepIndex))
		}
	}
}

// steppedBack reports whether the step was jumped back to with the pods, and which step says how
// many updated ones stay.
func steppedBack(w *World, status *v1alpha1.BatchReleaseStatus) (step v1alpha1.Step, back bool) {
	jumps := status.Jumps()
	if len(jumps) == 0 {
		return v1alpha1.Step{}, false
	}
	jump := jumps[len(jumps)-1]
	if !jump.RemovePods || jump.To != status.CurrentStepIndex {
		return v1alpha1.Step{}, false
	}
	return stepsOf(w, status)[jump.To], true
}

// keptBack reports whether the step was jumped back to without the pods.
func keptBack(status *v1alpha1.BatchReleaseStatus) bool {
	jumps := status.Jumps()
	if len(jumps) == 0 {
		return false
	}
	jump := jumps[len(jumps)-1]
	return !jump.RemovePods && jump.To == status.CurrentStepIndex && jump.To <= jump.From
}

// opensWhenBack: no gate asks anybody before the pods are what the step says, unless others have
// changed them since.
func opensWhenBack(w *World, c change) string {
	step, back := steppedBack(w, c.pass.intent)
	if open, opens := c.action.(plan.OpenGate); !opens || open.Spec.Index >= v1alpha1.GuardIndex || !back || past(w).OutOfBand || len(w.Sets) < 2 {
		return ""
	}
	target := past(w).Sizes.most(step, w.Workload.Replicas)
	if s := w.Set(c.pass.intent.UpdateRevision); s != nil && s.Replicas > target {
		return fmt.Sprintf("there are %d updated pods, not %d", s.Replicas, target)
	}
	return ""
}
