package plan

import "github.com/sluice-dev/sluice/api/v1alpha1"

// share is the current step's. While the steps are invalid it is what the step came to when it was entered, in proportion:
// nobody can say what they ask for now.
func (p *pass) share() share {
	if p.invalid != nil {
		return p.enteredShare()
	}
	s, _ := parseShare(p.steps()[p.stepIndex()].Replicas)
	return s
}

// enteredShare is what the status says of the step. It is all pods only where they were approved, or where there is no other
// ReplicaSet: elsewhere one old pod has stayed.
func (p *pass) enteredShare() share {
	return share{value: int64(p.status.TargetReplicas), of: int64(p.status.Replicas)}
}

// rescaling reports whether spec.replicas is not what the status speaks of. It stays so until
// the ReplicaSets conform to the new number, so that whoever asks next, after a crash for
// example, knows why there are more updated pods, or fewer old ones, than the step says. If
// spec.replicas is the same, it is because a status was lost that began the next step.
func (p *pass) rescaling() bool { return p.status.Replicas != p.Workload.Replicas }

// grown reports whether spec.replicas are more than what the status speaks of.
func (p *pass) grown() bool { return p.Workload.Replicas > p.status.Replicas }

// follow sets the target for the present spec.replicas and records it once the sets conform. While the steps are invalid it
// never raises the target, and the status keeps what the step was entered with: by that it goes on once they are mended.
func (p *pass) follow() {
	replicas := p.Workload.Replicas
	if p.invalid == nil && p.lastStep() && !p.rescaling() && p.status.TargetReplicas < replicas {
		p.enterStep(p.stepIndex()) // steps were taken out: this is the last one now
	}
	p.target = p.status.TargetReplicas
	if p.rescaling() {
		p.target = p.share().rescaled(p.target, p.status.Replicas, replicas)
	}
	if p.invalid != nil && !p.share().all() {
		p.target = min(p.target, p.status.TargetReplicas)
	}
	// A step that was made smaller meanwhile holds for the pods that are not made yet.
	p.target = min(p.target, max(p.share().entered(replicas), p.updated()))
	p.target = max(p.target, p.only())
	if p.invalid != nil || p.rescaling() && !p.conforms() {
		return
	}
	p.status.TargetReplicas, p.status.Replicas = p.target, replicas
	if p.status.CurrentStepState == v1alpha1.StepUpgrade && p.status.Phase != v1alpha1.PhaseFailed {
		p.sayUpgrading()
	}
}

// only is how many pods run the update revision whatever the step says: those there are, if there
// is no other ReplicaSet left; in a rollback those too, and what spec.replicas asks for beyond the
// bad ones, which are not added to.
func (p *pass) only() int32 {
	replicas, have := p.Workload.Replicas, p.updated()
	switch {
	case p.status.RollbackTo != "":
		return max(replicas-p.oldReplicas(), have)
	case len(p.oldSets()) == 0:
		return have
	default:
		return 0
	}
}

// conforms reports whether there are no more updated pods than the target and no fewer others
// than the rest.
func (p *pass) conforms() bool {
	update := p.updateSet()
	return (update == nil || update.Replicas <= p.target) && p.oldReplicas() >= p.Workload.Replicas-p.target
}
