package plan

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// leave hands the workload back when the release is being deleted.
func leave(s *snapshot) Decision {
	d, w := nothing(s), s.workload
	if reads := ReadWorkload | ReadRelease; w != nil && !d.snap.live(reads) {
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
	if holdStripped(d.snap) {
		return holdAgain(d)
	}
	if there && d.snap.hold().held() && !left && !w.secured() { // the native controller does not wait for routes
		d, _ = d.try(TakeOver{Reason: unpausedReason, Hold: *w.Hold, PutBack: unsecuring(d.snap)})
		return d
	}
	if there && d.snap.hold().held() && left { // its pods get requests by the sides until then
		var gone bool
		if d, gone = letGo(d); !gone {
			return d
		}
	}
	if there && !d.snap.hold().held() && labelled(s) {
		d, _ = letFollowedGo(d, "the release is deleted")
		return d
	}
	if left && slices.Contains(d.snap.release.Finalizers, v1alpha1.Finalizer) {
		d = d.do(Annotate{Reason: "the native controller manages the workload again", Finalizer: new(false)})
	}
	return d
}

// holdAgain restores our annotation.
func holdAgain(d Decision) Decision {
	hold := holdValue(d.snap)
	d, done := d.try(TakeOver{Reason: holdStrippedReason, Hold: hold})
	if done {
		d = recordHold(d, hold)
	}
	return d
}

// holdStripped reports whether another writer removed our annotation from a workload that is
// otherwise as we hold it: left alone, it would stay paused, or keep our strategy. A workload that
// was resumed as well is its users' again.
func holdStripped(s *snapshot) bool {
	w := s.workload
	if asHandedBack(s) {
		return false
	}
	return w != nil && !w.Deleting && w.Hold == nil && s.record.Held != nil && (w.secured() || w.native().Opened && s.hold().strategyIsOurs())
}

// asHandedBack reports whether the workload is as it is when its release ends, even if its own
// strategy is the one with which it was held.
func asHandedBack(s *snapshot) bool {
	return s.workload != nil && s.record.Resolved != nil && s.hold().asGivenBack() && wasHandedBack(s)
}

// letGo hands the workload back as LetGo decides. It reads live before it leaves the workload with
// the template that it has, because the one to restore is unknown. It reports whether that is
// planned.
func letGo(d Decision) (Decision, bool) {
	left := LetGo(d.snap.workload, d.snap.release.Spec.DeletionPolicy, &d.snap.record.BatchReleaseStatus)
	back := HandBack{Reason: "the release is deleted", Hold: *d.snap.workload.Hold}
	back.Hold.HeldWorkload, back.Unfollow = left.HeldWorkload, labelled(d.snap)
	switch {
	case left.Revision == "" && d.snap.empty:
		back.Template, back.Digest = new(templateToWrite(d.snap)), d.snap.record.Resolved.Digest // it has the stable one only as long as it has no pods
	case left.Revision == "":
	case hasTemplate(d.snap, left.Revision):
		back.Template = &Template{Revision: left.Revision}
	case !d.snap.live(ReadKept | ReadCounts):
		return d.read(ReadKept | ReadCounts), false
	}
	return d.try(back)
}

// hasTemplate reports whether the template of a revision is available: it is kept, or the cluster
// has it.
func hasTemplate(s *snapshot, revision string) bool {
	return s.history.of(revision) != nil || s.workload.Mover.Has(revision)
}

// Left holds what a workload gets that is handed back.
type Left struct {
	v1alpha1.HeldWorkload
	// Revision is the one whose template it gets; empty if it keeps the template that it has, as it
	// does if none of the revision is left.
	Revision string
}

// LetGo decides what a held workload gets when its release goes away, for all code that hands one
// back. The rest of a release is not approved, so by default the pods go back to the stable
// version. From a recorded rollback they do with any policy: the version that it leaves was to go.
//
// The status is nil if the release is gone. It may be from before the take-over, if the pass that
// took the workload over ended before it wrote the status; then the annotation is newer, which was
// written along with the template.
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

// fallbackRevision returns the revision that the hold names for when the release is gone without a
// trace; empty if the workload is to keep what it has.
func fallbackRevision(s *snapshot) string {
	switch {
	case s.record.isRollback():
		return s.record.RolledBackTo()
	case s.release.Spec.DeletionPolicy == v1alpha1.DeletionProceed:
		return ""
	default:
		return s.record.StableRevision
	}
}
