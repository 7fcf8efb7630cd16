package plan

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// roll takes the held workload through the steps.
func (p *pass) roll() bool {
	if p.nativeMayAct() || p.newSetGoes() {
		return true
	}
	if p.empty {
		p.rollEmpty()
		return true
	}
	if why := p.stopped(); why != nil {
		p.stand(why)
		return true
	}
	if !p.enterFirstStep() {
		return true
	}
	p.follow()
	if p.updateSet() == nil {
		p.createSet()
		p.waitForSet()
		return true
	}
	p.count()
	if p.status.Phase == v1alpha1.PhaseFailed && !p.arrived() {
		p.stayFailed()
		return true
	}
	p.status.Phase = p.rollingPhase()
	p.normaliseState()
	p.recordProgress()
	if p.stepDone() {
		p.passStep()
	}
	if p.status.Phase == v1alpha1.PhaseFinalizing || p.out.StatusFirst {
		return true
	}
	p.move()
	p.checkDeadline()
	return true
}

// waitForSet runs the progress deadline of a batch whose ReplicaSet is refused.
func (p *pass) waitForSet() {
	switch {
	case p.refused == nil:
	case p.status.Phase == v1alpha1.PhaseFailed:
		p.sayFailed()
		p.rollBackFailed()
	default:
		p.checkDeadline()
	}
}

// stayFailed leaves a failed release where it is, unless it is to be rolled back.
func (p *pass) stayFailed() {
	p.sayFailed()
	if !p.rollBackFailed() {
		p.keepScale()
	}
}

// nativeMayAct reports whether the native controller may still act on what the workload was
// before, in which case nothing is created or scaled: the write of its status goes on from here.
// Where only our take-over is unseen and one old ReplicaSet has all the replicas, it could do no
// more than take new pods away again, which costs them their start.
func (p *pass) nativeMayAct() bool {
	if p.Workload.Behind != 1 {
		return p.Workload.Behind > 1
	}
	active := slices.DeleteFunc(slices.Clone(p.Sets), func(s Set) bool { return s.Replicas == 0 })
	return len(active) != 1 || active[0].Replicas != p.Workload.Replicas || active[0].Digest == p.Workload.Digest
}

// sayFailed says so again after the workload was missing for a while.
func (p *pass) sayFailed() {
	if p.status.Reason == v1alpha1.ReasonWorkloadNotFound {
		p.say(v1alpha1.ReasonDeadlineExceeded, fmt.Sprintf("batch %s: no progress for %s", p.status.Batch, p.progressDeadline()))
	}
}

// arrived reports whether all pods that are wanted in the end are available, late as they may
// be: there is nothing left to hold back.
func (p *pass) arrived() bool {
	update := p.updateSet()
	return p.lastStep() && min(update.Available, update.Replicas) >= p.Workload.Replicas
}

// updateSet is the ReplicaSet of the workload's template; the oldest if there are several.
func (p *pass) updateSet() *Set { return deployment.Updated(p.Sets, p.Workload.Digest) }

// newSetGoes reports whether the ReplicaSet that is the new one to the native controller is being deleted. Until it
// is gone its name is taken, and with another one beside it we and that controller would mean two.
func (p *pass) newSetGoes() bool {
	set := p.NewSet()
	return set != nil && set.Deleting
}

// NewSet is the ReplicaSet that is the new one to the native controller, nil if there is none.
func (o *Observation) NewSet() *Set { return deployment.New(o.Sets, o.Workload.Digest) }

// oldSets are all the others, the oldest first.
func (p *pass) oldSets() []*Set { return deployment.Old(p.Sets, p.Workload.Digest) }

func (p *pass) oldReplicas() int32 {
	var replicas int32
	for _, set := range p.oldSets() {
		replicas += set.Replicas
	}
	return replicas
}

// createSet makes the ReplicaSet of the new revision, which the native controller does not
// do while the workload is paused, with as many pods of the first step as there is room for.
func (p *pass) createSet() {
	task := p.task()
	first := task
	if p.status.Phase == v1alpha1.PhaseFailed || p.stopped() != nil {
		first.Target = 0
	}
	if first.Target > 0 && p.ordered() && !p.putInOrder(task.Now()) {
		return
	}
	if p.mayGrow() {
		p.do(CreateSet{
			Reason:   p.batchReason(),
			Revision: p.status.UpdateRevision,
			Replicas: first.First(),
		})
	}
}

// enterFirstStep starts a release that is taken over but in no step yet. It asks for a live
// read of the ReplicaSets first: until now the native controller has scaled them. One that it has
// made smaller and larger again may count pods that are gone until its own controller has looked.
func (p *pass) enterFirstStep() bool {
	if p.status.Batch != "" {
		return true
	}
	if !p.SetsLive {
		p.out.Needs.Sets = true
		return false
	}
	if slices.ContainsFunc(p.Sets, func(s Set) bool { return s.Replicas > 0 && !s.Observed }) {
		return false
	}
	p.status.Phase = p.rollingPhase()
	p.enterStep(0)
	return true
}

// normaliseState undoes what a user's patch of the state can't mean: only a step whose gates
// are open can be confirmed.
func (p *pass) normaliseState() {
	switch {
	case len(p.status.Gates) == 0:
		p.status.CurrentStepState = v1alpha1.StepUpgrade
	case p.status.CurrentStepState != v1alpha1.StepCompleted:
		p.status.CurrentStepState = v1alpha1.StepBlocking
	}
	if p.status.CurrentStepState == v1alpha1.StepUpgrade && p.saidElse() {
		p.sayUpgrading()
	}
}

// saidElse reports whether the status still speaks of something that is over: the workload was missing, a write
// was refused, or the release was stopped.
func (p *pass) saidElse() bool {
	return p.status.Reason == v1alpha1.ReasonWorkloadNotFound || p.status.Reason == v1alpha1.ReasonWriteRefused ||
		slices.Contains(stopReasons, p.status.Reason)
}

func (p *pass) rollingPhase() v1alpha1.Phase {
	if p.status.RollbackTo != "" {
		return v1alpha1.PhaseRollingBack
	}
	return v1alpha1.PhaseRollingUpdate
}

// enterStep starts a step. Pods that run the revision already stay, unless they are to go back with it.
func (p *pass) enterStep(index int32) {
	p.status.CurrentStepIndex, p.status.CurrentStepState = index, v1alpha1.StepUpgrade
	p.status.Batch = fmt.Sprintf("%d/%d", index+1, len(p.steps()))
	p.status.Gates, p.status.Answers = nil, nil
	replicas := p.Workload.Replicas
	p.status.Replicas = replicas
	p.status.TargetReplicas = p.share().entered(replicas)
	if update := p.updateSet(); update != nil && !p.stepsBack() {
		p.status.TargetReplicas = max(p.status.TargetReplicas, min(update.Replicas, p.share().most(replicas)))
		if update.Replicas > p.status.TargetReplicas && p.status.RollbackTo == "" {
			p.status.Replicas = 0 // an old pod has yet to come in the place of one of them
		}
	}
	p.target = p.status.TargetReplicas
	best := int32(0)
	if p.status.Progress != nil {
		best = p.status.Progress.Available
	}
	p.status.Progress = &v1alpha1.Progress{Available: best, Since: *p.now()}
	p.sayUpgrading()
}

func (p *pass) sayUpgrading() {
	what := "updating"
	if p.goingBack() {
		what = "going back"
	}
	p.say(p.upgradeReason(), fmt.Sprintf("batch %s: %s to %s of %d",
		p.status.Batch, what, pods(p.status.TargetReplicas), p.status.Replicas))
}

func (p *pass) upgradeReason() string {
	if p.status.RollbackTo != "" {
		return v1alpha1.ReasonRollingBack
	}
	return v1alpha1.ReasonUpgrading
}

func pods(n int32) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// count puts the numbers of the update revision into the status.
func (p *pass) count() {
	if update := p.updateSet(); update != nil {
		p.status.UpdatedReplicas = update.Current
		p.status.UpdatedReadyReplicas = update.Ready
		p.status.UpdatedAvailableReplicas = update.Available
	}
	f := p.fence()
	p.status.MaxSurge, p.status.MaxUnavailable = fromInt(f.Surge), fromInt(f.Unavailable)
}

// stepDone reports whether the pods that the step says are updated and available. In the end,
// and where a gate stands, the ReplicaSet must have been looked at since it was scaled, and no
// more old pods may be left than the step says; elsewhere the next step takes them away, in
// one write with its own. What is jumped back to is there when no updated pod is too many, and no other missing.
func (p *pass) stepDone() bool {
	update := p.updateSet()
	if min(update.Available, update.Replicas) < p.target {
		return false
	}
	if p.stepsBack() {
		return update.Observed && update.Replicas <= p.target && p.oldReplicas() == p.Workload.Replicas-p.target
	}
	if !p.lastStep() && len(p.gatesToPass()) == 0 {
		return true
	}
	return update.Observed && p.oldReplicas() <= p.Workload.Replicas-p.target
}

// settled reports whether no pods are left beyond what the ReplicaSets say, so that people
// find at a stop exactly what the step promises.
func (p *pass) settled() bool { return deployment.Settled(p.Sets) }
