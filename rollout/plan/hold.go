package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// hold takes the workload over, or puts back what somebody changed while it is taken over.
func hold(d Decision, s Progress) Decision {
	if d.heldAsMeant() { // apart from how many pods it has
		var refilled bool
		if d, refilled = refill(d); !refilled {
			return d
		}
	}
	switch s := s.(type) {
	case Failed: // it does not begin until somebody asks for it, or gives another template
		d, _ = rollBackFailed(d)
	case Starting:
		return start(d, s.At)
	case Stopped:
		return followHeld(d)
	case Arriving, Entering, Rolling, Paused, Blocked, Shifting, Finishing:
	}
	return d
}

// followHeld follows spec.replicas of a workload that is held with the template of what came before: the release that takes its place is
// stopped before it has given the workload its own. Nobody else follows, and of the version that was released no more pods come.
func followHeld(d Decision) Decision {
	w := d.Workload
	if !d.held() || !w.secured() || d.empty || d.nativeMayAct() || d.pods.Leaving || !d.hasUpdated() {
		return d
	}
	t := d.task(min(d.updated(), share{}.most(w.Replicas)))
	t.Revision, t.Rescaling, t.Grown = w.Revision, true, false
	if w.Revision == d.stableRevision() {
		t.Rollback, t.Target = true, w.Replicas
	}
	return keepScale(d, t)
}

// start takes the workload over as soon as nothing is in the way.
func start(d Decision, at Start) Decision {
	switch at {
	case Behind: // the native controller may be about to make the first ReplicaSet, whose pods are the old ones
		return d
	case WouldMixVersions:
		return d
	case NotAsInGit:
		return askFirst(d)
	case WillNotFit:
		return d.wakeAt(d.Now.Add(preflightRetry))
	case NoTraffic:
		return tellTraffic(d, traffic.Next(d.goal(traffic.Forward, 0), *d.Traffic))
	case Ready:
		d = asked(d)
	}
	proven := d.Live.Has(ReadRelease)
	if !d.held() && d.record.Held == nil {
		var fits, known, written, ready bool
		if d, fits = preflighted(d); !fits {
			return d
		}
		if d, known = knowDrift(d); !known {
			return failIfRefused(d)
		}
		if d, written, ready = prepare(d); !ready {
			return failIfRefused(d)
		}
		proven = written || proven
	}
	if !proven {
		return d.read(ReadRelease)
	}
	if d, guarded := guard(d); !guarded {
		return failIfRefused(d)
	}
	d, given := give(d)
	if !given {
		return failIfRefused(d)
	}
	return failIfRefused(takeOver(d))
}

// give writes what must be written before the workload gets the template that is released. A rollback leaves no other version its
// pods, unless these get requests until routes have taken them back, and a workload without any gets the stable template. It reports whether
// that is done, or planned.
func give(d Decision) (Decision, bool) {
	if d.isRollback() && !d.routed() || d.Workload.Replicas == 0 {
		return d, true
	}
	writes, reads := d.Workload.Mover.Give(d.record.Resolved.Digest), ReadWorkload|ReadCounts
	switch {
	case len(writes) == 0:
		return d, true
	case !d.Live.Has(reads):
		return d.read(reads), false
	default:
		return d.try(d.moves(writes)...)
	}
}

// guard sees to it that a release that holds a workload does not go away before it has handed it back. Where somebody has written the
// annotation, or a release object of the same name was there before, nothing was prepared. It reports whether that is done.
func guard(d Decision) (Decision, bool) {
	if slices.Contains(d.Release.Finalizers, v1alpha1.Finalizer) || !d.held() {
		return d, true
	}
	d, _ = d.try(Annotate{Reason: guardReason, Finalizer: new(true)})
	return d, false
}

const guardReason Reason = "the workload is handed back before the release goes away"

// takenOver reports whether the workload is as the release holds it, so that its pods can be moved.
func (l *look) takenOver() bool { return l.heldAsMeant() && l.empty == l.empties() }

// goOn goes on with a workload that is taken over. Starting another attempt with it, rather
// than taking it over for one, means that the status was lost, or that an old one was read.
func goOn(d Decision) Decision {
	if d.record.Attempt != d.Release.Status.Attempt && !d.Live.Has(ReadRelease) {
		return d.read(ReadRelease)
	}
	d, guarded := guard(d)
	if !guarded {
		return d
	}
	d = d.with(func(r *record) {
		if r.StableRevision == "" {
			r.StableRevision = d.Release.Annotations[v1alpha1.CurrentStableAnnotation]
		}
		r.Held, r.WorkloadUID = &d.Workload.Hold.HeldWorkload, d.Workload.UID
	})
	if d.record.Attempt == d.Release.Status.Attempt && !d.Begun {
		// Not before the attempt is stored: the one before may be gone on with after a crash, and its
		// gates are the evidence for how far it is.
		d = closeGates(d, "a new attempt voids the gates of the one before")
	}
	return roll(d)
}

// prepare makes durable what a rollback needs, before the workload's template is overwritten.
// It reports whether it writes the release, which proves that the release was read as it is, and whether it is
// ready: nothing of it is refused.
func prepare(d Decision) (next Decision, written, ready bool) {
	stable, ready := d.Workload.Revision, true
	if d.drifted() {
		stable = d.record.StableRevision
	} else {
		d, ready = keepBefore(d.with(func(r *record) { r.StableRevision = stable }))
	}
	if !ready { // the annotations name only what is kept
		return d, false, false
	}
	annotations, finalized := d.Release.Annotations, slices.Contains(d.Release.Finalizers, v1alpha1.Finalizer)
	if finalized && annotations[v1alpha1.CurrentStableAnnotation] == stable {
		return d, false, ready
	}
	change := Annotate{
		Reason:    guardReason,
		Set:       map[string]string{v1alpha1.CurrentStableAnnotation: stable},
		Finalizer: new(true),
	}
	d, written = d.try(change.withLast(d.lastStable(annotations[v1alpha1.CurrentStableAnnotation], stable), annotations))
	return d, written, written
}

func takeOver(d Decision) Decision {
	w, held, template := d.Workload, d.held(), d.template()
	if held && w.Digest != d.record.Resolved.Digest {
		var settled bool
		if d, settled = settleDigest(d, template); settled {
			return d
		}
	}
	d = keepLeft(d)
	change := d.changed()
	reason, hold := d.takeOverReason(), d.holdValue()
	hold.Change = d.onRecord(change)
	take := TakeOver{
		Reason: reason, Template: &template, Digest: d.record.Resolved.Digest, Revision: d.record.UpdateRevision, Hold: hold, PutBack: change,
	}
	switch native := d.Workload.native(); {
	case hold.Emptied:
		take.Template, take.Digest, take.Revision = d.stableTemplate(), "", ""
	case !held && native.OnDelete && native.Stale: // what is lost comes back in the template that it has, then
		take.Template, take.Digest, take.Revision, take.AsItIs = nil, "", "", true
	}
	d, done := d.try(take)
	switch {
	case done:
		d = took(d, hold)
	case held && w.Hold.Window != "": // the native controller updates no more pods meanwhile
		d = d.do(TakeOver{Reason: closedReason, Hold: hold})
	}
	return d
}

const closedReason Reason = "the workload can't get the template that it is to have: no more pods are updated"

// took records what a workload that is taken over now gets back.
func took(d Decision, hold Hold) Decision {
	return d.with(func(r *record) { r.Held, r.WorkloadUID = &hold.HeldWorkload, d.Workload.UID })
}

// template is where the template to write comes from: the release, as long as that is what
// is being released, else what is kept of it.
func (l *look) template() Template {
	if l.record.Resolved.Given == l.Given && l.Given != "" && !l.quarantined() {
		return Template{Given: true}
	}
	return Template{Revision: l.record.UpdateRevision}
}

// settleDigest tells a template that somebody, or admission, changed from one that the API server now
// gives other defaults: that one is the same version to the native controller (I15). It reports whether there is nothing to write, or to be
// known first.
func settleDigest(d Decision, template Template) (Decision, bool) {
	before := d.Release.Status.Resolved
	switch {
	case before == nil || !equality.Semantic.DeepEqual(before, d.record.Resolved):
		return d, false // the template is a new one
	case d.Resolved == nil:
		return d.need(Needs{Resolve: &template}), true
	case (d.Resolved.Given != "") != template.Given:
		return d, false // the pass has resolved another one, to see whether to begin with it
	case d.Resolved.Refused == "" && d.Resolved.Digest == d.Workload.Digest && d.Workload.Revision == d.record.UpdateRevision:
		return d.with(func(r *record) { r.Resolved = withDigest(r.Resolved, d.Workload.Digest) }), true
	default:
		return d, false
	}
}

// withDigest is the template that is released, by the digest that it has now.
func withDigest(resolved *v1alpha1.ResolvedTemplate, digest string) *v1alpha1.ResolvedTemplate {
	now := *resolved
	now.Digest = digest
	return &now
}

func (l *look) takeOverReason() Reason {
	revision, held := l.record.UpdateRevision, l.held()
	switch {
	case !held && l.record.Held == nil:
		return Reason("release " + revision)
	case l.emptying():
		return l.emptiedReason()
	case l.record.Phase == v1alpha1.PhaseInitial || l.record.Phase == v1alpha1.PhaseRollingBack:
		return Reason("release " + revision + " instead")
	case !l.Workload.secured():
		return unpausedReason
	case l.Workload.Digest == l.record.Resolved.Digest:
		return holdStrippedReason
	default:
		return Reason("put back: the template of revision " + revision)
	}
}

// holdValue is what the workload gets back in the end: what it had when it was taken over,
// however often it has been since.
func (l *look) holdValue() Hold {
	w := l.Workload
	hold := Hold{Release: l.Release.Name, UID: l.Release.UID, Emptied: l.empties(), Stable: l.goesBackTo(), Foreign: l.foreign()}
	switch {
	case l.held():
		hold.HeldWorkload = w.Hold.HeldWorkload
	case l.record.Held != nil:
		hold.HeldWorkload = *l.record.Held
	default:
		hold.HeldWorkload = w.native().Own
	}
	return hold
}
