package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// roll takes a workload that is held through the steps.
func roll(d Decision) Decision {
	switch {
	case d.nativeMayAct() || d.pods.Leaving:
		return lookAgainUnobserved(d)
	case d.empty:
		return rollEmpty(d)
	case d.stopped().any():
		return stand(d)
	}
	d, entered := enterFirstStep(d)
	if !entered {
		return lookAgainUnobserved(d)
	}
	d, t := follow(d)
	target := t.Target
	d, t, st := steer(d, t)
	switch {
	case d.needs.Any():
		return d
	case !d.hasUpdated():
		return waitForRoom(makeRoom(d, t))
	case d.failed() && !d.arrived():
		return stayFailed(count(d), t)
	}
	d = recordProgress(rollOn(count(d)))
	switch {
	case d.ending() != nil:
		d = finish(d, st)
	case st.Done && d.stepDone(target, d.others(t.Keep)):
		d, t = passStep(d, t, st)
	}
	if d.record.Phase == v1alpha1.PhaseFinalizing || d.statusFirst {
		return d
	}
	return inTime(move(d, t))
}

// stayFailed leaves a failed release where it is, unless it is to be rolled back.
func stayFailed(d Decision, t mover.Task) Decision {
	if back, turns := rollBackFailed(d); turns {
		return back
	}
	return keepScale(d, t)
}

// waitForRoom runs the progress deadline of a batch whose pods have nothing to be in, because that is refused, or nobody can tell which pods are
// updated.
func waitForRoom(d Decision) Decision {
	switch {
	case d.refused == nil && !d.pods.Final:
		return d
	case d.failed():
		d, _ = rollBackFailed(d)
		return d
	default:
		return inTime(d)
	}
}

// makeRoom creates the ReplicaSet of updated pods, with as many pods of the first step as there is room for. If no
// version has pods, the stable ones come first.
func makeRoom(d Decision, t mover.Task) Decision {
	switch {
	case d.nothingLeft() && !d.Live.Has(ReadKept): // a cache may not have the stable template yet
		return d.read(ReadKept)
	case d.empties():
		return d.first()
	}
	if d.failed() || d.stopped().any() {
		t.Target = 0
	}
	if now := d.Workload.Mover.Now(t).Order; now != nil && t.Target > 0 && d.ordered() {
		var ordered bool
		if d, ordered = putInOrder(d, now); !ordered {
			return d
		}
	}
	d, may := mayGrow(d, mover.Moves{})
	if !may {
		return d
	}
	if write := d.Workload.Mover.Make(t); write != nil {
		d = d.do(d.moves([]mover.Write{write})...)
	}
	return d
}

// nativeMayAct reports whether the native controller may still act on what the workload was
// before, in which case no pods are moved: the write of its status goes on from here.
func (l *look) nativeMayAct() bool {
	w := l.Workload
	return w.Mover.MayAct(w.Digest, w.Replicas, w.Behind)
}

// arrived reports whether all pods that are wanted in the end are available, however
// late: there is nothing left to hold back.
func (l *look) arrived() bool {
	return l.lastStep() && l.updatedAvailable() >= l.Workload.Replicas
}

// stepDone reports whether the pods that the step says are updated and available. In the end,
// and where a gate stands, the counts must be about what is wanted, and no
// more old pods may be left than the step says; elsewhere the next step takes them away, in
// one write with its own. What is jumped back to is there when no updated pod is too many, and no other missing.
// Others may be kept for the requests that they get.
func (l *look) stepDone(target, kept int32) bool {
	least := l.Workload.Replicas - target
	rest := max(least, kept)
	switch {
	case l.updatedAvailable() < target:
		return false
	case l.stepsBack():
		return l.pods.Updated.Observed && l.pods.Updated.Wanted <= target && l.oldReplicas() >= least && l.oldReplicas() <= rest
	case !l.lastStep() && len(l.gatesToPass()) == 0:
		return true
	default:
		return l.pods.Updated.Observed && l.oldReplicas() <= rest
	}
}
