package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// A workload that is scaled to 0 in mid-release has the stable template until it has pods again, where its kind asks for it
// (mover.Native.EmptyTakesTemplate): the native controller would make all the pods that somebody asks for of the workload's
// template, whatever was approved. The hold says that this is intended.

// emptied is the workload as it would be with the template that is released, if it is one that has the stable
// template because it was scaled to 0; nil if it is not.
func (l *look) emptied() *Workload {
	w, resolved := l.Workload, l.record.Resolved
	if w == nil || !l.held() || !w.Hold.Emptied || resolved == nil || l.completed() || !l.runsStable() {
		return nil
	}
	meant := *w
	meant.Digest, meant.Revision = resolved.Digest, l.record.UpdateRevision
	return &meant
}

// runsStable reports whether the workload has the stable template.
func (l *look) runsStable() bool {
	stable := l.stableRevision()
	kept := l.kept(stable)
	return stable != "" && (l.Workload.Revision == stable || kept != nil && kept.Digest == l.Workload.Digest)
}

func (l *look) stableRevision() string {
	if l.record.StableRevision != "" {
		return l.record.StableRevision
	}
	return l.Release.Annotations[v1alpha1.CurrentStableAnnotation]
}

// empties reports whether the workload is to have the stable template: it has no pods, and not all that it may
// be scaled to are approved. A rollback has no version that anybody has to approve.
func (l *look) empties() bool {
	stable := l.stableRevision()
	return (l.Workload.Replicas == 0 || l.nothingLeft()) && l.Workload.native().EmptyTakesTemplate && !l.isRollback() && len(l.steps()) > 0 && (!l.share().all() || !l.allTraffic()) && stable != "" && l.hasTemplate(stable) &&
		stable != l.record.UpdateRevision
}

// nothingLeft reports whether a step is in progress and no version is to have pods, as after a scale to 0 and up
// again. The native controller would give all pods to the ReplicaSet of the template, or to the next one (T1).
func (l *look) nothingLeft() bool {
	return l.entered() && l.pods.Updated.Wanted == 0 && l.oldReplicas() == 0
}

// emptying reports whether a workload that is otherwise as it should be gets another template because of how
// many pods it has.
func (l *look) emptying() bool { return l.heldAsMeant() && l.empty != l.empties() }

// stableTemplate is the template to write to a workload that is scaled to 0; nil if it has it already.
func (l *look) stableTemplate() *Template {
	if l.empty || l.runsStable() {
		return nil
	}
	return &Template{Revision: l.stableRevision()}
}

// refill reports whether the release may go on with its own template: the pods that the workload is scaled to are
// those of the stable revision.
func refill(d Decision) (Decision, bool) {
	switch {
	case !d.empty || d.Workload.Replicas == 0:
		return d, true
	case !d.Live.Has(ReadCounts):
		return d.read(ReadCounts), false
	case d.Workload.Mover.Refilled(d.stableRevision(), d.Workload.Behind):
		return d, true
	default:
		return makeStable(d), false
	}
}

// makeStable makes what the stable pods are in again, if somebody has deleted it: the workload has its template.
func makeStable(d Decision) Decision {
	write := d.Workload.Mover.Refill(d.refilling())
	if write == nil {
		return d
	}
	if reads := ReadWorkload | ReadCounts; !d.Live.Has(reads) {
		return d.read(reads)
	}
	return d.do(d.moves([]mover.Write{write})...)
}

// refilling is the start of the stable revision.
func (l *look) refilling() mover.Beginning {
	return mover.Beginning{
		Digest: l.Workload.Digest, Stable: l.stableRevision(), AtHand: true,
		Replicas: l.Workload.Replicas, Bounds: l.bounds(), Mode: mover.Mode{AwaitTermination: l.awaitsTermination()},
	}
}

// rollEmpty takes a workload without pods through the steps: only the gates are left to ask.
func rollEmpty(d Decision) Decision {
	stops := d.stopped().any()
	if !stops {
		var entered bool
		if d, entered = enterFirstStep(d); !entered {
			return d
		}
	}
	d, t := follow(d)
	d, t, st := steer(d, t)
	if d.needs.Any() {
		return d
	}
	d = count(d).with(func(r *record) { r.Progress = nil }) // nothing can become available
	if last := d.Workload.Mover.Clear(t); len(last) > 0 {
		return takeLast(d, last)
	}
	d = makeStable(d)
	switch {
	case d.failed():
		d, _ = rollBackFailed(d)
		return d
	case stops && !d.entered(), d.Workload.Replicas > 0: // only the stable version's pods come (nothingLeft)
		return d
	}
	d = rollOn(d)
	switch {
	case stops:
		d, _ = turnRound(d, len(d.record.Gates) > 0)
	case d.ending() != nil:
		d = finish(d, st)
	case d.pods.Settled && !d.rescaling():
		d, _ = passStep(d, t, st)
	}
	return d
}

// takeLast takes the pods away that are left.
func takeLast(d Decision, last []mover.Write) Decision {
	if reads := ReadWorkload | ReadCounts | ReadRelease; !d.Live.Has(reads) {
		return d.read(reads)
	}
	return d.do(d.moves(last)...)
}

// emptiedReason says why a workload gets another template because of how many pods it has.
func (l *look) emptiedReason() Reason {
	switch {
	case l.empties() && l.Workload.Replicas == 0:
		return Reason("scaled to 0: the next pods are of the stable revision " + l.stableRevision())
	case l.empties():
		return Reason("no version has pods: the next pods are of the stable revision " + l.stableRevision())
	}
	return Reason("the release of revision " + l.record.UpdateRevision + " goes on")
}
