package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// rescaling reports whether spec.replicas differs from the record. It stays so until the pods
// conform to the new number, so that the next pass, for example after a crash, knows why there are
// more updated pods, or fewer old ones, than the step says. If the status was lost that began the
// next step, spec.replicas is the same.
func rescaling(s *snapshot) bool { return s.record.Replicas != s.workload.Replicas }

// hasGrown reports whether spec.replicas is more than the record says.
func hasGrown(s *snapshot) bool { return s.workload.Replicas > s.record.Replicas }

// follow sets the target for the present spec.replicas, and records it once the pods conform. While
// the steps are invalid it never raises the target, and the record keeps what the step was entered
// with: the release goes on from there once they are fixed.
func follow(d Decision) (Decision, mover.Task) {
	replicas, unreadable := d.snap.workload.Replicas, d.snap.steps().unreadable()
	if !unreadable && d.snap.record.EnteredStep == nil && d.snap.steps().last() && !rescaling(d.snap) && d.snap.record.TargetReplicas < replicas {
		d = enterStep(d, d.snap.steps().index()) // steps were taken out: this is the last one now
	}
	target := followed(d.snap, unreadable)
	if !unreadable && (!rescaling(d.snap) || d.snap.pods.Final || conforms(d.snap, target)) {
		d = d.with(func(r *record) { r.TargetReplicas, r.Replicas = target, replicas })
	}
	return d, taskOf(d.snap, target)
}

// followed returns the target for the present spec.replicas.
func followed(s *snapshot, unreadable bool) int32 {
	replicas, target := s.workload.Replicas, s.record.TargetReplicas
	if rescaling(s) {
		target = s.steps().rescaled()
	}
	if unreadable && !s.steps().share().all() {
		target = min(target, s.record.TargetReplicas)
	}
	target = max(target, extraUpdated(s))
	// A step that was made smaller meanwhile holds for the pods that are not made yet.
	target = min(target, max(s.steps().share().entered(replicas), s.pods.updated()))
	return max(target, minUpdated(s))
}

// extraUpdated returns how many updated pods above the step's share stay after a scale-up, because
// no old pod had replaced them before: the step was entered with as many as spec.replicas, and the
// record has 0 replicas (enterStep). If the native controller has made more of a lone version (T1),
// only what the step says stays.
func extraUpdated(s *snapshot) int32 {
	if s.record.Replicas != 0 || s.pods.Final || s.record.isRollback() || s.steps().steppingBack() {
		return 0
	}
	return min(s.pods.updated(), s.record.TargetReplicas+1, s.steps().share().most(s.workload.Replicas))
}

// minUpdated returns how many updated pods exist that no step can take back. If no other version is
// left, those are all that there are, unless they exceed the steps, which is reported (beyondStep).
// In a rollback they include what spec.replicas asks for beyond the bad pods, which get no more.
// With invalid steps and a record of 0 replicas all pods count as approved if only updated ones
// exist.
func minUpdated(s *snapshot) int32 {
	replicas, have := s.workload.Replicas, s.pods.updated()
	switch {
	case s.record.isRollback():
		return max(replicas-s.pods.old(), podsForTraffic(s), have)
	case !s.pods.Others.Known && !s.pods.Final, s.steps().unreadable() && s.record.Replicas == 0 && s.pods.old() == 0:
		return have
	default:
		return 0
	}
}

// conforms reports whether there are at most as many updated pods as the target, and no fewer
// others than the rest.
func conforms(s *snapshot, target int32) bool {
	return s.pods.Updated.Wanted <= target && s.pods.old() >= s.workload.Replicas-target
}

// followsReplicas reports whether the pods conform to spec.replicas, but for updated pods that
// requests keep: with 30% of 10 pods and requests, 3 stay when it becomes 8, though 30% of 8 is 2.
func followsReplicas(s *snapshot, t mover.Task) bool {
	return !rescaling(s) || conforms(s, max(t.Target, t.Keep[t.Revision]))
}

// enterStep starts a step. Pods that run the revision already stay, unless a jump takes them back.
func enterStep(d Decision, index int32) Decision {
	stay, left, back := podsAtEntry(d.snap), d.snap.record.EnteredStep, index < d.snap.record.CurrentStepIndex
	d = d.with(func(r *record) {
		r.CurrentStepIndex, r.CurrentStepState, r.StepStartedAt = index, v1alpha1.StepUpgrade, d.snap.time()
		r.Gates, r.Answers, r.Traffic = nil, nil, withoutEnding(r.Traffic)
	})
	said := d.snap.steps().now()
	if back && left != nil {
		said = d.snap.steps().atMost(said, left)
	}
	d = d.with(func(r *record) { r.EnteredStep = said })
	replicas := d.snap.workload.Replicas
	target, entered := d.snap.steps().share().entered(replicas), replicas
	if updated := d.snap.pods.Updated; updated.Known && !d.snap.steps().steppingBack() {
		target = max(target, min(stay, d.snap.steps().share().most(replicas)))
		if updated.Wanted > target && !d.snap.record.isRollback() && !d.snap.pods.Final {
			entered = 0 // an old pod is still to replace one of them
		}
	}
	best := int32(0)
	if d.snap.record.Progress != nil {
		best = d.snap.record.Progress.Available
	}
	return d.with(func(r *record) {
		r.TargetReplicas, r.Replicas = target, entered
		r.Progress = &v1alpha1.Progress{Available: best, Since: *d.snap.time()}
	})
}

// enterFirstStep starts the first step of a release that is taken over. It reads the counts live
// first: until now the native controller has scaled the pods, and may still count pods that are
// gone. It reports whether the release is in a step.
func enterFirstStep(d Decision) (Decision, bool) {
	switch {
	case d.snap.record.entered():
		return d, true
	case !d.snap.live(ReadCounts):
		return d.read(ReadCounts), false
	case !d.snap.pods.All.Observed:
		return d, false
	}
	d = d.with(func(r *record) { r.Phase = d.snap.record.rollingPhase() })
	if !d.snap.record.isRollback() { // the history has its template by the name it had
		d = nameAsNative(d) // what is opened for a step bears the name
	}
	return enterStep(d, 0), true
}

// rollOn recomputes currentStepState from the step's gates, and ignores an invalid user patch: only
// a step whose gates are open can be confirmed.
func rollOn(d Decision) Decision {
	state := d.snap.record.CurrentStepState
	switch {
	case d.snap.record.ending() != nil:
		state = v1alpha1.StepCompleted
	case len(d.snap.record.Gates) == 0:
		state = v1alpha1.StepUpgrade
	case state != v1alpha1.StepCompleted:
		state = v1alpha1.StepBlocking
	}
	return d.with(func(r *record) { r.Phase, r.CurrentStepState = d.snap.record.rollingPhase(), state })
}
