package plan

import "github.com/sluice-dev/sluice/api/v1alpha1"

const (
	unpausedReason     Reason = "put back: only Sluice may unpause a workload that is taken over"
	holdStrippedReason Reason = "put back: the annotation that says who has taken the workload over"
)

// putBack pauses a workload again that somebody has unpaused while it is taken over, before
// anything else: the native controller is about to remove all its old pods (T6).
func (p *pass) putBack() bool {
	w := p.Workload
	if !w.heldBy(p.Release) || w.secured() || p.status.Phase == v1alpha1.PhaseCompleted {
		return false
	}
	p.status.Held = &w.Hold.HeldWorkload
	p.do(TakeOver{Reason: unpausedReason, Hold: *w.Hold})
	return true
}
