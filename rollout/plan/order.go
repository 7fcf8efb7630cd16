package plan

import (
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/order"
)

// ordered reports whether the release decides which old pods go first. A rollback has none: it
// takes the shortest way.
func (l *look) ordered() bool {
	strategy := &l.Release.Spec.Strategy
	return (len(strategy.Order) > 0 || strategy.PausePoints) && !l.isRollback()
}

// putInOrder makes sure that the old pods that go next have the costs of their order, before updated
// pods are added, which prove that the native controller has seen the costs, and before a version shrinks. It
// reports whether they do.
func putInOrder(d Decision, o *mover.Order) (Decision, bool) {
	if !o.Shrinks && d.inOrder(o) {
		return d, true
	}
	if d.record.Order == nil { // pods that are marked are known, whatever becomes of this pass
		return d.with(func(r *record) { r.Order = &v1alpha1.OrderStatus{Unordered: o.Pods} }).first(), false
	}
	reads := ReadPods
	if d.LastScale.IsZero() {
		reads |= ReadCounts
	}
	if !d.Live.Has(reads) {
		return d.read(reads), false
	}
	d = d.with(func(r *record) { r.Order = &v1alpha1.OrderStatus{Attempt: r.Attempt, Unordered: o.Unordered} })
	write := o.Sort(d.queue())
	if write == nil {
		return d, true
	}
	return d.do(d.moves([]mover.Write{write})...), false
}

// inOrder reports whether the record says that as many pods have costs as the step needs.
func (l *look) inOrder(o *mover.Order) bool {
	known := l.record.Order
	return o.Pods == 0 || known != nil && known.Attempt == l.record.Attempt && known.Unordered <= o.Unordered
}

// queue is the order in which old pods go.
func (l *look) queue() mover.Queue {
	return mover.Queue{Pods: l.Pods, Keys: l.Release.Spec.Strategy.Order, Pauses: l.pauses, Now: l.Now}
}

// limits are how far other versions may shrink in their order now, and which pods go first, as far as their pods are known.
func limits(d Decision, o *mover.Order) (Decision, mover.Limited) {
	if !d.Live.Has(ReadPods) {
		return d, mover.Limited{}
	}
	limited := o.Limits(d.queue())
	if !limited.Settles.IsZero() {
		d = d.wakeAt(limited.Settles)
	}
	return pauseBefore(d, limited.Held), limited
}

// pauses reports whether a pod has a pause point that nobody has confirmed.
func (l *look) pauses(pod order.Pod) bool {
	at := l.record.PausePoint
	return pod.Pause && (at == nil || at.UID != pod.UID || at.Confirmed != pod.Name)
}

// pauseInterval is how often a pod that the release pauses before is checked: pods are not watched.
const pauseInterval = 5 * time.Second

// pauseBefore records the pod that the release pauses before; nil if it pauses before none. One that was
// confirmed stays on record until it is gone.
func pauseBefore(d Decision, pod *order.Pod) Decision {
	at := d.record.PausePoint
	switch {
	case pod != nil && (at == nil || at.UID != pod.UID):
		now := &v1alpha1.PausePoint{Pod: pod.Name, UID: pod.UID, Node: pod.Node, Since: *d.time()}
		d = d.with(func(r *record) { r.PausePoint = now }).tell(pausedBefore{*now})
	case pod != nil || at == nil:
	case at.Confirmed == at.Pod && slices.ContainsFunc(d.Pods, func(pod order.Pod) bool { return pod.UID == at.UID }):
	default:
		d = leavePausePoint(d, at)
	}
	if d.paused() {
		d = d.wakeAt(d.Now.Add(pauseInterval))
	}
	return d
}

// leavePausePoint goes on. The progress deadline starts again: nothing could become available meanwhile.
func leavePausePoint(d Decision, at *v1alpha1.PausePoint) Decision {
	return d.tell(pauseEnded{*at}).with(func(r *record) {
		r.PausePoint = nil
		if r.Progress != nil {
			r.Progress = &v1alpha1.Progress{Available: r.Progress.Available, Since: *d.time()}
		}
	})
}

// paused reports whether the release pauses before a pod.
func (l *look) paused() bool {
	at := l.record.PausePoint
	return at != nil && at.Confirmed != at.Pod
}

// restoreCosts gives the pods that stay their own costs back. It reports whether that is done.
func restoreCosts(d Decision, why Reason) (Decision, bool) {
	if d.record.Order == nil {
		return d, true
	}
	if !d.Live.Has(ReadPods) {
		return d.read(ReadPods), false
	}
	done := true
	if write := d.Workload.Mover.Restore(d.Pods); write != nil {
		d, done = d.try(MovePods{why, write})
	}
	if done {
		d = d.with(func(r *record) { r.Order = nil })
	}
	return d, true
}
