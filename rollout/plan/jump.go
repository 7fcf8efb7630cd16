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

// answerJump turns a jump that is asked for into a recorded intent, before anything is done for it: the
// record is the evidence for gates that are not asked.
func (p *pass) answerJump() bool {
	to, by := p.jumpAsked()
	if to == nil {
		p.forgetReleaseTo()
		return false
	}
	if p.unready() {
		return false // it is answered later
	}
	if why := p.refuseJump(*to); why != "" {
		p.recordJump(v1alpha1.Jump{To: *to, From: p.status.CurrentStepIndex, By: by})
		p.out.Events = append(p.out.Events, Event{true, v1alpha1.ReasonJumpRefused, fmt.Sprintf("%s %d: %s", by, *to, why)})
		return false
	}
	if needs := (Needs{Sets: !p.SetsLive}); needs.Any() {
		p.need(needs)
		return true
	}
	p.jump(*to, by)
	return true
}

// jumpAsked is the step that somebody asks for and has not been answered yet, nil if nobody does.
func (p *pass) jumpAsked() (to *int32, by string) {
	if p.status.NextStepIndex != nil {
		return p.status.NextStepIndex, byOperator
	}
	wanted := p.Release.Spec.ReleaseTo
	if jump := p.status.Jump; wanted == nil || jump != nil && jump.ReleaseTo != nil && *jump.ReleaseTo == *wanted {
		return nil, ""
	}
	return wanted, byGit
}

// forgetReleaseTo lets the same step be asked for again once nobody asks for any.
func (p *pass) forgetReleaseTo() {
	if jump := p.status.Jump; jump != nil && jump.ReleaseTo != nil && p.Release.Spec.ReleaseTo == nil {
		kept := *jump
		kept.ReleaseTo = nil
		p.status.Jump = &kept
	}
}

// unready reports whether there is no step to jump from yet, or what belongs to it is still to be put right.
func (p *pass) unready() bool {
	if p.status.Phase == v1alpha1.PhaseInitial {
		return true
	}
	w, under := p.Workload, p.status.Phase == v1alpha1.PhaseRollingUpdate
	return under && (p.rescaling() || !w.heldBy(p.Release) || !w.secured() || w.Digest != p.status.Resolved.Digest)
}

func (p *pass) refuseJump(to int32) string {
	switch s := &p.status; {
	case s.RollbackTo != "" && s.Phase != v1alpha1.PhaseCompleted:
		return "a rollback has its own steps"
	case s.Phase != v1alpha1.PhaseRollingUpdate || s.Batch == "":
		return "no release is under way"
	case to < 0 || int(to) >= len(p.steps()):
		return fmt.Sprintf("there are steps 0 to %d", len(p.steps())-1)
	case to == p.stepIndex():
		return "this is the present step"
	default:
		return ""
	}
}

// recordJump answers what was asked. What was asked before stays on record: it goes on to be the evidence for gates, and to
// say which pods go back.
func (p *pass) recordJump(jump v1alpha1.Jump) {
	jump.Time = *p.now()
	if wanted := p.Release.Spec.ReleaseTo; wanted != nil && jump.By == byGit {
		jump.ReleaseTo = new(*wanted)
	} else if p.status.Jump != nil {
		jump.ReleaseTo = p.status.Jump.ReleaseTo
	}
	jump.Earlier = p.status.Jumps()
	p.status.NextStepIndex, p.status.Jump = nil, &jump
}

// lastJump is the last one that counts for the attempt under way, nil if there is none.
func (p *pass) lastJump() *v1alpha1.EarlierJump {
	if jumps := p.status.Jumps(); len(jumps) > 0 {
		return &jumps[len(jumps)-1]
	}
	return nil
}

// jump goes to another step. Forward, the steps on the way are taken as they are, with the gates that can't be
// skipped. Back, the gates from there on are asked anew: evidence of an attempt is for one way through the steps.
// Pods are removed only if the strategy says so, which the record keeps: it may be edited meanwhile.
func (p *pass) jump(to int32, by string) {
	from := p.stepIndex()
	jump := v1alpha1.Jump{From: from, To: to, By: by}
	if to < from {
		p.status.Attempt = p.nextAttempt()
		jump.RemovePods = p.Release.Spec.Strategy.StepBack == v1alpha1.StepBackRemovePods
	}
	jump.Attempt = p.status.Attempt
	p.recordJump(jump)
	if to < from {
		p.enterStep(to)
	}
	p.out.Events = append(p.out.Events, Event{false, v1alpha1.ReasonJumped, fmt.Sprintf("from batch %s to batch %s, by %s", p.batch(from), p.batch(to), by)})
	p.out.StatusFirst = true
}

// batch is a step as people count.
func (p *pass) batch(step int32) string { return fmt.Sprintf("%d/%d", step+1, len(p.steps())) }

// stepsBack reports whether the step was jumped back to with the pods: those beyond it go, and the version before
// takes their places. It does so until the next step.
func (p *pass) stepsBack() bool {
	jump := p.lastJump()
	return jump != nil && jump.RemovePods && jump.To == p.stepIndex()
}

// goingBack reports whether there are pods left to remove.
func (p *pass) goingBack() bool {
	return p.stepsBack() && p.updateSet() != nil && p.updateSet().Replicas > p.status.TargetReplicas
}

// jumpsOver reports whether a gate of the current step is not asked: its policy allows for that, and somebody
// has said to go beyond it.
func (p *pass) jumpsOver(policy v1alpha1.GatePolicy) bool {
	step := p.stepIndex()
	over := func(jump v1alpha1.EarlierJump) bool { return jump.From <= step && step < jump.To }
	return policy.CanSkip() && slices.ContainsFunc(p.status.Jumps(), over)
}
