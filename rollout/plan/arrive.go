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
	switch w := d.Workload; {
	case !d.held():
		d, _ = leaveTraffic(d, traffic.Rest)
		return watchDrift(sweepGates(d))
	case !d.Live.Has(ReadRelease):
		return d.read(ReadRelease)
	case d.unrecorded():
		return proceed(takeBack(d))
	default:
		return d.do(HandBack{Reason: "the release is completed", Hold: w.leftover()})
	}
}

// takeBack goes back from a release that a pass began without ever writing the status, and whose
// template Git has taken back since: it may have pods already.
func takeBack(d Decision) Decision {
	return begin(d, *d.record.Resolved, &v1alpha1.RollbackRecord{
		Trigger: v1alpha1.TriggerGitRevert, From: d.Workload.Revision, Message: "spec.template changed back before the release was on record",
	})
}

// sweepGates deletes the gates of earlier attempts, whose deletion may have been refused, what nobody decides any more, and what
// passes that died on lagging caches have overlooked: otherwise people would give an approval that counts for nothing.
func sweepGates(d Decision) Decision {
	for _, gate := range d.Gates {
		void, last := gate.Spec.Attempt < d.record.Attempt, gate.Spec.Attempt == d.record.Attempt
		over := void || last && gate.Status.Decision != v1alpha1.DecisionPassed
		switch {
		case !over || gate.DeletionTimestamp != nil:
		case !d.Live.Has(ReadGates):
			return d.read(ReadGates)
		default:
			d = d.do(CloseGate{Reason: "the release is completed", Name: gate.Name})
		}
	}
	return d
}

// leftover is what a workload gets back when its release is completed. If it is free it is not taken over: kubectl rollout undo
// has brought our annotation back, which the native controller had copied, and it is outdated.
func (w *Workload) leftover() Hold {
	hold := *w.Hold
	if native := w.native(); native.Free {
		hold.HeldWorkload = native.Own
	}
	return hold
}

// arrives reports whether the workload runs the template under the native controller. One
// that is secured in the middle of it has lost our annotation.
func (l *look) arrives() bool {
	w := l.Workload
	return w.Hold == nil && w.Digest == l.record.Resolved.Digest && (l.record.Held == nil || l.handedBack()) &&
		!(w.secured() && l.oldReplicas() > 0)
}

// adopts reports whether the workload came to the template without Sluice: it was never taken over for it.
func (l *look) adopts() bool { return l.record.Held == nil && !l.isRollback() && l.arrives() }

// mayAdopt reports whether nobody has been told yet that the attempt is a release of Sluice's own: one that is on record as such stays so, and
// completes like any other where somebody else brings the template.
func (l *look) mayAdopt() bool {
	stored := &l.Release.Status
	return l.record.Attempt != stored.Attempt || stored.Adopted
}

// arrival is how far it does.
func (l *look) arrival() Arrival {
	switch {
	case l.pods.Unseen:
		return Unseen
	case l.nativeRollout():
		return NativeRollout
	default:
		return Arrived
	}
}

// arrive completes a release whose template the workload runs under the native controller.
func arrive(d Decision, at Arrival) Decision {
	d, _ = leaveTraffic(d, traffic.Leave)
	switch at {
	case Unseen:
		return d
	case NativeRollout:
		return count(d).with(func(r *record) { r.Replicas = d.Workload.Replicas })
	case Arrived:
	}
	reads := ReadWorkload
	if d.record.Phase == v1alpha1.PhaseFinalizing { // it was handed back with this template: what became of it since is another matter
		reads = 0
	}
	if len(d.undecided()) > 0 {
		reads |= ReadGates
	}
	if !d.Live.Has(reads) {
		return d.read(reads)
	}
	d, restored := restoreCosts(nameAsNative(d), "the release is completed")
	if !restored {
		return d
	}
	d, recorded := recordStable(d)
	d, marked := markRolledBack(d, d.Workload.Revision)
	d, stable := markStable(d, d.Workload.Revision)
	if !recorded || !marked || !stable {
		return d // what a rollback would go back to is not known yet
	}
	d = forgetOldTemplates(d)
	d = closeGates(d, "the release is completed")
	return complete(closeUndecided(d, "the release is completed"))
}

// nameAsNative takes the name that the native controller gave the template. It may differ from the one
// that was computed before there was a ReplicaSet: the hash is over all fields that a version of Kubernetes knows.
func nameAsNative(d Decision) Decision {
	if d.isRollback() {
		return d
	}
	resolved := *d.record.Resolved
	resolved.Revision = d.Workload.Revision
	return d.with(func(r *record) { r.UpdateRevision, r.Resolved = resolved.Revision, &resolved })
}

// handedBack reports whether we ended a hold that is gone, and not somebody else
// in the middle of the release.
func (l *look) handedBack() bool {
	if l.record.Phase == v1alpha1.PhaseFinalizing {
		return !l.strategyIsOurs()
	}
	return l.lastStep() && l.share().all() && l.allUpdated()
}

// allUpdated reports whether the workload is as it is when it is handed back in the end.
func (l *look) allUpdated() bool {
	w, updated := l.Workload, l.pods.Updated
	return updated.Known && updated.Wanted == w.Replicas && l.oldReplicas() == 0 &&
		w.Digest == l.record.Resolved.Digest && (l.asGivenBack() || !w.secured() && !l.strategyIsOurs())
}

// asGivenBack reports whether the workload has what it is to get back. Its user may have chosen what it is held with.
func (l *look) asGivenBack() bool {
	return l.record.Held != nil && l.Workload.Hold == nil && l.Workload.native().Own == *l.record.Held
}

// strategyIsOurs reports whether the workload still has the strategy that it was given when it was taken over.
func (l *look) strategyIsOurs() bool {
	native, held := l.Workload.native(), l.record.Held
	return (native.Ours || native.Opened) && held != nil && native.Own.Strategy != held.Strategy
}

// markStable makes a revision the one to roll back to: last <- current, current <- new. It reports whether that is
// done, or planned.
func markStable(d Decision, revision string) (Decision, bool) {
	current := d.Release.Annotations[v1alpha1.CurrentStableAnnotation]
	if current == revision {
		return d, true
	}
	change := Annotate{
		Reason: Reason("revision " + revision + " is stable"),
		Set:    map[string]string{v1alpha1.CurrentStableAnnotation: revision},
	}
	return d.try(change.withLast(d.lastStable(current, revision), d.Release.Annotations))
}

// withLast names the last stable revision too, or takes its name away if there is none.
func (a Annotate) withLast(last string, annotations map[string]string) Annotate {
	if _, had := annotations[v1alpha1.LastStableAnnotation]; last == "" && had {
		a.Remove = append(a.Remove, v1alpha1.LastStableAnnotation)
	}
	if last != "" {
		a.Set[v1alpha1.LastStableAnnotation] = last
	}
	return a
}

// lastStable is the revision before the one that becomes stable. After a rollback the bad
// one was never stable to go back to, so it is the one kept before the target; not the bad one
// itself, which is older than the target if somebody had created the workload again from it. So it is where only the
// history knows of the rollback, or of Git's revert, because the status was lost.
func (l *look) lastStable(current, revision string) string {
	bad, target := l.kept(current), l.kept(revision)
	switch {
	case current == revision:
		return l.Release.Annotations[v1alpha1.LastStableAnnotation]
	case !l.isRollback() && (bad == nil || bad.stable() && !target.olderThan(bad)):
		return current
	case target != nil:
		return l.keptBefore(target.Number, current)
	case !l.isRollback(): // it is kept in this very turn
		return l.keptBefore(l.nextNumber(), current)
	default:
		return ""
	}
}

// olderThan reports whether a template was stable before another one was.
func (k *Kept) olderThan(other *Kept) bool { return k != nil && k.stable() && k.Number < other.Number }

// keptBefore is the revision of the newest stable template that is older than a number, apart from a bad one; empty if there is none.
func (l *look) keptBefore(number int64, bad string) string {
	last := Kept{}
	for i := range l.Kept {
		if k := &l.Kept[i]; k.stable() && k.Number < number && k.Number > last.Number && k.Revision != bad {
			last = *k
		}
	}
	return last.Revision
}

func complete(d Decision) Decision {
	steps := int32(len(d.steps()))
	d = d.with(func(r *record) {
		r.Phase, r.CurrentStepState = v1alpha1.PhaseCompleted, v1alpha1.StepCompleted
		if !d.handingBack { // or it is on record already, of the steps that it had
			r.CurrentStepIndex = steps - 1
		}
		r.StepStartedAt = cmp.Or(r.StepStartedAt, d.time())
		r.Gates, r.Answers, r.Progress, r.Held, r.PausePoint, r.Failure, r.Traffic, r.EnteredStep = nil, nil, nil, nil, nil, nil, nil, nil
		r.StableRevision, r.WorkloadUID = r.UpdateRevision, d.Workload.UID
		r.Replicas, r.TargetReplicas = d.Workload.Replicas, d.Workload.Replicas
	})
	return agree(count(d))
}

// maxEnded is how many ended releases a status records.
const maxEnded = 5

// maxSuperseded is how many superseded commits a status records.
const maxSuperseded = 20

// superseded records a commit that another one replaces: nobody need wait for its end.
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
	if !d.completed() {
		return d
	}
	r := &d.record
	ended := v1alpha1.EndedRelease{Commit: r.Commit, Revision: r.UpdateRevision, Replicas: r.Replicas, Forced: r.Forced}
	if r.Rollback != nil {
		ended.Trigger = r.Rollback.Trigger
	}
	all := append(slices.Clone(r.Ended[max(0, len(r.Ended)-maxEnded+1):]), ended)
	return d.with(func(r *record) { r.Ended = all })
}
