package plan

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// The fields that ask for a jump.
const (
	byOperator = "nextStepIndex"
	byGit      = "releaseTo"
)

// answerJump turns a requested jump into a recorded intent, before anything is done for it: the
// record is the evidence for gates that are not asked.
func answerJump(d Decision) (Decision, bool) {
	to, by := d.jumpAsked()
	if to == nil {
		return forgetReleaseTo(d), false
	}
	if d.unready() {
		return d, false // it is answered later
	}
	if why := d.jumpProblem(*to); why != 0 {
		d = recordJump(d, v1alpha1.Jump{To: *to, From: d.record.CurrentStepIndex, By: by})
		return d.tell(jumpRefused{*to, by, why, len(d.steps())}), false
	}
	if !d.Live.Has(ReadCounts) {
		return d.read(ReadCounts), true
	}
	return jump(d, *to, by), true
}

// jumpAsked is the step that somebody asks for and has not been answered yet, nil if nobody does.
func (l *look) jumpAsked() (to *int32, by string) {
	if l.record.NextStepIndex != nil {
		return l.record.NextStepIndex, byOperator
	}
	wanted := l.Release.Spec.ReleaseTo
	if jump := l.record.Jump; wanted == nil || jump != nil && jump.ReleaseTo != nil && *jump.ReleaseTo == *wanted {
		return nil, ""
	}
	return wanted, byGit
}

// forgetReleaseTo lets somebody request the same step again once nobody requests any.
func forgetReleaseTo(d Decision) Decision {
	jump := d.record.Jump
	if jump == nil || jump.ReleaseTo == nil || d.Release.Spec.ReleaseTo != nil {
		return d
	}
	kept := *jump
	kept.ReleaseTo = nil
	return d.with(func(r *record) { r.Jump = &kept })
}

// unready reports whether there is no step to jump from yet, or something that belongs to it still has to be fixed.
func (l *look) unready() bool {
	if l.record.Phase == v1alpha1.PhaseInitial {
		return true
	}
	w, under := l.Workload, l.record.Phase == v1alpha1.PhaseRollingUpdate
	return under && (l.rescaling() || !l.held() || !w.secured() || w.Digest != l.record.Resolved.Digest)
}

// jumpProblem is why a release can't go to a step; 0 if it can.
func (l *look) jumpProblem(to int32) JumpProblem {
	switch {
	case l.rollingBack():
		return InRollback
	case l.record.Phase != v1alpha1.PhaseRollingUpdate || !l.entered():
		return NotUnderWay
	case to < 0 || int(to) >= len(l.steps()):
		return NoSuchStep
	case to == l.stepIndex():
		return PresentStep
	default:
		return 0
	}
}

// JumpProblem is why a release can't go to a step.
type JumpProblem int

// The problems of a jump.
const (
	// InRollback: a rollback has its own steps.
	InRollback JumpProblem = iota + 1
	// NotUnderWay: no release is in progress.
	NotUnderWay
	// NoSuchStep: the release has fewer steps.
	NoSuchStep
	// PresentStep: the release is at the step.
	PresentStep
)

// recordJump answers a request. Earlier requests stay on record: they are still the evidence for gates, and still
// say which pods go back.
func recordJump(d Decision, jump v1alpha1.Jump) Decision {
	jump.Time = *d.time()
	if wanted := d.Release.Spec.ReleaseTo; wanted != nil && jump.By == byGit {
		jump.ReleaseTo = new(*wanted)
	} else if d.record.Jump != nil {
		jump.ReleaseTo = d.record.Jump.ReleaseTo
	}
	return d.with(func(r *record) {
		jump.Earlier = r.Jumps()
		r.NextStepIndex, r.Jump = nil, &jump
	})
}

// lastJump is the last one that counts for the attempt in progress, nil if there is none.
func (l *look) lastJump() *v1alpha1.EarlierJump {
	if jumps := l.record.Jumps(); len(jumps) > 0 {
		return &jumps[len(jumps)-1]
	}
	return nil
}

// jump goes to another step. Forward, the steps on the way are taken as they are, with the gates that can't be
// skipped. Back, the gates from there on are asked again: evidence of an attempt is for one way through the steps.
// Pods are removed only if the strategy says so, which the record keeps: it may be edited meanwhile.
func jump(d Decision, to int32, by string) Decision {
	from := d.stepIndex()
	j := v1alpha1.Jump{From: from, To: to, By: by, Attempt: d.record.Attempt}
	if to > from {
		return recordJump(d, j).tell(jumpMade{from, to, by, len(d.steps())}).first()
	}
	j.Attempt = d.nextAttempt()
	j.RemovePods = d.Release.Spec.Strategy.StepBack == v1alpha1.StepBackRemovePods
	earlier := d.with(func(r *record) { r.Attempt = j.Attempt })
	return enterStep(recordJump(earlier, j), to).tell(jumpMade{from, to, by, len(d.steps())}).first()
}

// batch is the number of a step, counted from 1.
func (l *look) batch(step int32) string { return fmt.Sprintf("%d/%d", step+1, len(l.steps())) }

// stepsBack reports whether the step was jumped back to with the pods: those beyond it go, and the version before
// takes their places. It does so until the next step. Where updated pods stay updated, none go.
func (l *look) stepsBack() bool {
	jump := l.lastJump()
	return jump != nil && jump.RemovePods && jump.To == l.stepIndex() && !l.pods.Final
}

// goingBack reports whether there are pods left to remove.
func (l *look) goingBack() bool {
	return l.stepsBack() && l.pods.Updated.Wanted > l.record.TargetReplicas
}

// jumpsOver reports whether a gate of a step is not asked: its policy allows that, and somebody
// has requested to go beyond it.
func (l *look) jumpsOver(step int32, policy v1alpha1.GatePolicy) bool {
	over := func(jump v1alpha1.EarlierJump) bool { return jump.From <= step && step < jump.To }
	return policy.CanSkip() && slices.ContainsFunc(l.record.Jumps(), over)
}
