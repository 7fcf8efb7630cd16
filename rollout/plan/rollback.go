package plan

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// answerRollback records the rollback that the annotation requests, then removes the annotation.
func answerRollback(d Decision) (Decision, bool) {
	asked, found := d.snap.release.Annotations[v1alpha1.RollbackAnnotation]
	before := asked == Previous
	switch {
	case !found:
		return d, false
	case before && d.snap.ride().wanted:
		if d, refused := refuseRun(d); refused {
			return d, true
		}
	}
	switch {
	case before && d.snap.record.Resolved == nil && rollbackRevision(d.snap) == "":
		return d, false // what is yet to be begun is begun first, so that there is something to turn round
	case before && unkept(d.snap):
		return keepForRollback(d)
	}
	return answerTarget(d, asked)
}

// Previous is the value of the rollback annotation that requests the stable template in a release,
// and the one before after it.
const Previous = "true"

// answerTarget answers a rollback to a target by its name.
func answerTarget(d Decision, asked string) (Decision, bool) {
	target, problem := rollbackTarget(d.snap, asked)
	switch {
	case rollingBackTo(d.snap, target, asked):
		return d.do(Annotate{Reason: "the rollback is recorded", Remove: answered(d.snap.release, v1alpha1.RollbackAnnotation)}), false
	case !d.snap.live(readsToRollBack(d.snap)): // its target asks no gates, and a target that is not found is not looked up again
		return d.read(readsToRollBack(d.snap)), true
	case target == nil:
		d = d.do(Annotate{Reason: Reason(problem.words()), Remove: answered(d.snap.release, v1alpha1.RollbackAnnotation)})
		return d.tell(notFound{problem}), false
	}
	// Whoever asks for it means the tip of Git, too, though it may not have been begun; but not
	// what is known to wait for its turn: it came later, may be what fixes this, and passes its
	// gates.
	if !waitsItsTurn(d.snap) {
		d = quarantine(d, d.snap.given)
	}
	return rollBack(d.snap, target, v1alpha1.RollbackRecord{
		Trigger: v1alpha1.TriggerAnnotation, Message: bounded("rollback=" + asked + " was requested"), By: requestedBy(d.snap.release),
	}), true
}

// readsToRollBack returns the live reads required before a requested rollback. A member must know
// which run it leaves.
func readsToRollBack(s *snapshot) Reads {
	if s.ride().wanted {
		return ReadKept | ReadTrain
	}
	return ReadKept
}

// rollingBackTo reports whether the requested rollback is recorded already.
func rollingBackTo(s *snapshot, target *Kept, asked string) bool {
	if !s.record.rollingBack() {
		return false
	}
	return asked == Previous || target != nil && target.Revision == s.record.RolledBackTo()
}

// isUpdateRevision reports whether a revision, or another of the same template, is the one being
// released. If the workload had the template before, and not all pods ran it, it is the stable one
// too: to roll back to it would be to go on without gates.
func isUpdateRevision(s *snapshot, revision, digest string) bool {
	if revision == "" || s.record.completed() || s.record.isRollback() || s.hold().unrecorded() {
		return false
	}
	return s.record.isOf(revision, digest)
}

// rollbackRevision returns the revision to roll back to: the stable one in a release, the last
// stable one after it. In the first release the status has no stable revision before the take-over
// is recorded.
func rollbackRevision(s *snapshot) string {
	annotations := s.release.Annotations
	switch {
	case s.hold().unrecorded():
		return annotations[v1alpha1.CurrentStableAnnotation]
	case s.record.completed():
		return annotations[v1alpha1.LastStableAnnotation]
	case s.record.StableRevision != "":
		return s.record.StableRevision
	case s.hold().held():
		return annotations[v1alpha1.CurrentStableAnnotation]
	case s.record.Resolved != nil:
		return s.workload.Revision
	default:
		return annotations[v1alpha1.LastStableAnnotation]
	}
}

// unkept reports whether the target of the rollback runs and is not kept: a first release is rolled
// back before its workload is taken over.
func unkept(s *snapshot) bool {
	before := rollbackRevision(s)
	return before == s.workload.Revision && s.record.StableRevision == "" && s.history.stable(before) == nil && !isUpdateRevision(s, before, s.workload.Digest)
}

// keepForRollback keeps what runs. It reports whether that must be done first.
func keepForRollback(d Decision) (Decision, bool) {
	planned := len(d.actions)
	d, kept := keepBefore(d)
	if kept && len(d.actions) == planned {
		return answerTarget(d, Previous)
	}
	return d, true
}

// rollBack makes a rollback durable before anything is done for it. From then on nothing raises the
// bad revision, and its template is not released while no other is given.
func rollBack(s *snapshot, target *Kept, why v1alpha1.RollbackRecord) Decision {
	if why.From = replacedBy(s, target.Revision); s.hold().unrecorded() && s.workload.Revision != target.Revision {
		why.From = s.workload.Revision
	}
	given := s.given
	if current := s.record.Resolved; current != nil && !slices.Contains(s.record.Quarantined, given) {
		given = current.Given
	}
	d := quarantine(nothing(s), given)
	why.Digest = digestKeptOut(d.snap, why.From)
	queued := d.snap.record.Queued
	d = begin(d, v1alpha1.ResolvedTemplate{Given: given, Digest: target.Digest, Revision: target.Revision}, &why)
	if queued != nil && !slices.Contains(d.snap.record.Quarantined, queued.Given) {
		d = d.with(func(r *record) { r.Queued = queued })
	}
	return d.recordFirst(recordLeft(d).actions)
}

// digestKeptOut returns the digest of the template of a revision that a rollback leaves, if that is
// quarantined as given; empty otherwise.
func digestKeptOut(s *snapshot, from string) string {
	current := s.record.Resolved
	switch {
	case s.record.rollingBack():
		return s.record.Rollback.Digest
	case current == nil || s.record.UpdateRevision != from || !slices.Contains(s.record.Quarantined, current.Given):
		return ""
	default:
		return current.Digest
	}
}

// leftRevision returns the revision that a rollback leaves: the one that is, or was last, released.
// A rollback that is sent elsewhere on its way leaves what it left before. A release that has not
// begun has nothing to leave: the version that runs is left.
func leftRevision(s *snapshot) string {
	if s.record.rollingBack() {
		return s.record.Rollback.From
	}
	if runs := s.release.Annotations[v1alpha1.CurrentStableAnnotation]; s.record.Phase == v1alpha1.PhaseInitial && !s.hold().held() && runs != "" {
		return runs
	}
	return cmp.Or(s.record.UpdateRevision, s.workload.Revision)
}

// replacedBy returns the revision that a rollback to another one leaves; empty if unknown. If the
// status was lost after the workload got the template to roll back to, only the history knows it.
func replacedBy(s *snapshot, to string) string {
	if left := leftRevision(s); left != to {
		return left
	}
	if left := s.record.UpdateRevision; left != to {
		return cmp.Or(left, lastLeft(s, to))
	}
	return ""
}

// lastLeft returns the version that a workload had before another one, by the history of a release
// whose status was lost while it held the workload; empty otherwise. That is the named stable one,
// or else the last that was rolled back.
func lastLeft(s *snapshot, revision string) string {
	if !statusLost(s) || !s.hold().held() {
		return ""
	}
	if named := s.history.stable(s.release.Annotations[v1alpha1.CurrentStableAnnotation]); named != nil && named.Revision != revision {
		return named.Revision
	}
	last := Kept{}
	for _, k := range s.history {
		if k.Revision != revision && !k.stable() && k.Number > last.Number {
			last = k
		}
	}
	return last.Revision
}

// quarantine keeps a template, as given, from being released until another one is given.
func quarantine(d Decision, given string) Decision {
	known := d.snap.record.Quarantined
	if given == "" || slices.Contains(known, given) {
		return d
	}
	return d.with(func(r *record) { r.Quarantined = append(slices.Clone(known), given) })
}

// rolledBackBefore reports whether a template is the one that was rolled back, written in another
// way: a quantity, an empty list or the pod-template-hash label makes no other version.
func rolledBackBefore(s *snapshot, template *v1alpha1.ResolvedTemplate) bool {
	back := s.record.Rollback
	return back != nil && back.Digest == template.Digest && len(s.record.Quarantined) > 0 && !startsByTrain(s)
}

// isQuarantined reports whether the given template was rolled back.
func isQuarantined(s *snapshot) bool {
	return slices.Contains(s.record.Quarantined, s.given) && !startsByTrain(s)
}

// startsByTrain reports whether a train lets the given template start. It may have been rolled back
// only because another member failed. That rollback ends first.
func startsByTrain(s *snapshot) bool {
	r := s.ride()
	return r.wanted && !s.record.rollingBack() && r.starts(s.given)
}

// rollBackFailed begins the rollback of a failed release, if its strategy says so, and reports
// whether it does. A rollback that fails has no version to roll back to.
func rollBackFailed(d Decision) (Decision, bool) {
	if d.snap.release.Spec.Strategy.OnFailure != v1alpha1.FailureRollback {
		return d, false
	}
	return turnBack(d, v1alpha1.TriggerDeadline, failureWords(d.snap))
}

// turnBack rolls back to the stable revision without a user's request, and reports whether it does.
// It quarantines only what is being released: a template that was given since may fix it.
func turnBack(d Decision, trigger v1alpha1.RollbackTrigger, message string) (Decision, bool) {
	if isTrain(d.snap) && !d.snap.record.isRollback() {
		return turnTrain(d, v1alpha1.RollbackRecord{Trigger: trigger, Message: bounded(message)}, nil, wholeRun), true
	}
	target := d.snap.history.stable(d.snap.record.StableRevision)
	if d.snap.record.isRollback() || target == nil || target.Revision == d.snap.record.UpdateRevision {
		return d, false
	}
	return rollBack(d.snap, target, v1alpha1.RollbackRecord{Trigger: trigger, Message: bounded(message)}), true
}

// rollBackRejected begins the rollback of a release if a rejected gate of its step says so, and
// reports whether it does.
func rollBackRejected(d Decision) (Decision, bool) {
	if d.snap.record.isRollback() {
		return d, false
	}
	for _, w := range d.snap.gates().waiting() {
		if w.gate == nil || w.gate.Status.Decision != v1alpha1.DecisionRejected || w.policy.OnReject != v1alpha1.RejectRollback {
			continue
		}
		if !d.snap.live(ReadGates) { // it may wait again: a pull request can be opened again
			return d.read(ReadGates), false
		}
		if back, turns := turnBack(d, v1alpha1.TriggerGateRejected, rejectionWords(d.snap, w.gate)); turns {
			return back, true
		}
	}
	return d, false
}

// wasStable reports whether a template may be rolled back to without gates. It may not if the
// rollback in progress leaves it, or has gone past it to an earlier one.
func wasStable(s *snapshot, digest string) bool {
	current, k := s.release.Annotations[v1alpha1.CurrentStableAnnotation], s.history.withDigest(digest)
	if k == nil || !k.stable() {
		return false
	}
	return !s.record.rollingBack() || k.Revision == s.record.RolledBackTo() || k.Revision != leftRevision(s) && k.Revision != current
}

// agree ends the record of a rollback that Git did not request and has followed since, for example
// by the pull request of its revert: Git gives what runs, as after a revert in Git.
func agree(d Decision) Decision {
	back, resolved := d.snap.record.Rollback, d.snap.record.Resolved
	switch {
	case back == nil || back.Trigger == v1alpha1.TriggerGitRevert || back.Trigger == v1alpha1.TriggerDrift:
		return d
	case len(d.snap.record.Quarantined) > 0 || d.snap.given == "" || resolved == nil || resolved.Given != d.snap.given:
		return d
	}
	return recordEnd(d).with(func(r *record) {
		r.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerGitRevert, From: back.From, Message: revertMessage(d.snap)}
		setCommit(d.snap, r)
	})
}

func revertMessage(s *snapshot) string {
	commit := s.release.Annotations[v1alpha1.CommitAnnotation]
	switch {
	case commit == "" && follows(s):
		return "the template that was applied is one that was stable before"
	case commit == "":
		return "spec.template is one that was stable before"
	}
	return "commit " + commit + " brings back a template that was stable before"
}

// endRollback ends a rollback in progress, as another template is released. The version that it was
// going to stays the one to roll back to.
func endRollback(d Decision) Decision {
	if !d.snap.record.rollingBack() {
		return d
	}
	to := d.snap.record.RolledBackTo()
	d = d.with(func(r *record) { r.StableRevision = to })
	d, _ = markRolledBack(d, to)
	d, _ = markStable(d, to)
	return d
}
