package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const unseenMessage = "waiting for the native controller to see the workload as it is now"

// hold takes the workload over, or puts back what somebody changed while it is taken over.
func (p *pass) hold() bool {
	w := p.Workload
	held := w.heldBy(p.Release)
	if held && w.Hold.UID == p.Release.UID && w.secured() && w.Digest == p.status.Resolved.Digest {
		if p.empty == p.empties() {
			return p.goOn()
		}
		if !p.refilled() {
			return true
		}
	}
	if p.notTakenOver() || p.failedBefore(held) {
		return true
	}
	if !held && w.Behind > 0 {
		p.say(v1alpha1.ReasonTakingOver, unseenMessage)
		return true // it may be about to make the first ReplicaSet, whose pods are the old ones
	}
	proven := p.ReleaseLive
	if !held && p.status.Held == nil {
		if p.wouldMixVersions() || p.willNotFit() || p.driftUnknown() {
			return true
		}
		written, ready := p.prepare()
		if !ready {
			p.checkRefused()
			return true
		}
		proven = written || proven
	}
	if !proven {
		p.need(Needs{Release: true})
		return true
	}
	p.takeOver(held)
	p.checkRefused()
	return true
}

// failedBefore reports whether the release has failed before its workload was taken over: it does not begin until
// somebody asks for it, or gives another template.
func (p *pass) failedBefore(held bool) bool {
	if held || p.status.Held != nil || p.status.Phase != v1alpha1.PhaseFailed {
		return false
	}
	p.sayFailed()
	p.rollBackFailed()
	return true
}

// goOn goes on with a workload that is taken over. Starting another attempt with it, rather
// than taking it over for one, means that the status was lost, or that an old one was read.
func (p *pass) goOn() bool {
	if p.status.Attempt != p.Release.Status.Attempt && !p.ReleaseLive {
		p.need(Needs{Release: true})
		return true
	}
	if p.status.StableRevision == "" {
		p.status.StableRevision = p.Release.Annotations[v1alpha1.CurrentStableAnnotation]
	}
	p.status.Held = &p.Workload.Hold.HeldWorkload
	p.status.WorkloadUID = p.Workload.UID
	if p.status.Attempt == p.Release.Status.Attempt {
		// Not before the attempt is on record: the one before may be gone on with after a crash, and its
		// gates are the evidence for how far it is.
		p.closeGates("a new attempt voids the gates of the one before")
	}
	return false
}

// prepare makes durable what a rollback needs, before the workload's template is overwritten.
// It reports whether it writes the release, which proves that the release was read as it is, and whether it is
// ready: nothing of it is refused.
func (p *pass) prepare() (written, ready bool) {
	stable, ready := p.Workload.Revision, true
	if p.drifted() {
		stable = p.status.StableRevision
	} else {
		p.status.StableRevision = stable
		ready = p.keepBefore()
	}
	annotations, finalized := p.Release.Annotations, slices.Contains(p.Release.Finalizers, v1alpha1.Finalizer)
	if finalized && annotations[v1alpha1.CurrentStableAnnotation] == stable {
		return false, ready
	}
	change := Annotate{
		Reason:    "the workload is handed back before the release goes away",
		Set:       map[string]string{v1alpha1.CurrentStableAnnotation: stable},
		Finalizer: new(true),
	}
	written = p.do(change.withLast(p.lastStable(annotations[v1alpha1.CurrentStableAnnotation], stable), annotations))
	return written, written && ready
}

func (p *pass) takeOver(held bool) {
	w := p.Workload
	template := p.template()
	if held && w.Digest != p.status.Resolved.Digest && p.settleDigest(template) {
		return
	}
	p.keepLeft()
	change := p.changed(held)
	reason, hold := p.takeOverReason(held), p.holdValue(held)
	hold.Meddling = p.onRecord(change)
	written, digest := &template, p.status.Resolved.Digest
	if hold.Emptied {
		written, digest = p.stableTemplate(), ""
	}
	if p.do(TakeOver{Reason: reason, Template: written, Digest: digest, Hold: hold, PutBack: change}) {
		p.took(hold)
	}
}

// took puts on record what a workload gets back that is taken over now.
func (p *pass) took(hold Hold) {
	p.status.Held = &hold.HeldWorkload
	p.status.WorkloadUID = p.Workload.UID
}

// template is where the template to write comes from: the release, as long as that is what
// is being released, else what is kept of it.
func (p *pass) template() Template {
	if p.status.Resolved.Given == p.Given && p.Given != "" && !p.quarantined() {
		return Template{Given: true}
	}
	return Template{Revision: p.status.UpdateRevision}
}

// settleDigest tells a template that somebody changed from one that the API server now
// gives other defaults. It reports whether there is nothing to write, or to be known first.
func (p *pass) settleDigest(template Template) bool {
	if p.Release.Status.Resolved == nil || *p.Release.Status.Resolved != *p.status.Resolved {
		return false // the template is a new one
	}
	if p.Resolved == nil {
		p.out.Needs.Resolve = &template
		return true
	}
	if (p.Resolved.Given != "") != template.Given {
		return false // the pass has resolved another one, to see whether to begin with it
	}
	if p.Resolved.Refused == "" && p.Resolved.Digest == p.Workload.Digest {
		p.status.Resolved.Digest = p.Workload.Digest
		return true
	}
	return false
}

func (p *pass) takeOverReason(held bool) Reason {
	revision := p.status.UpdateRevision
	switch {
	case !held && p.status.Held == nil:
		return Reason("release " + revision)
	case p.emptying(held):
		return p.emptiedReason()
	case p.status.Phase == v1alpha1.PhaseInitial || p.status.Phase == v1alpha1.PhaseRollingBack:
		return Reason("release " + revision + " instead")
	case !p.Workload.secured():
		return unpausedReason
	case p.Workload.Digest == p.status.Resolved.Digest:
		return holdStrippedReason
	default:
		return Reason("put back: the template of revision " + revision)
	}
}

// holdValue is what the workload gets back in the end: what it had when it was taken over,
// however often it has been since.
func (p *pass) holdValue(held bool) Hold {
	w := p.Workload
	hold := Hold{Release: p.Release.Name, UID: p.Release.UID, Emptied: p.empties(), Stable: p.goesBackTo()}
	switch {
	case held:
		hold.HeldWorkload = w.Hold.HeldWorkload
	case p.status.Held != nil:
		hold.HeldWorkload = *p.status.Held
	default:
		hold.HeldWorkload = v1alpha1.HeldWorkload{Strategy: w.Strategy, Paused: w.Paused}
	}
	return hold
}
