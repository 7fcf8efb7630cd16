package plan

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// A workload that is scaled to 0 in mid-release has the stable template until it has pods again: where no
// ReplicaSet has any, the native controller makes all the pods that somebody asks for in the ReplicaSet of the workload's template
// (T1), and deletes others beyond revisionHistoryLimit (T4). The hold says that it is meant so.

// emptied is the workload as it would be with the template that is released, if it is one that has the stable
// template because it was scaled to 0; nil if it is not.
func (p *pass) emptied() *Workload {
	w, resolved := p.Workload, p.status.Resolved
	if w == nil || !w.heldBy(p.Release) || !w.Hold.Emptied || resolved == nil || p.status.Phase == v1alpha1.PhaseCompleted || !p.runsStable() {
		return nil
	}
	meant := *w
	meant.Digest, meant.Revision = resolved.Digest, p.status.UpdateRevision
	return &meant
}

// runsStable reports whether the workload has the stable template.
func (p *pass) runsStable() bool {
	stable := p.stableRevision()
	kept := p.kept(stable)
	return stable != "" && (p.Workload.Revision == stable || kept != nil && kept.Digest == p.Workload.Digest)
}

func (p *pass) stableRevision() string {
	if p.status.StableRevision != "" {
		return p.status.StableRevision
	}
	return p.Release.Annotations[v1alpha1.CurrentStableAnnotation]
}

// empties reports whether the workload is to have the stable template: it has no pods, and not all that it may
// be scaled to are approved. A rollback has no version that anybody has to approve.
func (p *pass) empties() bool {
	stable := p.stableRevision()
	known := p.kept(stable) != nil || slices.ContainsFunc(p.Sets, func(s Set) bool { return s.Revision == stable })
	return p.Workload.Replicas == 0 && p.status.RollbackTo == "" && len(p.steps()) > 0 && !p.share().all() && stable != "" && known &&
		stable != p.status.UpdateRevision
}

// emptying reports whether a workload that is otherwise as it is meant to be gets another template because of how
// many pods it has.
func (p *pass) emptying(held bool) bool {
	w := p.Workload
	return held && w.Hold.UID == p.Release.UID && w.secured() && w.Digest == p.status.Resolved.Digest && p.empty != p.empties()
}

// stableTemplate is the template to write to a workload that is scaled to 0; nil if it has it already.
func (p *pass) stableTemplate() *Template {
	if p.empty || p.runsStable() {
		return nil
	}
	return &Template{Revision: p.stableRevision()}
}

// refilled reports whether the release may go on with its own template. Until the native controller has given the
// stable ReplicaSet the pods that the workload is scaled to, and has seen that itself, it might give them to the new one.
func (p *pass) refilled() bool {
	if !p.empty || p.Workload.Replicas == 0 {
		return true
	}
	if !p.SetsLive {
		p.need(Needs{Sets: true})
		return false
	}
	serves := func(s Set) bool { return s.Revision == p.stableRevision() && s.Replicas > 0 && s.Observed }
	several := deployment.Active(p.Sets) > 1 // of which the native controller gives none more pods
	if p.Workload.Behind == 0 && (several || slices.ContainsFunc(p.Sets, serves)) {
		return true
	}
	p.makeStable()
	return false
}

// makeStable makes the ReplicaSet of the stable template anew, if somebody has deleted it: the workload has
// its template. If pods of another version are left, it gets one of its own: those are alone else.
func (p *pass) makeStable() {
	stable, lone := p.stableRevision(), deployment.Active(p.Sets) == 1
	var write Action
	switch i := slices.IndexFunc(p.Sets, func(s Set) bool { return s.Revision == stable }); {
	case i >= 0 && lone && p.Sets[i].Replicas == 0 && !p.Sets[i].Deleting && p.Workload.Replicas > 0:
		write = ScaleSet{Reason: besideReason, Set: p.Sets[i], To: 1}
	case i >= 0 || deployment.Active(p.Sets) > 1:
		return
	case lone:
		write = CreateSet{Reason: besideReason, Revision: stable, Replicas: min(p.Workload.Replicas, 1)}
	default:
		write = CreateSet{Reason: "the stable ReplicaSet is gone", Revision: stable, Replicas: p.Workload.Replicas}
	}
	if needs := (Needs{Workload: !p.Workload.Live, Sets: !p.SetsLive}); needs.Any() {
		p.need(needs)
		return
	}
	p.do(write)
}

// rollEmpty takes a workload without pods through the steps: all there is to do is to ask at the gates.
func (p *pass) rollEmpty() {
	why := p.stopped()
	if why == nil && !p.enterFirstStep() {
		return
	}
	p.follow()
	p.count()
	p.status.Progress = nil // nothing can become available
	if p.takeLast() {
		return
	}
	p.makeStable()
	switch {
	case p.status.Phase == v1alpha1.PhaseFailed:
		p.sayFailed()
		p.rollBackFailed()
	case why != nil && p.status.Batch == "":
		p.sayStopped("the release has not begun", why)
	case why != nil:
		p.status.Phase = p.rollingPhase()
		p.normaliseState()
		p.sayStopped("batch "+p.status.Batch+" is on hold", why)
		p.blocked = len(p.status.Gates) > 0
		p.turnsRound()
	default:
		p.status.Phase = p.rollingPhase()
		p.normaliseState()
		if p.settled() && !p.rescaling() {
			p.passStep()
		}
	}
}

// takeLast takes the pods away that are left, the stable ones last: if somebody scales the workload up meanwhile
// those that are alone get more. It reports whether there were any.
func (p *pass) takeLast() bool {
	var shrink []Action
	for _, last := range p.task().Last() {
		shrink = append(shrink, ScaleSet{Reason: "follow spec.replicas", Set: last.Set, From: last.From})
	}
	if len(shrink) == 0 {
		return false
	}
	needs := Needs{Workload: !p.Workload.Live, Sets: !p.SetsLive, Release: !p.ReleaseLive}
	if needs.Any() {
		p.need(needs)
		return true
	}
	p.do(shrink...)
	return true
}

// emptiedReason says why a workload gets another template because of how many pods it has.
func (p *pass) emptiedReason() Reason {
	if p.empties() {
		return Reason(fmt.Sprintf("scaled to 0: the next pods are of the stable revision %s", p.stableRevision()))
	}
	return Reason("the release of revision " + p.status.UpdateRevision + " goes on")
}
