package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// The fields that ask for a jump.
const (
	byOperator = "nextStepIndex"
	byGit      = "releaseTo"
)

// answerJump records a requested jump before anything is done for it: the record is the evidence
// for gates that are skipped.
func answerJump(d Decision) (Decision, bool) {
	to, by := jumpAsked(d.snap)
	if to == nil {
		return forgetReleaseTo(d), false
	}
	if unready(d.snap) {
		return d, false // it is answered later
	}
	if why := jumpProblem(d.snap, *to); why != 0 {
		d = recordJump(d, v1alpha1.Jump{To: *to, From: d.snap.record.CurrentStepIndex, By: by})
		return d.tell(jumpRefused{*to, by, why, len(d.snap.steps().list())}), false
	}
	if !d.snap.live(ReadCounts) {
		return d.read(ReadCounts), true
	}
	return jump(d, *to, by), true
}

// jumpAsked returns the step of an unanswered request; nil if there is none.
func jumpAsked(s *snapshot) (to *int32, by string) {
	if s.record.NextStepIndex != nil {
		return s.record.NextStepIndex, byOperator
	}
	wanted := s.release.Spec.ReleaseTo
	if jump := s.record.Jump; wanted == nil || jump != nil && jump.ReleaseTo != nil && *jump.ReleaseTo == *wanted {
		return nil, ""
	}
	return wanted, byGit
}

// forgetReleaseTo lets a user request the same step again once no step is requested.
func forgetReleaseTo(d Decision) Decision {
	jump := d.snap.record.Jump
	if jump == nil || jump.ReleaseTo == nil || d.snap.release.Spec.ReleaseTo != nil {
		return d
	}
	kept := *jump
	kept.ReleaseTo = nil
	return d.with(func(r *record) { r.Jump = &kept })
}

// unready reports whether there is no step to jump from yet, or something of it must be fixed
// first.
func unready(s *snapshot) bool {
	if s.record.Phase == v1alpha1.PhaseInitial {
		return true
	}
	w, under := s.workload, s.record.Phase == v1alpha1.PhaseRollingUpdate
	return under && (rescaling(s) || !s.hold().held() || !w.secured() || w.Digest != s.record.Resolved.Digest)
}

// jumpProblem returns why a release can't go to a step; 0 if it can.
func jumpProblem(s *snapshot, to int32) JumpProblem {
	switch {
	case s.record.rollingBack():
		return InRollback
	case s.record.Phase != v1alpha1.PhaseRollingUpdate || !s.record.entered():
		return NotUnderWay
	case to < 0 || int(to) >= len(s.steps().list()):
		return NoSuchStep
	case to == s.steps().index():
		return PresentStep
	default:
		return 0
	}
}

// JumpProblem names the reason for which a release can't go to a step.
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
	// OfTrain: all members share the steps of a train.
	OfTrain
)

// recordJump answers a request. Earlier jumps stay recorded: they are still the evidence for gates,
// and say which pods go back.
func recordJump(d Decision, jump v1alpha1.Jump) Decision {
	jump.Time = *d.snap.time()
	if wanted := d.snap.release.Spec.ReleaseTo; wanted != nil && jump.By == byGit {
		jump.ReleaseTo = new(*wanted)
	} else if d.snap.record.Jump != nil {
		jump.ReleaseTo = d.snap.record.Jump.ReleaseTo
	}
	return d.with(func(r *record) {
		jump.Earlier = r.Jumps()
		r.NextStepIndex, r.Jump = nil, &jump
	})
}

// jump goes to another step. Forward, the steps on the way are taken as they are, with the gates
// that can't be skipped. Back, the gates from there on are asked again: evidence of an attempt is
// for one way through the steps. Pods are removed only if the strategy says so, which the record
// keeps: it may be edited meanwhile.
func jump(d Decision, to int32, by string) Decision {
	from := d.snap.steps().index()
	j := v1alpha1.Jump{From: from, To: to, By: by, Attempt: d.snap.record.Attempt}
	if to > from {
		return recordJump(d, j).tell(jumpMade{from, to, by, len(d.snap.steps().list())}).first()
	}
	j.Attempt = d.snap.gates().nextAttempt()
	j.RemovePods = d.snap.release.Spec.Strategy.StepBack == v1alpha1.StepBackRemovePods
	earlier := d.with(func(r *record) { r.Attempt = j.Attempt })
	return enterStep(recordJump(earlier, j), to).tell(jumpMade{from, to, by, len(d.snap.steps().list())}).first()
}

// goingBack reports whether there are pods left to remove after a jump back.
func goingBack(s *snapshot) bool {
	return s.steps().steppingBack() && s.pods.Updated.Wanted > s.record.TargetReplicas
}
