package plan

import (
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/order"
)

// ordered reports whether the release decides which old pods go first. A rollback takes the
// shortest way.
func ordered(s *snapshot) bool {
	strategy := &s.release.Spec.Strategy
	return (len(strategy.Order) > 0 || strategy.PausePoints) && !s.record.isRollback()
}

// putInOrder writes the costs of their order to the old pods that go next, before updated pods are
// added, which prove that the native controller has seen the costs, and before a version shrinks.
// It reports whether that is done.
func putInOrder(d Decision, o *mover.Order) (Decision, bool) {
	if !o.Shrinks && d.snap.record.inOrder(o) {
		return d, true
	}
	if d.snap.record.Order == nil { // pods that are marked are known, whatever becomes of this pass
		return d.with(func(r *record) { r.Order = &v1alpha1.OrderStatus{Unordered: o.Pods} }).first(), false
	}
	reads := ReadPods
	if d.snap.obs.LastScale.IsZero() {
		reads |= ReadCounts
	}
	if !d.snap.live(reads) {
		return d.read(reads), false
	}
	d = d.with(func(r *record) { r.Order = &v1alpha1.OrderStatus{Attempt: r.Attempt, Unordered: o.Unordered} })
	write := o.Sort(podQueue(d.snap))
	if write == nil {
		return d, true
	}
	return d.do(moveActions(d.snap, []mover.Write{write})...), false
}

// podQueue returns the order in which old pods go.
func podQueue(s *snapshot) mover.Queue {
	return mover.Queue{Pods: s.obs.Pods, Keys: s.release.Spec.Strategy.Order, Pauses: s.record.pausesBefore, Now: s.now}
}

// limits returns how far other versions may shrink in their order now, and which pods go first, if
// their pods are known.
func limits(d Decision, o *mover.Order) (Decision, mover.Limited) {
	if !d.snap.live(ReadPods) {
		return d, mover.Limited{}
	}
	limited := o.Limits(podQueue(d.snap))
	if !limited.Settles.IsZero() {
		d = d.wakeAt(limited.Settles, WakePodOrder)
	}
	return pauseBefore(d, limited.Held), limited
}

// pauseInterval is how often a pod is checked before which the release pauses: pods are not
// watched.
const pauseInterval = 5 * time.Second

// pauseBefore records the pod before which the release pauses; nil if it pauses before none. A
// confirmed pod stays recorded until it is gone.
func pauseBefore(d Decision, pod *order.Pod) Decision {
	at := d.snap.record.PausePoint
	switch {
	case pod != nil && (at == nil || at.UID != pod.UID):
		now := &v1alpha1.PausePoint{Pod: pod.Name, UID: pod.UID, Node: pod.Node, Since: *d.snap.time()}
		d = d.with(func(r *record) { r.PausePoint = now }).tell(pausedBefore{*now})
	case pod != nil || at == nil:
	case at.Confirmed == at.Pod && slices.ContainsFunc(d.snap.obs.Pods, func(pod order.Pod) bool { return pod.UID == at.UID }):
	default:
		d = leavePausePoint(d, at)
	}
	if d.snap.record.paused() {
		d = d.wakeAt(d.snap.now.Add(pauseInterval), WakePausePoint)
	}
	return d
}

// leavePausePoint goes on after a pause point. The progress deadline starts again: no pod could
// become available meanwhile.
func leavePausePoint(d Decision, at *v1alpha1.PausePoint) Decision {
	return d.tell(pauseEnded{*at}).with(func(r *record) {
		r.PausePoint = nil
		if r.Progress != nil {
			r.Progress = &v1alpha1.Progress{Available: r.Progress.Available, Since: *d.snap.time()}
		}
	})
}

// restoreCosts gives the pods that stay their own costs back. It reports whether the pods were
// read.
func restoreCosts(d Decision, why Reason) (Decision, bool) {
	if d.snap.record.Order == nil {
		return d, true
	}
	if !d.snap.live(ReadPods) {
		return d.read(ReadPods), false
	}
	done := true
	if write := d.snap.workload.Mover.Restore(d.snap.obs.Pods); write != nil {
		d, done = d.try(MovePods{why, write})
	}
	if done {
		d = d.with(func(r *record) { r.Order = nil })
	}
	return d, true
}
