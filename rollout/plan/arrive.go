package plan

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// rest leaves a completed release alone.
func (p *pass) rest() bool {
	if p.status.Phase != v1alpha1.PhaseCompleted {
		return false
	}
	p.agree()
	if p.saidElse() && p.status.Queued == nil {
		p.sayCompleted()
	}
	switch w := p.Workload; {
	case !w.heldBy(p.Release):
		p.sweepGates()
		p.watchDrift()
	case !p.ReleaseLive:
		p.need(Needs{Release: true})
	case p.unrecorded():
		p.takeBack()
		return false
	default:
		p.do(HandBack{Reason: "the release is completed", Hold: w.leftover()})
	}
	return true
}

// takeBack goes back from a release that was begun by a pass whose status was never written, and whose
// template Git has taken back since: it may have pods already.
func (p *pass) takeBack() {
	p.begin(*p.status.Resolved, &v1alpha1.RollbackRecord{
		Trigger: v1alpha1.TriggerGitRevert, From: p.Workload.Revision, Message: "what had just been begun is not given any more",
	})
}

// sweepGates deletes what nobody decides any more, and what passes that died on lagging caches have
// overlooked: people would be asked for an approval that counts for nothing.
func (p *pass) sweepGates() {
	for _, gate := range p.Gates {
		over := gate.Spec.Attempt <= p.status.Attempt && gate.Status.Decision != v1alpha1.DecisionPassed
		switch {
		case !over || gate.DeletionTimestamp != nil:
		case !p.GatesLive:
			p.need(Needs{Gates: true})
			return
		default:
			p.do(CloseGate{Reason: "the release is completed", Name: gate.Name})
		}
	}
}

// leftover is what a workload gets back whose release is completed. If it is neither paused nor
// set to Recreate it is not taken over: kubectl rollout undo has brought our annotation back from
// a ReplicaSet, to which the native controller had copied it, and it speaks of another time.
func (w *Workload) leftover() Hold {
	hold := *w.Hold
	if !w.Paused && !w.Recreate {
		hold.HeldWorkload = v1alpha1.HeldWorkload{Strategy: w.Strategy, Paused: w.Paused}
	}
	return hold
}

// arrive completes a release whose template the workload runs under the native controller. One
// that is paused with Recreate in the middle of it has lost our annotation.
func (p *pass) arrive() bool {
	w := p.Workload
	if w.Hold != nil || w.Digest != p.status.Resolved.Digest || p.status.Held != nil && !p.handedBack() ||
		w.secured() && p.oldReplicas() > 0 {
		return false
	}
	if p.updateSet() == nil && !w.Paused {
		p.say(v1alpha1.ReasonTakingOver, unseenMessage)
		return true // its ReplicaSet gives the template its name
	}
	if p.nativeRollout() {
		return true
	}
	if needs := (Needs{Workload: !w.Live, Gates: !p.GatesLive && len(p.undecided()) > 0}); needs.Any() {
		p.need(needs)
		return true
	}
	p.nameAsNative()
	if !p.restoreCosts("the release is completed") {
		return true
	}
	recorded := p.recordStable()
	recorded = p.markRolledBack(p.Workload.Revision) && recorded
	if recorded = p.markStable(p.Workload.Revision) && recorded; !recorded {
		return true // what a rollback would go back to is not known yet
	}
	p.forgetOldTemplates()
	p.closeGates("the release is completed")
	p.closeUndecided("the release is completed")
	p.complete()
	return true
}

// nameAsNative takes the name that the native controller gave the template. It may be another than the one
// that was reckoned before there was a ReplicaSet: the hash is over all fields that a version of Kubernetes knows.
func (p *pass) nameAsNative() {
	if p.status.RollbackTo == "" {
		p.status.UpdateRevision, p.status.Resolved.Revision = p.Workload.Revision, p.Workload.Revision
	}
}

// handedBack reports whether a hold that is gone was ended by us, and not by somebody else
// in the middle of the release.
func (p *pass) handedBack() bool {
	if p.status.Phase == v1alpha1.PhaseFinalizing {
		return !p.strategyIsOurs()
	}
	return p.lastStep() && p.share().all() && p.allUpdated()
}

// allUpdated reports whether the workload looks as it does when it is handed back in the end.
func (p *pass) allUpdated() bool {
	w, update := p.Workload, p.updateSet()
	return update != nil && update.Replicas == w.Replicas && p.oldReplicas() == 0 &&
		w.Digest == p.status.Resolved.Digest && !w.secured() && !p.strategyIsOurs()
}

// strategyIsOurs reports whether the workload still has the strategy that it was given when it was taken over.
func (p *pass) strategyIsOurs() bool {
	w, held := p.Workload, p.status.Held
	return w.Recreate && held != nil && w.Strategy != held.Strategy
}

// markStable makes a revision the one to roll back to: last <- current, current <- new. It reports whether that is
// done, or planned.
func (p *pass) markStable(revision string) bool {
	current := p.Release.Annotations[v1alpha1.CurrentStableAnnotation]
	if current == revision {
		return true
	}
	change := Annotate{
		Reason: Reason("revision " + revision + " is stable"),
		Set:    map[string]string{v1alpha1.CurrentStableAnnotation: revision},
	}
	return p.do(change.withLast(p.lastStable(current, revision), p.Release.Annotations))
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
// itself, which is older than the target if somebody had made the workload anew from it.
func (p *pass) lastStable(current, revision string) string {
	if current == revision {
		return p.Release.Annotations[v1alpha1.LastStableAnnotation]
	}
	if p.status.RollbackTo == "" {
		return current
	}
	target, last := p.kept(revision), (*Kept)(nil)
	for i := range p.Kept {
		k := &p.Kept[i]
		before := target != nil && k.stable() && k.Number < target.Number && k.Revision != current
		if before && (last == nil || k.Number > last.Number) {
			last = k
		}
	}
	if last == nil {
		return ""
	}
	return last.Revision
}

func (p *pass) complete() {
	p.status.Phase, p.status.CurrentStepState = v1alpha1.PhaseCompleted, v1alpha1.StepCompleted
	if steps := int32(len(p.steps())); !p.handingBack { // or it is said already, of the steps that it had
		p.status.CurrentStepIndex, p.status.Batch = steps-1, fmt.Sprintf("%d/%d", steps, steps)
	}
	p.status.Gates, p.status.Answers, p.status.Progress, p.status.Held, p.status.PausePoint = nil, nil, nil, nil, nil
	p.drop(v1alpha1.ConditionPreflight)
	p.status.StableRevision = p.status.UpdateRevision
	p.status.WorkloadUID = p.Workload.UID
	p.status.Replicas, p.status.TargetReplicas = p.Workload.Replicas, p.Workload.Replicas
	p.count()
	p.agree()
	p.sayCompleted()
}

func (p *pass) sayCompleted() {
	if p.status.RollbackTo != "" {
		p.say(v1alpha1.ReasonRolledBack, "revision "+p.status.UpdateRevision+" runs again")
		return
	}
	p.say(v1alpha1.ReasonCompleted, "all pods run revision "+p.status.UpdateRevision)
}

// maxEnded is how many ended releases a status keeps in mind.
const maxEnded = 5

// maxSuperseded is how many superseded commits a status keeps in mind.
const maxSuperseded = 20

// recordSuperseded keeps in mind a commit that another one takes the place of: nobody need wait for its end.
func (p *pass) recordSuperseded(commit string, phase v1alpha1.Phase) {
	if commit == "" || commit == p.status.Commit || phase == "" || phase == v1alpha1.PhaseCompleted {
		return
	}
	before := p.status.Superseded
	p.status.Superseded = append(slices.Clone(before[max(0, len(before)-maxSuperseded+1):]), commit)
}

// recordEnd keeps in mind how the release before came to its end: the status will soon speak of another.
func (p *pass) recordEnd() {
	if p.status.Phase != v1alpha1.PhaseCompleted {
		return
	}
	ended := v1alpha1.EndedRelease{
		Commit: p.status.Commit, Revision: p.status.UpdateRevision, Replicas: p.status.Replicas, Forced: p.status.Forced,
	}
	if back := p.status.Rollback; p.status.RollbackTo != "" && back != nil {
		ended.Trigger = back.Trigger
	}
	before := p.status.Ended
	p.status.Ended = append(slices.Clone(before[max(0, len(before)-maxEnded+1):]), ended)
}
