package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// A workload that is scaled to 0 in mid-release has the stable template until it has pods again, if
// its kind asks for it (mover.Native.EmptyTakesTemplate): at the next scale-up the native
// controller would make all pods of the workload's template, approved or not. The hold marks this
// as intended.

// emptied returns the workload as it would be with the template that is released, if it has the
// stable one because it was scaled to 0; nil otherwise.
func emptied(s *snapshot) *Workload {
	w, resolved := s.workload, s.record.Resolved
	if w == nil || !s.hold().held() || !w.Hold.Emptied || resolved == nil || s.record.completed() || !runsStable(s) {
		return nil
	}
	meant := *w
	meant.Digest, meant.Revision = resolved.Digest, s.record.UpdateRevision
	return &meant
}

// runsStable reports whether the workload has the stable template.
func runsStable(s *snapshot) bool {
	stable := stableRevision(s)
	kept := s.history.of(stable)
	return stable != "" && (s.workload.Revision == stable || kept != nil && kept.Digest == s.workload.Digest)
}

// stableRevision returns the stable revision; empty if there is none.
func stableRevision(s *snapshot) string {
	if s.record.StableRevision != "" {
		return s.record.StableRevision
	}
	return s.release.Annotations[v1alpha1.CurrentStableAnnotation]
}

// empties reports whether the workload is to have the stable template: it has no pods, and not all
// that it may be scaled to are approved. The version of a rollback needs no approval.
func empties(s *snapshot) bool {
	stable := stableRevision(s)
	if !s.workload.native().EmptyTakesTemplate || s.record.isRollback() || len(s.steps().list()) == 0 || takesAll(s) {
		return false
	}
	return (s.workload.Replicas == 0 || nothingLeft(s) || onlyExposed(s)) && stable != "" && stable != s.record.UpdateRevision && hasTemplate(s, stable)
}

// takesAll reports whether the current step gives the new version all pods and all requests.
func takesAll(s *snapshot) bool { return s.steps().share().all() && s.steps().allTraffic() }

// nothingLeft reports whether a step is in progress and no version is to have pods, as after a
// scale to 0 and up again. The native controller would give all pods to the ReplicaSet of the
// template, or to the next one (T1).
func nothingLeft(s *snapshot) bool {
	return s.record.entered() && s.pods.Updated.Wanted == 0 && s.pods.old() == 0
}

// onlyExposed reports whether a followed workload that was scaled up from 0 has no stable pod, nor
// gets one as it is: its pods have what others had applied by then. No step approves them, so the
// stable ones come first.
func onlyExposed(s *snapshot) bool {
	w, stable := s.workload, stableRevision(s)
	if !follows(s) || !w.native().InPlaces || !s.hold().held() || !w.Hold.Emptied || s.pods.updated() > 0 || w.Mover.Runs(stable) > 0 {
		return false
	}
	return !s.empty || !w.Mover.Refilled(stable, w.Behind)
}

// emptying reports whether the number of pods asks for another template on a workload that is
// otherwise as it should be.
func emptying(s *snapshot) bool { return s.hold().asMeant() && s.empty != empties(s) }

// stableTemplate returns the template to write to a workload that is scaled to 0; nil if it has it
// already.
func stableTemplate(s *snapshot) *Template {
	if s.empty || runsStable(s) {
		return nil
	}
	return &Template{Revision: stableRevision(s)}
}

// refill makes the pods that the workload is scaled to of the stable revision, unless all may be of
// the new one by now. It reports whether the release may go on with its own template.
func refill(d Decision) (Decision, bool) {
	switch {
	case !d.snap.empty || d.snap.workload.Replicas == 0 || takesAll(d.snap):
		return d, true
	case !d.snap.live(ReadCounts):
		return d.read(ReadCounts), false
	case d.snap.workload.Mover.Refilled(stableRevision(d.snap), d.snap.workload.Behind):
		return d, true
	default:
		return makeStable(d), false
	}
}

// makeStable creates the place of the stable pods again, if it was deleted: the workload has its
// template.
func makeStable(d Decision) Decision {
	write := d.snap.workload.Mover.Refill(refilling(d.snap))
	if write == nil {
		return d
	}
	if reads := ReadWorkload | ReadCounts; !d.snap.live(reads) {
		return d.read(reads)
	}
	return d.do(moveActions(d.snap, []mover.Write{write})...)
}

// refilling returns the start of the stable revision.
func refilling(s *snapshot) mover.Beginning {
	return mover.Beginning{
		Digest: s.workload.Digest, Stable: stableRevision(s), AtHand: true,
		Replicas: s.workload.Replicas, Bounds: s.steps().bounds(), Mode: mover.Mode{AwaitTermination: awaitsTermination(s)},
	}
}

// rollEmpty takes a workload without pods through the steps: only their gates are left.
func rollEmpty(d Decision) Decision {
	stops := stopsProgress(d.snap).any()
	if !stops {
		var entered bool
		if d, entered = enterFirstStep(d); !entered {
			return d
		}
	}
	d, t := follow(d)
	d, t, st := moveTraffic(d, t)
	if d.needs.Any() {
		return d
	}
	d = count(d).with(func(r *record) { r.Progress = nil }) // nothing can become available
	if last := d.snap.workload.Mover.Clear(t); len(last) > 0 {
		return takeLast(d, last)
	}
	d = makeStable(d)
	switch {
	case d.snap.record.failed():
		d, _ = rollBackFailed(d)
		return d
	case stops && !d.snap.record.entered(), d.snap.workload.Replicas > 0: // only the stable version's pods come (nothingLeft)
		return d
	}
	d = rollOn(d)
	switch {
	case stops:
		d, _ = turnRound(d, len(d.snap.record.Gates) > 0)
	case d.snap.record.ending() != nil:
		d = finish(d, st)
	case d.snap.pods.Settled && !rescaling(d.snap):
		if d, _ = passStep(d, t, st); d.snap.record.Phase != v1alpha1.PhaseFinalizing {
			d = failIfRefused(d) // no batch's clock runs without pods
		}
	}
	return d
}

// takeLast removes the pods that are left.
func takeLast(d Decision, last []mover.Write) Decision {
	if reads := ReadWorkload | ReadCounts | ReadRelease; !d.snap.live(reads) {
		return d.read(reads)
	}
	return d.do(moveActions(d.snap, last)...)
}

// emptiedReason says why a workload gets another template because of how many pods it has.
func emptiedReason(s *snapshot) Reason {
	switch {
	case empties(s) && s.workload.Replicas == 0:
		return Reason("scaled to 0: the next pods are of the stable revision " + stableRevision(s))
	case empties(s) && onlyExposed(s):
		return Reason("the pods have what was applied while there were none: the next ones are of the stable revision " + stableRevision(s))
	case empties(s):
		return Reason("no version has pods: the next pods are of the stable revision " + stableRevision(s))
	}
	return Reason("the release of revision " + s.record.UpdateRevision + " goes on")
}
