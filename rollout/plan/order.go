package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/order"
)

// ordered reports whether the release has a say in which old pods go first. A rollback has none: it
// takes the shortest way.
func (p *pass) ordered() bool {
	strategy := &p.Release.Spec.Strategy
	return (len(strategy.Order) > 0 || strategy.PausePoints) && p.status.RollbackTo == ""
}

// change fills a ledger and writes it, unless it is to wait. Where old pods go in an order, it is
// filled again with how many of them may go in that order now.
func (p *pass) change(fill func(*ledger), wait func(*ledger) bool) {
	l := p.ledger()
	fill(l)
	if wait(l) {
		return
	}
	if !p.ordered() {
		p.status.PausePoint = nil
		p.write(l)
		return
	}
	if !p.putInOrder(l) {
		return
	}
	limited := p.ledger()
	limited.limits = p.limits(l)
	fill(limited)
	p.write(limited)
}

// putInOrder sees to it that the old pods that go next bear the costs of their order, before updated
// pods are added, which prove that the ReplicaSet controller has seen the costs, and before a set shrinks. It
// reports whether they do.
func (p *pass) putInOrder(l *ledger) bool {
	shrinks := slices.ContainsFunc(l.old, func(s *Set) bool { return l.want[s] < s.Replicas })
	if !shrinks && p.inOrder(l) {
		return true
	}
	if p.status.Order == nil { // pods that are marked are known, whatever becomes of this pass
		p.status.Order = &v1alpha1.OrderStatus{Unordered: l.oldReplicas()}
		p.out.StatusFirst = true
		return false
	}
	if needs := (Needs{Pods: !p.PodsLive, Sets: p.LastScale.IsZero() && !p.SetsLive}); needs.Any() {
		p.need(needs)
		return false
	}
	p.status.Order = &v1alpha1.OrderStatus{Attempt: p.status.Attempt, Unordered: l.unordered()}
	changes := p.costs(l)
	if len(changes) > 0 {
		p.do(OrderPods{Reason: p.batchReason(), Changes: changes})
	}
	return len(changes) == 0
}

// inOrder reports whether the status says that as many pods bear costs as the step needs.
func (p *pass) inOrder(l *ledger) bool {
	o := p.status.Order
	return l.oldReplicas() == 0 || o != nil && o.Attempt == p.status.Attempt && o.Unordered <= l.unordered()
}

// unordered is how many old pods need no cost yet: those that outlive the step, less those that the next
// one may begin with before it adds a pod.
func (l *ledger) unordered() int32 { return max(l.Workload.Replicas-l.target-l.unavailable, 0) }

// costs are what has to be written to the old pods, the oldest set first.
func (p *pass) costs(l *ledger) []order.Change {
	after := int32(0)
	if u := l.update; u != nil {
		after = max(u.Replicas, u.Current, int32(len(p.podsOf(u))))
	}
	all := sum(l.old, func(s *Set) int32 { return int32(len(p.podsOf(s))) })
	next := max(all-l.unordered(), 0)
	var changes []order.Change
	for _, set := range l.old {
		sorted := p.podsOf(set)
		have := int32(len(sorted))
		n := min(have, next)
		next -= n
		n = max(n, have-l.want[set])
		changes = append(changes, order.Costs(sorted, int(n), after, p.Now)...)
	}
	return changes
}

// podsOf are the pods of a set in the order in which they are to go.
func (p *pass) podsOf(set *Set) []order.Pod {
	pods := slices.DeleteFunc(slices.Clone(p.Pods), func(pod order.Pod) bool { return pod.Set != set.UID })
	return order.Sort(pods, p.Release.Spec.Strategy.Order)
}

// limit is how far a set may shrink: not below proven, because the ReplicaSet controller may not have
// seen the costs of more pods, nor below paused, because of a pause point, unless spec.replicas asks for it.
type limit struct{ proven, paused int32 }

// limits are those of the old sets, as far as their pods are known. After a pause point nothing goes.
func (p *pass) limits(l *ledger) map[*Set]limit {
	if !p.PodsLive {
		return nil
	}
	limits, held := map[*Set]limit{}, (*order.Pod)(nil)
	stopped := false
	for _, set := range l.old {
		going := order.Going(p.podsOf(set))
		have := int32(len(going))
		wanted := max(have-l.want[set], 0)
		before, at := p.pausePoint(going)
		switch {
		case stopped:
			before = 0
		case at != nil && before == 0 && wanted > 0 && !l.beyond():
			held = at
		}
		stopped = stopped || before < wanted
		limits[set] = limit{proven: have - p.free(going, wanted), paused: have - before}
	}
	p.holdBefore(held)
	return limits
}

// beyond reports whether there are more pods than spec.replicas allows: it fell, and is followed.
func (l *ledger) beyond() bool {
	return sum(l.sets(), func(s *Set) int32 { return s.Replicas }) > l.Workload.Replicas+l.surge
}

// pausePoint is the first of the pods with a pause point, and how many may go before it; nil and all
// of them if there is none. Nobody knows which of the pods that are not ready goes first.
func (p *pass) pausePoint(going []order.Pod) (int32, *order.Pod) {
	i := slices.IndexFunc(going, p.pauses)
	if i < 0 {
		return int32(len(going)), nil
	}
	at := &going[i]
	if at.Stage != order.Ready {
		i = slices.IndexFunc(going, func(pod order.Pod) bool { return pod.Stage == at.Stage })
	}
	return int32(i), at
}

// free is how many pods are sure to go first; where that is not enough, time will help.
func (p *pass) free(going []order.Pod, wanted int32) int32 {
	updated := int32(0)
	if u := p.updateSet(); u != nil {
		updated = u.Current
	}
	n, settled := order.Free(going, updated, p.Now)
	if int32(n) < wanted && settled.After(p.Now) {
		p.wakeAt(settled)
	}
	return int32(n)
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
