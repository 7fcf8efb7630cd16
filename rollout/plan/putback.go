package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const (
	unpausedReason     Reason = "put back: only Sluice may unpause a workload that is taken over"
	holdStrippedReason Reason = "put back: the annotation that says who has taken the workload over"
)

// secureAgain secures a workload that another writer unpaused while it is taken over. In a rollback
// requests go back to the stable version even if the API server refuses that.
func secureAgain(d Decision) Decision {
	if d = putBack(d); d.needs.Any() {
		return d
	}
	return retryRefused(rollBackTraffic(d))
}

// putBack secures a workload again that another writer unpaused while it is taken over, before
// anything else: the native controller is about to remove all its old pods (T6). A changed template
// is restored in the same write, as the native controller would make pods of it until the next. If
// the API server refuses the template the rest is restored alone.
func putBack(d Decision) Decision {
	change := unsecuring(d.snap)
	hold := *d.snap.workload.Hold
	hold.Change, hold.Foreign = d.snap.hold().onRecord(change), foreignRevision(d.snap)
	d = d.with(func(r *record) { r.Held = &d.snap.workload.Hold.HeldWorkload })
	take := TakeOver{Reason: unpausedReason, Hold: hold, PutBack: change}
	if template := overwritten(d.snap); template != nil {
		if !d.snap.live(ReadRelease) { // a cache may have the release as it was before a rollback
			return d.read(ReadRelease)
		}
		whole := take
		whole.Template, whole.Digest, whole.Revision = template, d.snap.record.Resolved.Digest, d.snap.record.UpdateRevision
		var done bool
		if d, done = d.try(whole); done {
			return d
		}
	}
	return failIfRefused(d.do(take))
}

// overwritten returns the template that another writer replaced on a workload that is taken over;
// nil if it was not replaced, or is not available.
func overwritten(s *snapshot) *Template {
	if !s.hold().held() || !templateChanged(s) {
		return nil
	}
	if template := templateToWrite(s); template.Given || hasTemplate(s, template.Revision) {
		return &template
	}
	return nil
}

// templateChanged reports whether a workload that is taken over has another template than it was
// given. Without pods it may have the stable one.
func templateChanged(s *snapshot) bool {
	w, held := s.workload, s.hold().held()
	if !held && s.record.Held == nil || held && w.Hold.Emptied {
		return false
	}
	return s.record.Resolved != nil && s.record.entered() && !empties(s) && w.Digest != s.record.Resolved.Digest
}

// foreignRevision returns the revision of the template that another writer, or admission, gave the
// workload: the present one, or the one that was replaced last. A revision that the release moves
// pods from or to is never foreign.
func foreignRevision(s *snapshot) string {
	switch foreign := s.workload.Revision; {
	case (templateChanged(s) || s.hold().held() && s.workload.Hold.Emptied && !runsStable(s)) && !knownRevision(s, foreign):
		return foreign
	case s.hold().held():
		return s.workload.Hold.Foreign
	default:
		return ""
	}
}

// knownRevision reports whether a revision is the update revision, or the stable one.
func knownRevision(s *snapshot, revision string) bool {
	return revision == "" || revision == s.record.UpdateRevision || revision == stableRevision(s)
}

// externalChange names what another writer changed of a workload that is taken over. It is empty if
// the workload is about to be written for another release or a rollback, or may have been handed
// back by a pass that never wrote its status.
func externalChange(s *snapshot) string {
	held := s.hold().held()
	switch {
	case !held && (s.record.Held == nil || allUpdated(s)), s.record.Phase == v1alpha1.PhaseInitial, s.record.Phase == v1alpha1.PhaseRollingBack, emptying(s):
		return ""
	case !s.workload.secured():
		return unsecuring(s)
	case s.workload.Digest != s.record.Resolved.Digest && follows(s):
		return "" // whoever applies the workload does so again
	case s.workload.Digest != s.record.Resolved.Digest:
		return v1alpha1.ReasonTemplateChanged
	default:
		return v1alpha1.ReasonHoldRemoved
	}
}

// acknowledge removes the recorded change, as the annotation retry requests.
func acknowledge(d Decision) Decision {
	hold := *d.snap.workload.Hold
	hold.Change = ExternalChange{}
	take := TakeOver{Reason: "the change that was put back is acknowledged", Hold: hold}
	if released := d.snap.record.Resolved; released != nil {
		take.Digest = released.Digest
	}
	return d.do(take)
}

// unsecuring returns the external change for which the native controller rolls, or removes, pods.
func unsecuring(s *snapshot) string { return s.workload.native().Unsecured }
