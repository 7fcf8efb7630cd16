package plan

import (
	"cmp"
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

const (
	unpausedReason     Reason = "put back: only Sluice may unpause a workload that is taken over"
	holdStrippedReason Reason = "put back: the annotation that says who has taken the workload over"
)

// Meddling is what somebody changed of a workload while it was taken over. It is put on record by the same
// write that puts the change back, so that nothing can come between the two.
type Meddling struct {
	// Reason is that of the condition Drifted.
	Reason string `json:"reason"`
	// Message says what was changed and, if that is known, by whom.
	Message string `json:"message"`
}

// putBack pauses a workload again that somebody has unpaused while it is taken over, before
// anything else: the native controller is about to remove all its old pods (T6).
func (p *pass) putBack() bool {
	w := p.Workload
	if !w.heldBy(p.Release) || w.secured() || p.status.Phase == v1alpha1.PhaseCompleted {
		return false
	}
	p.status.Held = &w.Hold.HeldWorkload
	hold, change := *w.Hold, p.unsecuring()
	hold.Meddling = p.onRecord(change)
	p.do(TakeOver{Reason: unpausedReason, Hold: hold, PutBack: change})
	p.checkRefused()
	return true
}

// unsecuring is the change that the native controller rolls, or removes pods, for.
func (p *pass) unsecuring() string {
	if p.Workload.Paused {
		return v1alpha1.ReasonStrategyChanged
	}
	return v1alpha1.ReasonWorkloadUnpaused
}

// changed names what somebody changed of a workload that is taken over; empty if it is written for
// another release, or a rollback, which put an end to it, or may have been handed back by a pass whose
// status was never written.
func (p *pass) changed(held bool) string {
	switch {
	case !held && (p.status.Held == nil || p.allUpdated()), p.status.Phase == v1alpha1.PhaseInitial, p.status.Phase == v1alpha1.PhaseRollingBack, p.emptying(held):
		return ""
	case !p.Workload.secured():
		return p.unsecuring()
	case p.Workload.Digest != p.status.Resolved.Digest:
		return v1alpha1.ReasonTemplateChanged
	default:
		return v1alpha1.ReasonHoldRemoved
	}
}

// whatChanged is how the change is told.
var whatChanged = map[string]string{
	v1alpha1.ReasonWorkloadUnpaused: "the workload was unpaused",
	v1alpha1.ReasonStrategyChanged:  "the workload's strategy was changed",
	v1alpha1.ReasonTemplateChanged:  "the workload's template was changed",
	v1alpha1.ReasonHoldRemoved:      "the annotation that says who holds the workload was changed",
}

// onRecord is what goes on record of a change. The first that nobody has acknowledged stays there,
// so that somebody who changes things over and over costs no more than putting them back. What takes pods away
// takes the place of what does not: people look for it.
func (p *pass) onRecord(change string) Meddling {
	if change == "" {
		return Meddling{}
	}
	if w := p.Workload; w.Hold != nil && w.Hold.Meddling != (Meddling{}) && (w.Hold.Meddling.takesPods() || !takesPods(change)) {
		return w.Hold.Meddling
	}
	by := cmp.Or(p.Workload.ChangedBy, "somebody else")
	return Meddling{Reason: change, Message: whatChanged[change] + " by " + by + "; it was put back"}
}

// takesPods reports whether the native controller removes pods for a change (T6).
func takesPods(change string) bool { return change == v1alpha1.ReasonWorkloadUnpaused }

func (m Meddling) takesPods() bool { return takesPods(m.Reason) }

// meddling is what is on record; nil if there is nothing, or the workload is not held.
func (p *pass) meddling() *Meddling {
	w := p.Workload
	if w == nil || !w.heldBy(p.Release) || w.Hold.Meddling == (Meddling{}) || p.status.Phase == v1alpha1.PhaseCompleted {
		return nil
	}
	return &w.Hold.Meddling
}

// meddled stops a release until a person has seen what happened.
func (p *pass) meddled() *stop {
	meddling := p.meddling()
	if meddling == nil {
		return nil
	}
	message := meddling.Message
	if meddling.takesPods() && p.short() {
		message += "; pods were lost by it and are being replaced"
	}
	return &stop{v1alpha1.ReasonDrifted, fmt.Sprintf("%s; to go on: sluice retry %s -n %s", message, p.Release.Name, p.Release.Namespace)}
}

// short reports whether fewer pods are available than maxUnavailable allows.
func (p *pass) short() bool {
	return deployment.Available(p.Sets) < p.Workload.Replicas-p.fence().Unavailable
}

// acknowledge takes the change off the record, as the annotation retry asks.
func (p *pass) acknowledge() bool {
	if p.meddling() == nil {
		return false
	}
	hold := *p.Workload.Hold
	hold.Meddling = Meddling{}
	p.do(TakeOver{Reason: "the change that was put back is acknowledged", Hold: hold})
	return true
}

// setMeddled keeps the condition Drifted while something is on record of a workload that is held. What is
// changed while none is held is another matter.
func (p *pass) setMeddled() {
	meddling := p.meddling()
	switch {
	case meddling != nil:
		reason := meddling.Reason
		if _, known := whatChanged[reason]; !known { // somebody has written into the annotation
			reason = v1alpha1.ReasonHoldRemoved
		}
		p.setCondition(v1alpha1.ConditionDrifted, true, meddling.Message, reason)
	case p.pastGit:
		p.setCondition(v1alpha1.ConditionDrifted, true, pastGitWords, v1alpha1.ReasonChangedPastGit)
	case p.Workload != nil && p.Workload.heldBy(p.Release):
		p.drop(v1alpha1.ConditionDrifted)
	}
}
