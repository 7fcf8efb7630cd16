package plan

import (
	"cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// holding is a workload as a release holds it.
type holding struct {
	// workload is nil if it does not exist; only change and unrecorded can be called then.
	workload *Workload
	release  *v1alpha1.BatchRelease
	record   *record
}

// held reports whether the workload is held by this release, or by an earlier object of its name.
func (h holding) held() bool { return h.workload.heldBy(h.release) }

// asMeant reports whether the workload is held by this very release, with the template that is
// released.
func (h holding) asMeant() bool {
	w := h.workload
	return h.held() && w.Hold.UID == h.release.UID && w.secured() && w.Digest == h.record.Resolved.Digest
}

// unrecorded reports whether a pass began a release and ended before it wrote its status: the
// workload is taken over, and the status is from before that.
func (h holding) unrecorded() bool {
	w, resolved := h.workload, h.record.Resolved
	if !h.held() || !w.secured() {
		return false
	}
	return resolved == nil || h.record.completed() && w.Digest != resolved.Digest
}

// asGivenBack reports whether the workload has all that it is to get back. Its user may have chosen
// the strategy with which it is held.
func (h holding) asGivenBack() bool {
	return h.record.Held != nil && h.workload.Hold == nil && h.workload.native().Own == *h.record.Held
}

// strategyIsOurs reports whether the workload still has the strategy of the take-over.
func (h holding) strategyIsOurs() bool {
	native, held := h.workload.native(), h.record.Held
	return (native.Ours || native.Opened) && held != nil && native.Own.Strategy != held.Strategy
}

// strategyStays reports whether the user's own strategy is the one with which the workload is held,
// so that it does not tell whether the workload was handed back.
func (h holding) strategyStays() bool {
	native, held := h.workload.native(), h.record.Held
	return native.Ours && held != nil && native.Own.Strategy == held.Strategy
}

// change returns the external change that is recorded on the workload; nil if there is none, or the
// workload is not held.
func (h holding) change() *ExternalChange {
	w := h.workload
	if w == nil || !h.held() || w.Hold.Change == (ExternalChange{}) || h.record.completed() {
		return nil
	}
	return &w.Hold.Change
}

// onRecord returns what to record of an external change. The first that is not acknowledged stays
// recorded, so that changes made over and over cost only the writes that undo them. A change that
// takes pods away replaces one that does not: people look for its cause.
func (h holding) onRecord(change string) ExternalChange {
	if change == "" {
		return ExternalChange{}
	}
	if w := h.workload; w.Hold != nil && w.Hold.Change != (ExternalChange{}) && (w.Hold.Change.takesPods() || !takesPods(change)) {
		return w.Hold.Change
	}
	by := cmp.Or(h.workload.ChangedBy, "somebody else")
	return ExternalChange{Kind: change, Message: whatChanged[change] + " by " + by + "; Sluice restored it"}
}

// ExternalChange is a change of a workload by another writer while it was taken over. The write
// that undoes the change records it too, so that nothing can come between the two.
type ExternalChange struct {
	// Kind names the change, and becomes the reason of the condition Drifted.
	Kind string `json:"reason"`
	// Message says what was changed and, if known, by whom.
	Message string `json:"message"`
}

// whatChanged describes each change.
var whatChanged = map[string]string{
	v1alpha1.ReasonWorkloadUnpaused: "the workload was unpaused",
	v1alpha1.ReasonStrategyChanged:  "the workload's strategy was changed",
	v1alpha1.ReasonTemplateChanged:  "the workload's template was changed",
	v1alpha1.ReasonHoldRemoved:      "the annotation that says who holds the workload was changed",
}

// takesPods reports whether the native controller removes pods after a change (T6).
func takesPods(change string) bool { return change == v1alpha1.ReasonWorkloadUnpaused }

func (m ExternalChange) takesPods() bool { return takesPods(m.Kind) }
