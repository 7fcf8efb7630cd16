package plan

import (
	"cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const (
	unpausedReason     Reason = "put back: only Sluice may unpause a workload that is taken over"
	holdStrippedReason Reason = "put back: the annotation that says who has taken the workload over"
)

// ExternalChange is what somebody else changed of a workload while it was taken over. The write that undoes the
// change records it too, so that nothing can come between the two.
type ExternalChange struct {
	// Kind is which change it was, and becomes the reason of the condition Drifted.
	Kind string `json:"reason"`
	// Message says what was changed and, if that is known, by whom.
	Message string `json:"message"`
}

// putBack pauses a workload again that somebody has unpaused while it is taken over, before
// anything else: the native controller is about to remove all its old pods (T6). A template that somebody has written too is put
// back in the same write, or what the native controller makes until the next would be of that one. Where the API
// server refuses the template the rest is put back alone.
func putBack(d Decision, s Unsecured) Decision {
	hold := *d.Workload.Hold
	hold.Change, hold.Foreign = d.onRecord(s.Change), d.foreign()
	d = d.with(func(r *record) { r.Held = &d.Workload.Hold.HeldWorkload })
	take := TakeOver{Reason: unpausedReason, Hold: hold, PutBack: s.Change}
	if template := d.overwritten(); template != nil {
		whole := take
		whole.Template, whole.Digest, whole.Revision = template, d.record.Resolved.Digest, d.record.UpdateRevision
		var done bool
		if d, done = d.try(whole); done {
			return d
		}
	}
	return failIfRefused(d.do(take))
}

// overwritten is the template that somebody has overwritten of a workload that is taken over, if it is at hand; nil if it is not, or the
// workload has it, or was never given it.
func (l *look) overwritten() *Template {
	if !l.held() || !l.templateChanged() {
		return nil
	}
	if template := l.template(); template.Given || l.hasTemplate(template.Revision) {
		return &template
	}
	return nil
}

// templateChanged reports whether a workload that is taken over has another template than it was given. Without pods it
// may have the stable one.
func (l *look) templateChanged() bool {
	w, held := l.Workload, l.held()
	if !held && l.record.Held == nil || held && w.Hold.Emptied {
		return false
	}
	return l.record.Resolved != nil && l.entered() && !l.empties() && w.Digest != l.record.Resolved.Digest
}

// foreign returns the revision of the template that another writer, or admission, gave the workload: the present
// one, or the one that was put back last. A revision that the release moves pods from or to is never foreign.
func (l *look) foreign() string {
	switch foreign := l.Workload.Revision; {
	case (l.templateChanged() || l.held() && l.Workload.Hold.Emptied && !l.runsStable()) && !l.known(foreign):
		return foreign
	case l.held():
		return l.Workload.Hold.Foreign
	default:
		return ""
	}
}

// known reports whether a revision is the one that is released, or the one before.
func (l *look) known(revision string) bool {
	return revision == "" || revision == l.record.UpdateRevision || revision == l.stableRevision()
}

// unsecuring is the change for which the native controller rolls, or removes, pods.
func (l *look) unsecuring() string { return l.Workload.native().Unsecured }

// changed names what somebody changed of a workload that is taken over; empty if it is written for
// another release, or a rollback, which put an end to it, or may have been handed back by a pass whose
// status was never written.
func (l *look) changed() string {
	held := l.held()
	switch {
	case !held && (l.record.Held == nil || l.allUpdated()), l.record.Phase == v1alpha1.PhaseInitial, l.record.Phase == v1alpha1.PhaseRollingBack, l.emptying():
		return ""
	case !l.Workload.secured():
		return l.unsecuring()
	case l.Workload.Digest != l.record.Resolved.Digest:
		return v1alpha1.ReasonTemplateChanged
	default:
		return v1alpha1.ReasonHoldRemoved
	}
}

// whatChanged puts the change into words.
var whatChanged = map[string]string{
	v1alpha1.ReasonWorkloadUnpaused: "the workload was unpaused",
	v1alpha1.ReasonStrategyChanged:  "the workload's strategy was changed",
	v1alpha1.ReasonTemplateChanged:  "the workload's template was changed",
	v1alpha1.ReasonHoldRemoved:      "the annotation that says who holds the workload was changed",
}

// onRecord is what goes on record of a change. The first that nobody has acknowledged stays there,
// so that somebody who changes things over and over costs only the writes that undo it. What takes pods away
// takes the place of what does not: people look for it.
func (l *look) onRecord(change string) ExternalChange {
	if change == "" {
		return ExternalChange{}
	}
	if w := l.Workload; w.Hold != nil && w.Hold.Change != (ExternalChange{}) && (w.Hold.Change.takesPods() || !takesPods(change)) {
		return w.Hold.Change
	}
	by := cmp.Or(l.Workload.ChangedBy, "somebody else")
	return ExternalChange{Kind: change, Message: whatChanged[change] + " by " + by + "; Sluice restored it"}
}

// takesPods reports whether the native controller removes pods for a change (T6).
func takesPods(change string) bool { return change == v1alpha1.ReasonWorkloadUnpaused }

func (m ExternalChange) takesPods() bool { return takesPods(m.Kind) }

// change is what is on record; nil if there is nothing, or the workload is not held.
func (l *look) change() *ExternalChange {
	w := l.Workload
	if w == nil || !l.held() || w.Hold.Change == (ExternalChange{}) || l.completed() {
		return nil
	}
	return &w.Hold.Change
}

// acknowledge takes the change off the record, as the annotation retry asks.
func acknowledge(d Decision) Decision {
	hold := *d.Workload.Hold
	hold.Change = ExternalChange{}
	take := TakeOver{Reason: "the change that was put back is acknowledged", Hold: hold}
	if released := d.record.Resolved; released != nil {
		take.Digest = released.Digest
	}
	return d.do(take)
}
