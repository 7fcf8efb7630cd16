package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// roll takes a workload that is held through the steps.
func roll(d Decision) Decision {
	switch {
	case d.nativeMayAct() || d.newSetGoes():
		return d
	case d.empty:
		return rollEmpty(d)
	case d.stopped().any():
		return stand(d)
	}
	d, entered := enterFirstStep(d)
	if !entered {
		return d
	}
	d, t := follow(d)
	switch {
	case !d.hasUpdated():
		return waitForSet(createSet(d, t))
	case d.failed() && !d.arrived():
		return stayFailed(count(d), t)
	}
	d = recordProgress(rollOn(count(d)))
	if d.stepDone(t.Target) {
		d, t = passStep(d, t)
	}
	if d.record.Phase == v1alpha1.PhaseFinalizing || d.statusFirst {
		return d
	}
	return inTime(move(d, t))
}

// stayFailed leaves a failed release where it is, unless it is to be rolled back.
func stayFailed(d Decision, t deployment.Task) Decision {
	if back, turns := rollBackFailed(d); turns {
		return back
	}
	return keepScale(d, t)
}

// waitForSet runs the progress deadline of a batch whose ReplicaSet is refused.
func waitForSet(d Decision) Decision {
	switch {
	case d.refused == nil:
		return d
	case d.failed():
		d, _ = rollBackFailed(d)
		return d
	default:
		return inTime(d)
	}
}

// createSet makes the ReplicaSet of the new revision, which the native controller does not
// do while the workload is paused, with as many pods of the first step as there is room for.
func createSet(d Decision, t deployment.Task) Decision {
	if d.failed() || d.stopped().any() {
		t.Target = 0
	}
	if t.Target > 0 && d.ordered() {
		var ordered bool
		if d, ordered = putInOrder(d, t.Now()); !ordered {
			return d
		}
	}
	d, may := mayGrow(d)
	if !may {
		return d
	}
	return d.do(CreateSet{Reason: d.batchReason(), Revision: d.record.UpdateRevision, Replicas: t.First()})
}

// nativeMayAct reports whether the native controller may still act on what the workload was
// before, in which case nothing is created or scaled: the write of its status goes on from here.
// Where only our take-over is unseen and one old ReplicaSet has all the replicas, it could do no
// more than take new pods away again, which costs them their start.
func (l *look) nativeMayAct() bool {
	if l.Workload.Behind != 1 {
		return l.Workload.Behind > 1
	}
	lone := deployment.Lone(l.Sets)
	return lone == nil || lone.Replicas != l.Workload.Replicas || lone.Digest == l.Workload.Digest
}

// newSetGoes reports whether the ReplicaSet that is the new one to the native controller is being deleted. Until it
// is gone its name is taken, and with another one beside it we and that controller would mean two.
func (l *look) newSetGoes() bool {
	set := l.NewSet()
	return set != nil && set.Deleting
}

// arrived reports whether all pods that are wanted in the end are available, however
// late: there is nothing left to hold back.
func (l *look) arrived() bool {
	return l.lastStep() && l.updatedAvailable() >= l.Workload.Replicas
}

// stepDone reports whether the pods that the step says are updated and available. In the end,
// and where a gate stands, the ReplicaSet must have been looked at since it was scaled, and no
// more old pods may be left than the step says; elsewhere the next step takes them away, in
// one write with its own. What is jumped back to is there when no updated pod is too many, and no other missing.
func (l *look) stepDone(target int32) bool {
	rest := l.Workload.Replicas - target
	switch {
	case l.updatedAvailable() < target:
		return false
	case l.stepsBack():
		return l.update.Observed && l.update.Replicas <= target && l.oldReplicas() == rest
	case !l.lastStep() && len(l.gatesToPass()) == 0:
		return true
	default:
		return l.update.Observed && l.oldReplicas() <= rest
	}
}
