package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/order"
)

// ordered reports whether the release has a say in which old pods go first. A rollback has none: it
// takes the shortest way.
func (p *pass) ordered() bool {
	strategy := &p.Release.Spec.Strategy
	return (len(strategy.Order) > 0 || strategy.PausePoints) && p.status.RollbackTo == ""
}

// change writes the sizes that the pods of the workload are to have, unless they are to wait. Where old pods go in an order,
// the sizes are reckoned again with how many of them may go in that order now.
func (p *pass) change(reckon func(deployment.Task) deployment.Sizes, wait func(deployment.Sizes) bool) {
	task := p.task()
	sizes := reckon(task)
	if wait(sizes) {
		return
	}
	if !p.ordered() {
		p.status.PausePoint = nil
		p.write(sizes)
		return
	}
	if !p.putInOrder(sizes) {
		return
	}
	if p.PodsLive {
		limited := sizes.Limits(p.queue())
		task.Limits = limited.Limits
		if !limited.Settles.IsZero() {
			p.wakeAt(limited.Settles)
		}
		p.holdBefore(limited.Held)
	}
	p.write(reckon(task))
}

// queue is the order in which old pods go.
func (p *pass) queue() deployment.Queue {
	return deployment.Queue{Pods: p.Pods, Keys: p.Release.Spec.Strategy.Order, Pauses: p.pauses, Now: p.Now}
}

// putInOrder sees to it that the old pods that go next bear the costs of their order, before updated
// pods are added, which prove that the ReplicaSet controller has seen the costs, and before a set shrinks. It
// reports whether they do.
func (p *pass) putInOrder(sizes deployment.Sizes) bool {
	if !sizes.ShrinksOld() && p.inOrder(sizes) {
		return true
	}
	if p.status.Order == nil { // pods that are marked are known, whatever becomes of this pass
		p.status.Order = &v1alpha1.OrderStatus{Unordered: sizes.OldPods()}
		p.out.StatusFirst = true
		return false
	}
	if needs := (Needs{Pods: !p.PodsLive, Sets: p.LastScale.IsZero() && !p.SetsLive}); needs.Any() {
		p.need(needs)
		return false
	}
	p.status.Order = &v1alpha1.OrderStatus{Attempt: p.status.Attempt, Unordered: sizes.Unordered()}
	changes := sizes.Costs(p.queue())
	if len(changes) > 0 {
		p.do(OrderPods{Reason: p.batchReason(), Changes: changes})
	}
	return len(changes) == 0
}

// inOrder reports whether the status says that as many pods bear costs as the step needs.
func (p *pass) inOrder(sizes deployment.Sizes) bool {
	o := p.status.Order
	return sizes.OldPods() == 0 || o != nil && o.Attempt == p.status.Attempt && o.Unordered <= sizes.Unordered()
}

// pauses reports whether a pod has a pause point that nobody has confirmed.
func (p *pass) pauses(pod order.Pod) bool {
	at := p.status.PausePoint
	return pod.Pause && (at == nil || at.UID != pod.UID || at.Confirmed != pod.Name)
}

// pauseInterval is how often a pod that the release holds before is looked at: pods are not watched.
const pauseInterval = 5 * time.Second

// holdBefore records the pod that the release holds before; nil if it holds before none. One that was
// confirmed stays on record until it is gone.
func (p *pass) holdBefore(pod *order.Pod) {
	at := p.status.PausePoint
	switch {
	case pod != nil && (at == nil || at.UID != pod.UID):
		p.status.PausePoint = &v1alpha1.PausePoint{Pod: pod.Name, UID: pod.UID, Node: pod.Node, Since: *p.now()}
		p.out.Events = append(p.out.Events, Event{false, v1alpha1.ReasonPausePoint, p.pauseMessage()})
	case pod != nil || at == nil:
	case at.Confirmed == at.Pod && slices.ContainsFunc(p.Pods, func(pod order.Pod) bool { return pod.UID == at.UID }):
	default:
		p.leavePausePoint()
	}
	if p.paused() {
		p.say(v1alpha1.ReasonPausePoint, p.pauseMessage())
		p.wakeAt(p.Now.Add(pauseInterval))
	}
}

// leavePausePoint goes on. The progress deadline starts anew: nothing could become available meanwhile.
func (p *pass) leavePausePoint() {
	text := "the pause point of pod " + p.status.PausePoint.Pod + " is gone"
	if p.status.PausePoint.Confirmed == p.status.PausePoint.Pod {
		text = "the pause point of pod " + p.status.PausePoint.Pod + " was confirmed"
	}
	p.out.Events = append(p.out.Events, Event{false, v1alpha1.ReasonPausePoint, text})
	p.status.PausePoint = nil
	p.restartClock()
}

// restartClock has the progress deadline count from now.
func (p *pass) restartClock() {
	if p.status.Progress != nil {
		p.status.Progress.Since, p.status.Progress.WaitedSeconds = *p.now(), 0
	}
}

// paused reports whether the release holds before a pod.
func (p *pass) paused() bool {
	at := p.status.PausePoint
	return at != nil && at.Confirmed != at.Pod
}

func (p *pass) pauseMessage() string {
	at := p.status.PausePoint
	return fmt.Sprintf("batch %s: holds before pod %s on node %s, which has a pause point: take its annotation away, or confirm it",
		p.status.Batch, at.Pod, orWord(at.Node, "none"))
}

// restoreCosts gives the pods that stay their own costs back. It reports whether that is done.
func (p *pass) restoreCosts(why Reason) bool {
	if p.status.Order == nil {
		return true
	}
	if !p.PodsLive {
		p.need(Needs{Pods: true})
		return false
	}
	changes := order.Restored(p.Pods)
	if len(changes) == 0 || p.do(OrderPods{Reason: why, Changes: changes}) {
		p.status.Order = nil
	}
	return true
}
