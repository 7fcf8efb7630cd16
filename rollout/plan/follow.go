package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// share returns the share of the current step, at most the share it had when it was entered. While the steps are invalid,
// share returns the entered share in proportion to the replicas.
func (l *look) share() share {
	if l.standsStill() {
		return l.enteredShare()
	}
	now := l.shareOf(l.stepIndex())
	if was := l.saidShare(); was != nil && now.more(*was, l.Workload.Replicas) {
		return *was
	}
	return now
}

// shareOf is that of a step.
func (l *look) shareOf(step int32) share {
	s, _ := parseShare(l.steps()[step].Replicas)
	return s
}

// enteredShare is what the record says of the step. It is all pods only where they were approved, or where there is no other
// version: elsewhere one old pod has stayed.
func (l *look) enteredShare() share {
	return share{value: int64(l.record.TargetReplicas), of: int64(l.record.Replicas)}
}

// rescaling reports whether spec.replicas differs from the record. It stays so until
// the pods conform to the new number, so that the next pass, for example after a
// crash, knows why there are more updated pods, or fewer old ones, than the step says. If
// spec.replicas is the same, it is because a status was lost that began the next step.
func (l *look) rescaling() bool { return l.record.Replicas != l.Workload.Replicas }

// grown reports whether spec.replicas is more than the record says.
func (l *look) grown() bool { return l.Workload.Replicas > l.record.Replicas }

// follow sets the target for the present spec.replicas and records it once the pods conform. While the steps can't be read it
// never raises the target, and the record keeps what the step was entered with: the release goes on from there once they are fixed.
func follow(d Decision) (Decision, mover.Task) {
	replicas, unreadable := d.Workload.Replicas, d.standsStill()
	if !unreadable && d.record.EnteredStep == nil && d.lastStep() && !d.rescaling() && d.record.TargetReplicas < replicas {
		d = enterStep(d, d.stepIndex()) // steps were taken out: this is the last one now
	}
	target := d.followed(unreadable)
	if !unreadable && (!d.rescaling() || d.pods.Final || d.conforms(target)) {
		d = d.with(func(r *record) { r.TargetReplicas, r.Replicas = target, replicas })
	}
	return d, d.task(target)
}

// followed is the target for the present spec.replicas.
func (l *look) followed(unreadable bool) int32 {
	replicas, target := l.Workload.Replicas, l.record.TargetReplicas
	if l.rescaling() {
		target = l.share().rescaled(target, l.record.Replicas, replicas)
	}
	if unreadable && !l.share().all() {
		target = min(target, l.record.TargetReplicas)
	}
	target = max(target, l.spared())
	// A step that was made smaller meanwhile holds for the pods that are not made yet.
	target = min(target, max(l.share().entered(replicas), l.updated()))
	return max(target, l.only())
}

// spared is how many updated pods stay where a step was entered with as many as spec.replicas, and the workload was scaled up before
// one of them made room for an old pod: now there is room. The record says so by no replicas (enterStep). Meanwhile the native
// controller may have made more of a lone version (T1): those stay no more than the step says.
func (l *look) spared() int32 {
	if l.record.Replicas != 0 || l.pods.Final || l.isRollback() || l.stepsBack() {
		return 0
	}
	return min(l.updated(), l.record.TargetReplicas+1, l.share().most(l.Workload.Replicas))
}

// only is how many pods run the update revision whatever the step says: those there are, if there
// is no other version left, unless they came to be past the steps, which is told (beyond); in a rollback those too, and what
// spec.replicas asks for beyond the bad ones, which are not added to. Where the steps can't be read, and the record is of a workload
// scaled to 0, nobody can say what its share was: all pods were approved if it got updated ones alone when it was scaled up.
func (l *look) only() int32 {
	replicas, have := l.Workload.Replicas, l.updated()
	switch {
	case l.isRollback():
		return max(replicas-l.oldReplicas(), l.serves(), have)
	case !l.pods.Others.Known && !l.pods.Final, l.standsStill() && l.record.Replicas == 0 && l.oldReplicas() == 0:
		return have
	default:
		return 0
	}
}

// conforms reports whether there are at most as many updated pods as the target and no fewer others
// than the rest.
func (l *look) conforms(target int32) bool {
	return l.pods.Updated.Wanted <= target && l.oldReplicas() >= l.Workload.Replicas-target
}

// enterStep starts a step. Pods that run the revision already stay, unless they are to go back with it.
func enterStep(d Decision, index int32) Decision {
	stay, left, back := d.stay(), d.record.EnteredStep, index < d.record.CurrentStepIndex
	d = d.with(func(r *record) {
		r.CurrentStepIndex, r.CurrentStepState, r.StepStartedAt = index, v1alpha1.StepUpgrade, d.time()
		r.Gates, r.Answers, r.Traffic = nil, nil, notEnding(r.Traffic)
	})
	said := d.saysNow()
	if back && left != nil {
		said = d.atMost(said, left)
	}
	d = d.with(func(r *record) { r.EnteredStep = said })
	replicas := d.Workload.Replicas
	target, entered := d.share().entered(replicas), replicas
	if updated := d.pods.Updated; updated.Known && !d.stepsBack() {
		target = max(target, min(stay, d.share().most(replicas)))
		if updated.Wanted > target && !d.isRollback() && !d.pods.Final {
			entered = 0 // an old pod is still to replace one of them
		}
	}
	best := int32(0)
	if d.record.Progress != nil {
		best = d.record.Progress.Available
	}
	return d.with(func(r *record) {
		r.TargetReplicas, r.Replicas = target, entered
		r.Progress = &v1alpha1.Progress{Available: best, Since: *d.time()}
	})
}

// enterFirstStep starts a release that is taken over but in no step yet. It asks for a live
// read of the counts first: until now the native controller has scaled them. A version that it has
// made smaller and larger again may count pods that are gone until they are counted again. It reports whether the
// release is in a step.
func enterFirstStep(d Decision) (Decision, bool) {
	switch {
	case d.entered():
		return d, true
	case !d.Live.Has(ReadCounts):
		return d.read(ReadCounts), false
	case !d.pods.All.Observed:
		return d, false
	}
	d = nameAsNative(d.with(func(r *record) { r.Phase = d.rollingPhase() })) // what is opened for a step bears the name
	return enterStep(d, 0), true
}

// rollOn lets a release proceed again, in the state that its gates say: what a user's patch of the state can't mean is
// undone, for only a step whose gates are open can be confirmed.
func rollOn(d Decision) Decision {
	state := d.record.CurrentStepState
	switch {
	case d.ending() != nil:
		state = v1alpha1.StepCompleted
	case len(d.record.Gates) == 0:
		state = v1alpha1.StepUpgrade
	case state != v1alpha1.StepCompleted:
		state = v1alpha1.StepBlocking
	}
	return d.with(func(r *record) { r.Phase, r.CurrentStepState = d.rollingPhase(), state })
}

func (l *look) rollingPhase() v1alpha1.Phase {
	if l.isRollback() {
		return v1alpha1.PhaseRollingBack
	}
	return v1alpha1.PhaseRollingUpdate
}
