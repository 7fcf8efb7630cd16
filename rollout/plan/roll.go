package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
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
func (p *pass) updateSet() *Set {
	return p.newSet(func(s *Set) bool { return !s.Deleting })
}

// newSetGoes reports whether the ReplicaSet that is the new one to the native controller is being deleted. Until it
// is gone its name is taken, and with another one beside it we and that controller would mean two.
func (p *pass) newSetGoes() bool {
	set := p.NewSet()
	return set != nil && set.Deleting
}

// NewSet is the ReplicaSet that is the new one to the native controller (FindNewReplicaSet): the oldest of the
// workload's template, nil if there is none.
func (o *Observation) NewSet() *Set {
	return o.newSet(func(*Set) bool { return true })
}

func (o *Observation) newSet(counts func(*Set) bool) *Set {
	var found *Set
	for i := range o.Sets {
		set := &o.Sets[i]
		if set.Digest == o.Workload.Digest && counts(set) && (found == nil || older(set, found)) {
			found = set
		}
	}
	return found
}

// older orders ReplicaSets by creation, then by name.
func older(a, b *Set) bool {
	if !a.Created.Equal(b.Created) {
		return a.Created.Before(b.Created)
	}
	return a.Name < b.Name
}

// oldSets are all the others, the oldest first.
func (p *pass) oldSets() []*Set {
	update := p.updateSet()
	var old []*Set
	for i := range p.Sets {
		if set := &p.Sets[i]; set != update && !set.Deleting {
			old = append(old, set)
		}
	}
	slices.SortFunc(old, func(a, b *Set) int {
		if older(a, b) {
			return -1
		}
		return 1
	})
	return old
}

func (p *pass) oldReplicas() int32 { return sum(p.oldSets(), func(s *Set) int32 { return s.Replicas }) }

func sum(sets []*Set, of func(*Set) int32) int32 {
	var total int32
	for _, set := range sets {
		total += of(set)
	}
	return total
}

// createSet makes the ReplicaSet of the new revision, which the native controller does not
// do while the workload is paused, with as many pods of the first step as there is room for.
func (p *pass) createSet() {
	target := p.target
	if p.status.Phase == v1alpha1.PhaseFailed || p.stopped() != nil {
		target = 0
	}
	if target > 0 && p.ordered() && !p.putInOrder(p.ledger()) {
		return
	}
	if p.mayGrow() {
		p.do(CreateSet{
			Reason:   p.batchReason(),
			Revision: p.status.UpdateRevision,
			Replicas: p.ledger().growth(target),
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

// share is the current step's; refuseStrategy has seen to it that it can be read.
func (p *pass) share() share {
	s, _ := parseShare(p.steps()[p.stepIndex()].Replicas)
	return s
}

// rescaling reports whether spec.replicas is not what the status speaks of. It stays so until
// the ReplicaSets conform to the new number, so that whoever asks next, after a crash for
// example, knows why there are more updated pods, or fewer old ones, than the step says. If
// spec.replicas is the same, it is because a status was lost that began the next step.
func (p *pass) rescaling() bool { return p.status.Replicas != p.Workload.Replicas }

// grown reports whether spec.replicas are more than what the status speaks of.
func (p *pass) grown() bool { return p.Workload.Replicas > p.status.Replicas }

// follow sets the target for the present spec.replicas and records it once the sets conform.
func (p *pass) follow() {
	replicas := p.Workload.Replicas
	if p.lastStep() && !p.rescaling() && p.status.TargetReplicas < replicas {
		p.enterStep(p.stepIndex()) // steps were taken out: this is the last one now
	}
	p.target = p.status.TargetReplicas
	if p.rescaling() {
		p.target = p.share().rescaled(p.target, p.status.Replicas, replicas)
	}
	// A step that was made smaller meanwhile holds for the pods that are not made yet.
	p.target = min(p.target, max(p.share().entered(replicas), p.updated()))
	p.target = max(p.target, p.only())
	if p.rescaling() && !p.conforms() {
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

// count puts the numbers of the update revision into the status.
func (p *pass) count() {
	if update := p.updateSet(); update != nil {
		p.status.UpdatedReplicas = update.Current
		p.status.UpdatedReadyReplicas = update.Ready
		p.status.UpdatedAvailableReplicas = update.Available
	}
	f := p.fence()
	p.status.MaxSurge, p.status.MaxUnavailable = fromInt(f.surge), fromInt(f.unavailable)
}

// recordProgress notes when more updated pods are available than ever before in the release. Where they are taken
// back, by a jump or with spec.replicas, the mark comes down with them: the pods that come next are progress again.
func (p *pass) recordProgress() {
	update, progress := p.updateSet(), p.status.Progress
	available := min(update.Available, update.Replicas) // those on their way out are none
	switch {
	case progress == nil, available > progress.Available && !p.goingBack():
		p.status.Progress = &v1alpha1.Progress{Available: available, Since: *p.now()}
	case update.Replicas < progress.Available:
		p.status.Progress = &v1alpha1.Progress{Available: update.Replicas, Since: *p.now()}
	}
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
func (p *pass) settled() bool {
	return !slices.ContainsFunc(p.Sets, func(s Set) bool { return !s.Observed || s.Current > s.Replicas })
}

// checkDeadline fails a release that makes no progress.
func (p *pass) checkDeadline() {
	if p.status.CurrentStepState != v1alpha1.StepUpgrade || p.status.Progress == nil || p.paused() {
		return
	}
	if !p.overdue(p.status.Progress.Since.Time) {
		return
	}
	asks := p.Failing == nil && !p.goingBack() && p.refused == nil
	if needs := (Needs{Sets: !p.SetsLive, Failing: asks}); needs.Any() {
		p.need(needs)
		return
	}
	p.fail("batch "+p.status.Batch, p.whyLate())
	p.rollBackFailed()
}

// whyLate is what keeps a batch from making progress.
func (p *pass) whyLate() string {
	switch {
	case p.refused != nil:
		return refusalWords(p.refused)
	case p.goingBack():
		return "pods of the version before are not available"
	default:
		return *p.Failing
	}
}

// overdue reports whether the progress deadline has gone by since a time, and looks again when it does.
func (p *pass) overdue(since time.Time) bool {
	deadline := since.Add(p.progressDeadline())
	if p.Now.Before(deadline) {
		p.wakeAt(deadline)
		return false
	}
	return true
}

// fail ends the release where it stands.
func (p *pass) fail(what, why string) {
	p.status.Phase = v1alpha1.PhaseFailed
	p.say(v1alpha1.ReasonDeadlineExceeded, fmt.Sprintf("%s: no progress for %s: %s", what, p.progressDeadline(), why))
}

func (p *pass) progressDeadline() time.Duration {
	for _, seconds := range []*int32{p.Release.Spec.Strategy.ProgressDeadlineSeconds, p.Workload.ProgressDeadlineSeconds} {
		if seconds != nil {
			return time.Duration(*seconds) * time.Second
		}
	}
	return DefaultProgressDeadline
}
