package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// leave hands the workload back when the release is being deleted.
func (p *pass) leave() bool {
	if p.Release.DeletionTimestamp == nil {
		return false
	}
	w := p.Workload
	if w != nil && !(w.Live && p.ReleaseLive) {
		p.need(Needs{Workload: !w.Live, Release: !p.ReleaseLive})
		return true
	}
	if w != nil && !w.Deleting && !p.restoreCosts("the release is deleted") {
		return true
	}
	if p.holdStripped() {
		p.do(TakeOver{Reason: holdStrippedReason, Hold: p.holdValue(false)})
		return true
	}
	if w != nil && !w.Deleting && w.heldBy(p.Release) {
		p.do(HandBack{
			Reason:   "the release is deleted",
			Hold:     *w.Hold,
			Template: p.deletionTemplate(),
		})
	}
	if slices.Contains(p.Release.Finalizers, v1alpha1.Finalizer) {
		p.do(Annotate{Reason: "the workload is the native controller's again", Finalizer: new(false)})
	}
	return true
}

// holdStripped reports whether somebody took our annotation off a workload that is otherwise as we
// hold it: left alone it would stay paused for ever. One that they have resumed is theirs.
func (p *pass) holdStripped() bool {
	w := p.Workload
	return w != nil && !w.Deleting && w.Hold == nil && w.secured() && p.status.Held != nil
}

// deletionTemplate is what the workload is left with; nil keeps what it has. A stable template that is
// not kept, as far as is known, is that of the ReplicaSet which runs it.
func (p *pass) deletionTemplate() *Template {
	left := LeftWith(p.Release, &p.status)
	if p.unrecorded() && p.Release.Spec.DeletionPolicy != v1alpha1.DeletionProceed {
		left = p.Workload.Hold.Stable // the status tells of the time before the workload was taken over
	}
	runs := func(s Set) bool { return left != "" && s.Revision == left }
	if p.kept(left) == nil && !slices.ContainsFunc(p.Sets, runs) {
		return nil
	}
	return &Template{Revision: left}
}

// LeftWith is the revision that a workload goes back to whose release goes away now; empty if it
// keeps what it has. Nobody has approved the rest of a release, so by default the pods go back to
// the stable version.
func LeftWith(release *v1alpha1.BatchRelease, status *v1alpha1.BatchReleaseStatus) string {
	forward := status.RollbackTo == "" && status.Phase != v1alpha1.PhaseFinalizing
	if release.Spec.DeletionPolicy == v1alpha1.DeletionProceed || !forward {
		return ""
	}
	return status.StableRevision
}
