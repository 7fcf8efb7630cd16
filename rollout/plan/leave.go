package plan

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// leave hands the workload back when the release is being deleted.
func leave(l *look) Decision {
	d, w := nothing(l), l.Workload
	if reads := ReadWorkload | ReadRelease; w != nil && !d.Live.Has(reads) {
		return d.read(reads)
	}
	there := w != nil && !w.Deleting
	if there {
		var restored bool
		if d, restored = restoreCosts(d, "the release is deleted"); !restored {
			return d
		}
	}
	d, left := leaveTraffic(d, traffic.Leave)
	if d.holdStripped() {
		return holdAgain(d)
	}
	if there && d.held() && !left && !w.secured() { // the native controller does not wait for routes
		d, _ = d.try(TakeOver{Reason: unpausedReason, Hold: *w.Hold, PutBack: d.unsecuring()})
		return d
	}
	if there && d.held() && left { // its pods get requests by the sides until then
		var gone bool
		if d, gone = letGo(d); !gone {
			return d
		}
	}
	if left && slices.Contains(d.Release.Finalizers, v1alpha1.Finalizer) {
		d = d.do(Annotate{Reason: "the native controller manages the workload again", Finalizer: new(false)})
	}
	return d
}

// goesAway reports whether the release is being deleted.
func (l *look) goesAway() bool { return l.Release.DeletionTimestamp != nil }

// holdAgain puts our annotation back.
func holdAgain(d Decision) Decision {
	hold := d.holdValue()
	d, done := d.try(TakeOver{Reason: holdStrippedReason, Hold: hold})
	if done {
		d = took(d, hold)
	}
	return d
}

// holdStripped reports whether somebody took our annotation off a workload that is otherwise as we
// hold it, or move its pods: left alone it would stay paused, or with our strategy, for ever. One that they have resumed is theirs.
func (l *look) holdStripped() bool {
	w := l.Workload
	if l.asHandedBack() {
		return false
	}
	return w != nil && !w.Deleting && w.Hold == nil && l.record.Held != nil && (w.secured() || w.native().Opened && l.strategyIsOurs())
}

// asHandedBack reports whether the workload is as it is when its release ends, also where its strategy is the one with which it was held.
func (l *look) asHandedBack() bool {
	return l.Workload != nil && l.record.Resolved != nil && l.asGivenBack() && l.handedBack()
}

// letGo hands the workload back as LetGo decides. An unknown template is looked up live before the
// workload is left with the one that it has. It reports whether that is planned.
func letGo(d Decision) (Decision, bool) {
	left := LetGo(d.Workload, d.Release.Spec.DeletionPolicy, &d.record)
	back := HandBack{Reason: "the release is deleted", Hold: *d.Workload.Hold}
	back.Hold.HeldWorkload = left.HeldWorkload
	switch {
	case left.Revision == "" && d.empty:
		back.Template, back.Digest = new(d.template()), d.record.Resolved.Digest // it has the stable one only as long as it has no pods
	case left.Revision == "":
	case d.hasTemplate(left.Revision):
		back.Template = &Template{Revision: left.Revision}
	case !d.Live.Has(ReadKept | ReadCounts):
		return d.read(ReadKept | ReadCounts), false
	}
	return d.try(back)
}

// hasTemplate reports whether the template of a revision is available: it is kept, or the cluster has it.
func (l *look) hasTemplate(revision string) bool {
	return l.kept(revision) != nil || l.Workload.Mover.Has(revision)
}

// Left is what a workload gets that is handed back.
type Left struct {
	v1alpha1.HeldWorkload
	// Revision is the one whose template it gets; empty if it keeps the template that it has, as it does if none of
	// the revision is left.
	Revision string
}

// LetGo decides what a held workload gets when its release goes away, for all code that hands one back. Nobody has approved
// the rest of a release, so by default the pods go back to the stable version; from a rollback that is on record they do
// whatever the policy: the version that the rollback leaves was to go.
//
// The status is nil if the release is gone. It may be from before the take-over, if the pass that took
// the workload over died before it wrote the status; then the annotation is newer, which was written along with the template.
func LetGo(w *Workload, policy v1alpha1.DeletionPolicy, status *v1alpha1.BatchReleaseStatus) Left {
	var hold Hold
	if w.Hold != nil {
		hold = *w.Hold
	}
	left := Left{HeldWorkload: hold.HeldWorkload}
	if status == nil || status.WorkloadUID != "" && status.WorkloadUID != w.UID {
		status = &v1alpha1.BatchReleaseStatus{}
	}
	recorded := status.Held != nil && status.Resolved != nil && status.Phase != v1alpha1.PhaseCompleted
	switch {
	case status.Rollback != nil && status.Phase != v1alpha1.PhaseCompleted:
		if status.Resolved == nil || w.Digest != status.Resolved.Digest {
			left.Revision = status.RolledBackTo()
		}
	case !recorded && w.native().Free: // somebody has taken it back, and left the annotation
		left.HeldWorkload = w.native().Own
	case policy == v1alpha1.DeletionProceed:
	case !recorded:
		left.Revision = hold.Stable
	case status.Phase == v1alpha1.PhaseFinalizing && w.Digest == status.Resolved.Digest:
	default:
		left.Revision = cmp.Or(status.StableRevision, hold.Stable)
	}
	return left
}

// goesBackTo is the revision that the annotation names, for when the release is gone without a trace; empty if the workload
// is to keep what it has.
func (l *look) goesBackTo() string {
	switch {
	case l.isRollback():
		return l.record.RolledBackTo()
	case l.Release.Spec.DeletionPolicy == v1alpha1.DeletionProceed:
		return ""
	default:
		return l.record.StableRevision
	}
}
