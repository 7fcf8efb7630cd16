package plan

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// rest leaves a completed release alone.
func rest(d Decision) Decision {
	d = agree(d)
	switch w := d.snap.workload; {
	case runsAnother(d.snap) && !d.snap.live(ReadWorkload|ReadRelease|ReadCounts):
		return d.read(ReadWorkload | ReadRelease | ReadCounts)
	case runsAnother(d.snap):
		return proceed(takeBack(d))
	case waitsInVain(d.snap):
		return d.do(HandBack{
			Reason: Reason("its next pod is of the stable revision " + stableRevision(d.snap)), Hold: Hold{HeldWorkload: w.native().Own},
			Template: &Template{Revision: stableRevision(d.snap)},
		})
	case !d.snap.hold().held():
		d, _ = leaveTraffic(d, traffic.Rest)
		return watchDrift(sweepGates(d))
	case !d.snap.live(ReadRelease):
		return d.read(ReadRelease)
	case d.snap.hold().unrecorded(), (follows(d.snap) || goesBackUnrecorded(d.snap)) && d.snap.pods.old() > 0:
		return proceed(takeBack(d))
	default:
		return d.do(HandBack{Reason: "the release is completed", Hold: w.leftover()})
	}
}

// goesBackUnrecorded reports whether a pass took the workload back to the template of a completed
// release, from one whose begin was never recorded, and ended before it recorded that.
func goesBackUnrecorded(s *snapshot) bool {
	return s.record.Queued == nil && s.workload.Hold.Stable == s.record.UpdateRevision
}

// takeBack rolls back a release whose begin a pass never recorded, and whose template Git has taken
// back since. It may have pods already.
func takeBack(d Decision) Decision {
	from := d.snap.workload.Revision
	if from == d.snap.record.UpdateRevision { // whoever applies the workload has taken it back there
		from = ""
	}
	return begin(d, *d.snap.record.Resolved, &v1alpha1.RollbackRecord{
		Trigger: v1alpha1.TriggerGitRevert, From: from, Message: "spec.template changed back before the release was on record",
	})
}

// sweepGates deletes the gates of earlier attempts, and undecided ones: an approval would count for
// nothing. A refused deletion, a pass on a lagging cache, or a process that died before it wrote
// the status of a next attempt may have left them.
func sweepGates(d Decision) Decision {
	for _, gate := range d.snap.obs.Gates {
		over := gate.Spec.Attempt < d.snap.record.Attempt || gate.Status.Decision != v1alpha1.DecisionPassed && !gate.IsGuard()
		reads := ReadGates
		if gate.Spec.Attempt > d.snap.record.Attempt { // or the cache has the release as it was before it
			reads |= ReadRelease
		}
		switch {
		case !over || gate.DeletionTimestamp != nil:
		case !d.snap.live(reads):
			return d.read(reads)
		default:
			d = d.do(CloseGate{Reason: "the release is completed", Name: gate.Name})
		}
	}
	return d
}

// leftover returns what to restore on the workload of a completed release. A workload that is free
// is not taken over: kubectl rollout undo brought our annotation back, which the native controller
// had copied.
func (w *Workload) leftover() Hold {
	hold := *w.Hold
	if native := w.native(); native.Free {
		hold.HeldWorkload = native.Own
	}
	return hold
}

// runsUnderNative reports whether the native controller runs the release's template. A workload
// that is secured in the middle of its rollout has lost our annotation.
func runsUnderNative(s *snapshot) bool {
	w := s.workload
	return w.Hold == nil && w.Digest == s.record.Resolved.Digest && (s.record.Held == nil || wasHandedBack(s)) &&
		!(w.secured() && s.pods.old() > 0) && !appliedWaits(s)
}

// adopts reports whether the workload came to the template without a take-over.
func adopts(s *snapshot) bool {
	return s.record.Held == nil && !s.record.isRollback() && runsUnderNative(s)
}

// canAdopt reports whether the stored status does not yet present the attempt as a release of
// Sluice. One that it does completes like any other if another writer brings the template.
func canAdopt(s *snapshot) bool {
	stored := &s.release.Status
	return s.record.Attempt != stored.Attempt || stored.Adopted
}

// followNativeRollout counts the pods while the native controller rolls the template out.
func followNativeRollout(d Decision) Decision {
	d = leaveRoutes(d)
	return count(d).with(func(r *record) { r.Replicas = d.snap.workload.Replicas })
}

// arrive completes a release whose template all pods run under the native controller.
func arrive(d Decision) Decision {
	d = leaveRoutes(d)
	reads := ReadWorkload
	if d.snap.record.Phase == v1alpha1.PhaseFinalizing { // it was handed back with this template: what became of it since is another matter
		reads = 0
	}
	if len(d.snap.gates().undecided()) > 0 {
		reads |= ReadGates
	}
	if !d.snap.live(reads) {
		return d.read(reads)
	}
	d, restored := restoreCosts(d, "the release is completed")
	if !restored {
		return d
	}
	d, recorded := recordStable(d)
	d, marked := markRolledBack(d, d.snap.workload.Revision)
	d, stable := markStable(d, d.snap.workload.Revision)
	if !recorded || !marked || !stable {
		return d // what a rollback would go back to is not known yet
	}
	d = forgetOldTemplates(d)
	d = closeGates(d, "the release is completed")
	return complete(closeUndecided(nameAsNative(d), "the release is completed"))
}

// nameAsNative records the revision that the native controller gave the template. It may differ
// from the one computed before there was a ReplicaSet: the hash covers all fields that a version of
// Kubernetes knows.
func nameAsNative(d Decision) Decision {
	resolved := *d.snap.record.Resolved
	resolved.Revision = d.snap.workload.Revision
	return d.with(func(r *record) { r.UpdateRevision, r.Resolved = resolved.Revision, &resolved })
}

// wasHandedBack reports whether a hold that is gone was ended by us, and not by another writer in
// the middle of the release.
func wasHandedBack(s *snapshot) bool {
	switch finalizing := s.record.Phase == v1alpha1.PhaseFinalizing; {
	case finalizing && s.hold().strategyStays():
		return s.hold().asGivenBack() // only the pause tells
	case finalizing:
		return !s.hold().strategyIsOurs()
	}
	return throughSteps(s) && allUpdated(s)
}

// throughSteps reports whether only gates that have passed, or none, are left before the last step,
// which is of all pods. The status may be about an earlier step.
func throughSteps(s *snapshot) bool {
	steps := s.steps()
	if steps.last() || steps.unreadable() {
		return steps.last() && steps.share().all()
	}
	last := int32(len(steps.list())) - 1
	for step := steps.index(); step < last; step++ {
		if !s.gates().passedAt(step) {
			return false
		}
	}
	return steps.shareOf(last).all()
}

// allUpdated reports whether all pods are updated and the workload has all that it gets back at the
// end.
func allUpdated(s *snapshot) bool {
	w, updated := s.workload, s.pods.Updated
	return updated.Known && updated.Wanted == w.Replicas && s.pods.old() == 0 &&
		w.Digest == s.record.Resolved.Digest && (s.hold().asGivenBack() || !w.secured() && !s.hold().strategyIsOurs())
}

// markStable makes a revision the one to roll back to: last <- current, current <- new. It reports
// whether that is done, or planned.
func markStable(d Decision, revision string) (Decision, bool) {
	current := d.snap.release.Annotations[v1alpha1.CurrentStableAnnotation]
	if current == revision {
		return d, true
	}
	change := Annotate{
		Reason: Reason("revision " + revision + " is stable"),
		Set:    map[string]string{v1alpha1.CurrentStableAnnotation: revision},
	}
	return d.try(change.withLast(lastStable(d.snap, current, revision), d.snap.release.Annotations))
}

// withLast adds the last stable revision to a change, or removes its annotation if there is none.
func (a Annotate) withLast(last string, annotations map[string]string) Annotate {
	if _, had := annotations[v1alpha1.LastStableAnnotation]; last == "" && had {
		a.Remove = append(a.Remove, v1alpha1.LastStableAnnotation)
	}
	if last != "" {
		a.Set[v1alpha1.LastStableAnnotation] = last
	}
	return a
}

// lastStable returns the revision before the one that becomes stable. After a rollback that is the
// newest one kept before the target, and never the revision that was rolled back, even if only the
// history knows of the rollback because the status was lost.
func lastStable(s *snapshot, current, revision string) string {
	bad, target := s.history.of(current), s.history.of(revision)
	switch {
	case current == revision:
		return s.release.Annotations[v1alpha1.LastStableAnnotation]
	case !s.record.isRollback() && (bad == nil || bad.stable() && !target.olderThan(bad)):
		return current
	case target != nil:
		return s.history.stableBefore(target.Number, current)
	case !s.record.isRollback(): // it is kept in this very turn
		return s.history.stableBefore(s.history.nextNumber(), current)
	default:
		return ""
	}
}

// complete records that all pods run the revision.
func complete(d Decision) Decision {
	steps := int32(len(d.snap.steps().list()))
	d = d.with(func(r *record) {
		r.Phase, r.CurrentStepState = v1alpha1.PhaseCompleted, v1alpha1.StepCompleted
		if !d.snap.handingBack { // or it is on record already, of the steps that it had
			r.CurrentStepIndex = steps - 1
		}
		r.StepStartedAt = cmp.Or(r.StepStartedAt, d.snap.time())
		r.Gates, r.Answers, r.Progress, r.Held, r.PausePoint, r.Failure, r.Traffic, r.EnteredStep = nil, nil, nil, nil, nil, nil, nil, nil
		r.StableRevision, r.WorkloadUID = r.UpdateRevision, d.snap.workload.UID
		r.Replicas, r.TargetReplicas = d.snap.workload.Replicas, d.snap.workload.Replicas
	})
	return agree(count(d))
}

// maxEnded limits the ended releases of a status.
const maxEnded = 5

// maxSuperseded limits the superseded commits of a status.
const maxSuperseded = 20

// superseded returns the superseded commits, with that of the record before if another commit
// replaces it in mid-release.
func superseded(r, before *record) []string {
	over := before.Phase == "" || before.Phase == v1alpha1.PhaseCompleted
	if before.Commit == "" || before.Commit == r.Commit || over {
		return r.Superseded
	}
	kept := r.Superseded[max(0, len(r.Superseded)-maxSuperseded+1):]
	return append(slices.Clone(kept), before.Commit)
}

// recordEnd records how the previous release ended: the status will soon be about another one.
func recordEnd(d Decision) Decision {
	if !d.snap.record.completed() {
		return d
	}
	r := &d.snap.record
	ended := v1alpha1.EndedRelease{Commit: r.Commit, Revision: r.UpdateRevision, Replicas: r.Replicas, Forced: r.Forced}
	if r.Run != nil {
		ended.ApprovedBy = r.Run.ApprovedBy
	}
	if r.Rollback != nil {
		ended.Trigger = r.Rollback.Trigger
	}
	all := append(slices.Clone(r.Ended[max(0, len(r.Ended)-maxEnded+1):]), ended)
	return d.with(func(r *record) { r.Ended = all })
}

// nativeRollout reports whether the workload has the template without our doing, and not all of its
// pods run it: the native controller rolls it out, or the workload was paused on the way. Such a
// template is none to roll back to yet. A workload that we handed back has completed, unless the
// native controller has begun another rollout since.
func nativeRollout(s *snapshot) bool {
	ours, left := s.record.Held != nil, s.pods.Others.Most
	if ours {
		left = s.pods.Others.Wanted
	}
	return s.workload.Replicas > 0 && (left > 0 || !ours && s.pods.updated() == 0)
}
