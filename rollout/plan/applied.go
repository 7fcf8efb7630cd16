package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A release may follow its workload (spec.follow): others apply the next template to the workload
// itself. A policy, or the manifest, keeps the native controller from rolling it (Contained), and
// Sluice copies it to spec.template. From there it is released like one from Git. While a release
// holds the workload, a template that others apply is the next one; a rollback puts its own back.

const (
	followReason   Reason = "its templates come from whoever applies it"
	unfollowReason Reason = "its templates come from spec.template"
)

// follows reports whether the template comes from the workload.
func follows(s *snapshot) bool { return s.release.Spec.Follow == v1alpha1.FollowWorkload }

// claimsCommit reports whether the applier named the commit: the released template was copied from
// the workload, though the release may follow it no more.
func claimsCommit(s *snapshot) bool { return follows(s) || copiedBefore(s.release, &s.record) }

// copiedBefore reports whether a record's template was the last to be copied from the workload.
func copiedBefore(release *v1alpha1.BatchRelease, r *record) bool {
	copied := release.Annotations[v1alpha1.FollowedAnnotation]
	return copied != "" && r.releases(copied)
}

// labelled reports whether the label names the release: the admission policy acts on the workload.
func labelled(s *snapshot) bool { return s.workload.Follower == s.release.Name }

// unguarded reports whether the policies no longer act on a workload that they did act on. While
// Sluice holds one, that keeps the native controller from rolling, and no applier from writing.
func unguarded(s *snapshot) bool {
	return !absent(s) && follows(s) && labelled(s) && !s.workload.Guarded && (s.hold().held() || !s.workload.native().Contained)
}

// appliedWaits reports whether a template that was applied to a followed workload waits there.
func appliedWaits(s *snapshot) bool { return follows(s) && templateWaits(s) }

// templateWaits reports whether a workload that no release holds has another template than its
// pods, and its native controller is kept from rolling it out.
func templateWaits(s *snapshot) bool {
	w, stable := s.workload, stableRevision(s)
	if w.Hold != nil || !w.native().Contained || stable == "" {
		return false
	}
	return s.pods.old() > 0 || stable != w.Revision && s.pods.updated() < max(w.Replicas, 1)
}

// waitsForNothing reports whether the template that waits is the stable one, and no pod runs
// another: the applier has followed a rollback, or taken a template back.
func waitsForNothing(s *snapshot) bool {
	w := s.workload
	approved := s.record.completed() || stableRevision(s) == w.Revision
	return w.Waiting && w.Hold == nil && s.record.releases(w.Digest) && approved && s.pods.old() == 0
}

// runsAnother reports whether pods of a followed workload run another template than the released
// one, which it has, and its native controller is kept from replacing them: it made them of a
// template that others had applied, for lost ones or while the workload had none.
func runsAnother(s *snapshot) bool {
	w := s.workload
	return follows(s) && w.Waiting && w.Hold == nil && w.Behind == 0 && s.record.completed() && s.record.releases(w.Digest) && s.pods.old() > 0
}

// waitsInVain reports whether the native controller would make the next pod of a followed workload
// of a template that is not released now: it was rolled back, or something stops it. Each time that
// it is applied, it is taken back.
func waitsInVain(s *snapshot) bool {
	w := s.workload
	native := w.native()
	exposed := native.LostTakesTemplate || native.EmptyTakesTemplate && w.Replicas == 0
	return follows(s) && exposed && native.Contained && w.Hold == nil && !s.record.releases(w.Digest) && hasTemplate(s, stableRevision(s))
}

// mayNotFollow reports whether another release names the workload and was created first: two that
// follow one workload would take its label from each other.
func mayNotFollow(s *snapshot) bool { return follows(s) && !labelled(s) && driftOwner(s) != "" }

// followWorkload labels a followed workload, and copies the template that others have applied. It
// reports whether that comes first.
func followWorkload(d Decision) (Decision, bool) {
	switch s := d.snap; {
	case !follows(s):
		return stopFollowing(d)
	case mayNotFollow(s):
		return d, s.record.idle()
	case !labelled(s):
		if d, first := beginFollowing(d); first {
			return d, true
		}
	case unguarded(s):
		var first bool
		if d, first = guardAgain(d); first {
			return d, true
		}
	}
	if d, first := copyApplied(d); first || !waitsForNothing(d.snap) {
		return d, first
	}
	if !d.snap.live(ReadRelease) { // a cache may not show yet that another template was copied
		return d.read(ReadRelease), true
	}
	return d.do(HandBack{Reason: "all pods run the template that was applied", Hold: Hold{HeldWorkload: d.snap.workload.native().Own}}), true
}

// beginFollowing labels the workload. Where no policy acts on the label, a release begins only if
// the manifest keeps the native controller from rolling; one in progress goes on.
func beginFollowing(d Decision) (Decision, bool) {
	s, label := d.snap, Follow{Reason: followReason}
	if known := s.refusal(label); known != nil && known.Unguarded && s.workload.native().Contained {
		return d, false
	}
	if !slices.Contains(s.release.Finalizers, v1alpha1.Finalizer) {
		d = d.do(Annotate{Reason: guardReason, Finalizer: new(true)})
	}
	d, done := d.try(label)
	return d, done || s.record.idle()
}

// guardAgain labels the workload once more, which shows whether policies act on it again. It
// reports whether that comes first.
func guardAgain(d Decision) (Decision, bool) {
	label := Follow{Reason: followReason}
	if known := d.snap.refusal(label); known != nil {
		return d.wakeAt(known.Until, WakeRefused), false
	}
	return d.do(label), true
}

// stopFollowing takes the label off a workload that the release no longer follows, and then the
// note of the template that was copied last: a release that follows again copies the one that runs.
func stopFollowing(d Decision) (Decision, bool) {
	s := d.snap
	switch _, copied := s.release.Annotations[v1alpha1.FollowedAnnotation]; {
	case labelled(s) && !s.hold().held():
		return letFollowedGo(d, unfollowReason)
	case copied && !labelled(s) && s.record.idle(): // until then gates must know that its commit is a claim
		return d.do(Annotate{Reason: unfollowReason, Remove: []string{v1alpha1.FollowedAnnotation}}), true
	default:
		return d, false
	}
}

// letFollowedGo gives a followed workload that no release holds back to its native controller. A
// template that waits is not approved: by default the workload gets the stable one.
func letFollowedGo(d Decision, why Reason) (Decision, bool) {
	s := d.snap
	back := HandBack{Reason: why, Hold: Hold{HeldWorkload: s.workload.native().Own}, Unfollow: true}
	if stable := stableRevision(s); templateWaits(s) && s.release.Spec.DeletionPolicy != v1alpha1.DeletionProceed && hasTemplate(s, stable) {
		back.Template = &Template{Revision: stable}
	}
	return d.do(back), true
}

// copyApplied copies a template that others have applied to the workload. It reports whether there
// is one.
func copyApplied(d Decision) (Decision, bool) {
	applied := appliedTemplate(d.snap)
	if applied == "" {
		return d, false
	}
	d, planned := d.try(CopyTemplate{Reason: Reason("revision " + d.snap.obs.Workload.Revision + " was applied"), Digest: applied})
	if !planned && d.snap.record.completed() { // while that is refused, the native controller may make pods of it
		d = countReleased(d)
	}
	return d, true
}

// appliedTemplate returns the digest of a template that others have applied to the workload and
// that is not in spec.template yet; empty if there is none.
func appliedTemplate(s *snapshot) string {
	w, before := s.obs.Workload, s.release.Annotations[v1alpha1.FollowedAnnotation]
	if w.Digest == before || before != "" && !w.Waiting && (labelled(s) && w.Guarded || givenBySluice(s)) {
		return ""
	}
	return w.Digest
}

// givenBySluice reports whether Sluice has given the workload its template: one that it has put
// back, or the stable one of a workload without pods.
func givenBySluice(s *snapshot) bool {
	w := s.obs.Workload
	back := s.record.releases(w.Digest) && (s.record.isRollback() || w.Hold == nil)
	return back || s.hold().held() && w.Hold.Emptied && (s.empty || runsStable(s))
}
