package plan

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// mustWait reports whether a new template can't be released now. A template to roll back to never
// waits, nor does one that a pass took the workload over for before it recorded it, nor one whose
// predecessor is lost.
func mustWait(s *snapshot, template *v1alpha1.ResolvedTemplate) bool {
	byTrain := !s.ride().starts(template.Given)
	if !stopCauses(s).any() && !finishesFirst(s) && !byTrain || s.record.releases(template.Digest) || returns(s, template) && !byTrain {
		return false
	}
	held := s.hold().held()
	return !held || s.workload.Digest != template.Digest && !templateMissing(s)
}

// finishesFirst reports whether an attempt is in progress that a new template does not supersede.
// One that can't go on by itself, failed or rejected, does not delay what may fix it, and a release
// that has not begun is superseded.
func finishesFirst(s *snapshot) bool {
	phase := s.record.Phase
	under := phase == v1alpha1.PhaseRollingUpdate || phase == v1alpha1.PhaseRollingBack || phase == v1alpha1.PhaseFinalizing
	return queues(s) && under && (s.record.entered() || s.record.isRollback()) && !s.gates().rejected() && s.gates().rejectedGuard() == nil
}

// queues reports whether a new template waits for the end of the attempt: the strategy says so, or
// pods with places of their own would keep the version alive that is being rolled back.
func queues(s *snapshot) bool {
	inPlaces := s.workload != nil && s.record.rollingBack() && s.workload.native().InPlaces
	return inPlaces || s.release.Spec.Strategy.Supersede == v1alpha1.SupersedeQueue
}

// waitsItsTurn reports whether the given template is recorded as the one after this release.
func waitsItsTurn(s *snapshot) bool {
	queued := s.record.Queued
	return queues(s) && queued != nil && queued.Given == s.given
}

// readsBeforeRollback returns the live reads required before a template may skip its gates as a
// rollback: a cache may show it as stable although it has been rolled back since.
func readsBeforeRollback(s *snapshot, template *v1alpha1.ResolvedTemplate) Reads {
	if s.record.releases(template.Digest) || !returns(s, template) {
		return 0
	}
	return ReadKept
}

// returns reports whether a template is one that was stable before, brought back by a revert in
// Git.
func returns(s *snapshot, template *v1alpha1.ResolvedTemplate) bool {
	known := wasStable(s, template.Digest)
	// A workload that is taken over has the template since an earlier, unfinished pass of ours.
	return known && (s.workload.Digest != template.Digest || s.hold().held() || appliedWaits(s))
}

// readsBeforeReplacing returns the live reads required before the template of a held workload is
// replaced: whether a template is lost, or the new one written already, must not rest on a cache.
func readsBeforeReplacing(s *snapshot) Reads {
	current := s.record.Resolved
	if !stopCauses(s).any() && !finishesFirst(s) && !s.ride().wanted || !s.hold().held() || current != nil && s.workload.Digest == current.Digest {
		return 0
	}
	return ReadWorkload | ReadCounts
}

// templateMissing reports whether no object in the cluster has the release's template: another
// writer replaced it on the workload before any pod ran it.
func templateMissing(s *snapshot) bool {
	revision := s.record.UpdateRevision
	if s.record.Resolved == nil || s.workload.Digest == s.record.Resolved.Digest || s.history.of(revision) != nil {
		return false
	}
	return !s.workload.Mover.Has(revision)
}

// waitingTemplate returns the given template as it is queued, or as it was resolved in this pass;
// nil if it is neither.
func waitingTemplate(s *snapshot) *v1alpha1.ResolvedTemplate {
	switch queued := s.record.Queued; {
	case queued != nil && queued.Given == s.given:
		return &queued.ResolvedTemplate
	case s.obs.Resolved != nil && s.obs.Resolved.Given == s.given && s.obs.Resolved.Refused == "":
		return &s.obs.Resolved.ResolvedTemplate
	default:
		return nil
	}
}

// enqueue records that a template waits. Only the newest waits.
func enqueue(d Decision, template v1alpha1.ResolvedTemplate) Decision {
	if queued := d.snap.record.Queued; queued != nil && queued.Given == template.Given {
		return d
	}
	return d.with(func(r *record) {
		r.Queued = &v1alpha1.QueuedTemplate{
			ResolvedTemplate: template,
			Commit:           d.snap.release.Annotations[v1alpha1.CommitAnnotation],
			Since:            *d.snap.time(),
		}
	})
}

// prepareToBegin makes sure that the release of a template may begin on a workload that is held:
// its mover's writes come before anything shows the release. It reports whether that is so. Until
// then the template is queued.
func prepareToBegin(d Decision, template *v1alpha1.ResolvedTemplate) (Decision, bool) {
	if w := d.snap.workload; !d.snap.hold().held() || !w.secured() || w.Replicas == 0 || returns(d.snap, template) {
		return d, true
	}
	writes, awaited := d.snap.workload.Mover.Prepare(beginningOf(d.snap, template))
	if len(writes) > 0 && nativeMayAct(d.snap) {
		writes, awaited = nil, v1alpha1.AwaitedNativeController
	}
	if awaited != "" {
		d = await(d, template, awaited)
	}
	switch reads := ReadWorkload | ReadCounts | ReadRelease; {
	case len(writes) == 0:
		return d, awaited == ""
	case !d.snap.live(reads):
		return d.read(reads), false
	}
	return failIfRefused(d.do(moveActions(d.snap, writes)...)), false
}

// prepareQueued prepares the begin of a template that waits after the release before it has
// completed.
func prepareQueued(d Decision, waiting *v1alpha1.ResolvedTemplate) (Decision, bool) {
	if waiting == nil || d.snap.record.Queued == nil || !d.snap.record.completed() || d.snap.record.releases(waiting.Digest) {
		return d, true
	}
	return prepareToBegin(d, waiting)
}

// beginningOf returns the start of the release of a template.
func beginningOf(s *snapshot, template *v1alpha1.ResolvedTemplate) mover.Beginning {
	b := mover.Beginning{
		Template: template.Digest, Digest: s.workload.Digest, Stable: stableRevision(s),
		Replicas: s.workload.Replicas, Bounds: s.steps().bounds(), Mode: mover.Mode{AwaitTermination: awaitsTermination(s)},
	}
	if s.record.rollingBack() {
		b.Stable, b.Left = s.record.RolledBackTo(), leftRevision(s)
	}
	b.AtHand = s.empty || s.workload.Revision == b.Stable
	return b
}

// await records that a template waits for something on the workload, and runs the progress
// deadline. Nothing can fail or be rolled back yet: once the deadline is over it is reported, and
// the release still begins when it can.
func await(d Decision, template *v1alpha1.ResolvedTemplate, awaited v1alpha1.Awaited) Decision {
	d = enqueue(d, *template)
	queued := *d.snap.record.Queued
	queued.Awaits = awaited
	before, deadline := d.snap.release.Status.Queued, progressDeadline(d.snap)
	waited := time.Duration(0)
	if queueMark(&d.snap.release.Status) != (mark{}) && before.Given == queued.Given {
		waited, queued.WaitedSeconds = addWatched(d.snap, d.snap.obs.Watched.Queue, before.WaitedSeconds)
	}
	d, late := overdue(d, waited)
	if late {
		queued.WaitedSeconds = int32(deadline / time.Second)
	}
	return d.with(func(r *record) { r.Queued = &queued })
}

// notAwaiting returns a queued template without what it awaits, which each pass finds out by
// itself.
func notAwaiting(queued *v1alpha1.QueuedTemplate) *v1alpha1.QueuedTemplate {
	if queued == nil || queued.Awaits == "" {
		return queued
	}
	waits := *queued
	waits.Awaits, waits.WaitedSeconds = "", 0
	return &waits
}

// awaitsWorkload reports whether a template waits for something on the workload.
func awaitsWorkload(s *snapshot) bool { return s.record.Queued != nil && s.record.Queued.Awaits != "" }

// preparedLate reports whether a template has waited for as long as the progress deadline.
func preparedLate(s *snapshot) bool {
	return time.Duration(s.record.Queued.WaitedSeconds)*time.Second >= progressDeadline(s)
}
