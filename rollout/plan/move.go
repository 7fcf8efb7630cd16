package plan

import (
	"slices"
	"time"
)

// patience is how long small changes of a large release are collected before they are
// written: each costs requests, and pods become available one by one.
const patience = 250 * time.Millisecond

// ledger is the arithmetic of one pass: what the sets have, and are to have.
type ledger struct {
	*pass
	fence
	update *Set
	old    []*Set
	want   map[*Set]int32
}

func (p *pass) ledger() *ledger {
	l := &ledger{pass: p, fence: p.fence(), update: p.updateSet(), old: p.oldSets(), want: map[*Set]int32{}}
	for _, set := range l.sets() {
		l.want[set] = set.Replicas
	}
	return l
}

// sets are all of them, that of the new revision first.
func (l *ledger) sets() []*Set {
	if l.update == nil {
		return l.old
	}
	return append([]*Set{l.update}, l.old...)
}

func (l *ledger) total() int32 {
	return sum(l.sets(), func(s *Set) int32 { return l.want[s] })
}

func (l *ledger) oldTotal() int32 {
	return sum(l.old, func(s *Set) int32 { return l.want[s] })
}

// available is how many pods are available if of each set the unavailable ones go first, as
// the ReplicaSet controller has it.
func (l *ledger) available() int32 {
	return sum(l.sets(), func(s *Set) int32 { return min(s.Available, l.want[s]) })
}

// room is how many pods may be added: replicas + maxSurge - all (maxTotalPods in
// NewRSNewReplicas of the native controller).
func (l *ledger) room() int32 { return max(l.Workload.Replicas+l.surge-l.total(), 0) }

// spare is how many available pods may go: available - (replicas - maxUnavailable).
func (l *ledger) spare() int32 { return max(l.available()-l.least(), 0) }

func (l *ledger) least() int32 { return l.Workload.Replicas - l.unavailable }

// move brings the sets nearer to target updated pods and replicas - target others.
func (p *pass) move(target int32) {
	l := p.ledger()
	others := max(p.Workload.Replicas-target, 0)
	grown := l.growUpdate(target)
	l.growOld(others)
	l.shrinkUpdate(target)
	l.shrinkOld(others)
	if grown == 0 {
		l.growUpdate(target)
	}
	p.write(l, target, others)
}

// keepScale follows spec.replicas in a failed release and otherwise leaves the pods as they are.
func (p *pass) keepScale() {
	p.rescale()
	l := p.ledger()
	target := min(l.update.Replicas, p.status.TargetReplicas)
	l.growOld(max(p.Workload.Replicas-target, 0))
	if excess := l.total() - p.Workload.Replicas - l.surge; excess > 0 {
		l.shrinkUpdate(target)
		l.shrinkOld(max(p.Workload.Replicas-target, 0))
	}
	p.write(l, -1, -1)
}

// growth is how many pods a set of the new revision may have right away.
func (p *pass) growth(update *Set, target int32) int32 {
	l := p.ledger()
	have := int32(0)
	if update != nil {
		have = l.want[update]
	}
	up := max(min(l.room(), target-have), 0)
	if up == 0 && have == 0 && target > 0 && l.active() == 1 {
		return 1 // or the native controller would set the one active set back to all replicas
	}
	return have + up
}

// active counts the sets that have, or are to have, pods.
func (l *ledger) active() int {
	n := 0
	for _, set := range l.sets() {
		if l.want[set] > 0 || set.Replicas > 0 {
			n++
		}
	}
	return n
}

// growUpdate adds updated pods and returns how many.
func (l *ledger) growUpdate(target int32) int32 {
	have := l.want[l.update]
	up := max(min(l.room(), target-have), 0)
	if up == 0 && have == 0 && target > 0 && l.active() == 1 {
		up = 1 // see growth
	}
	l.want[l.update] += up
	return up
}

// growOld adds pods of the version before after spec.replicas grew.
func (l *ledger) growOld(others int32) {
	up := min(others-l.oldTotal(), l.room())
	if set := l.stableSet(); up > 0 && set != nil {
		l.want[set] += up
	}
}

// stableSet is the old set to grow: that of the stable revision, else the newest that runs
// pods, else the newest.
func (l *ledger) stableSet() *Set {
	var newest *Set
	for _, set := range l.old {
		if set.Revision == l.status.StableRevision {
			return set
		}
		if newest == nil || set.Replicas > 0 || newest.Replicas == 0 {
			newest = set
		}
	}
	return newest
}

// shrinkUpdate takes updated pods away after spec.replicas fell, but none that spec.replicas
// asks for while there is no other.
func (l *ledger) shrinkUpdate(target int32) {
	set := l.update
	excess := min(l.want[set]-target, l.total()-l.Workload.Replicas)
	if excess <= 0 {
		return
	}
	idle := max(l.want[set]-set.Available, 0)
	l.want[set] -= min(excess, idle+l.spare())
}

// shrinkOld takes old pods away: first those that are not available, so that a broken
// version does not block the one that mends it, then the rest; the oldest set first.
func (l *ledger) shrinkOld(others int32) {
	excess := l.oldTotal() - others
	broken := min(excess, l.brokenRoom())
	for _, set := range l.old {
		down := max(min(broken, l.want[set]-set.Available), 0)
		down = l.keepTwoActive(set, down)
		l.want[set] -= down
		broken -= down
		excess -= down
	}
	for _, set := range l.old {
		down := max(min(excess, l.spare(), l.want[set]), 0)
		down = l.keepTwoActive(set, down)
		l.want[set] -= down
		excess -= down
	}
}

// brokenRoom is how many unavailable old pods may go (maxScaledDown in reconcileOldReplicaSets
// of the native controller): all - (replicas - maxUnavailable) - unavailable updated pods.
func (l *ledger) brokenRoom() int32 {
	missing := max(l.want[l.update]-l.update.Available, 0)
	return max(l.total()-l.least()-missing, 0)
}

// keepTwoActive limits a shrink that would leave one active set while no updated pod is
// there: the native controller would set that one to all replicas.
func (l *ledger) keepTwoActive(set *Set, down int32) int32 {
	if l.want[l.update] > 0 || down < l.want[set] {
		return down
	}
	others := 0
	for _, other := range l.old {
		if other != set && l.want[other] > 0 {
			others++
		}
	}
	if others == 1 {
		return max(down-1, 0)
	}
	return down
}

// write turns the ledger into actions: growth first, unless only a shrink makes room for it.
func (p *pass) write(l *ledger, target, others int32) {
	grow, shrink := l.changes()
	if len(grow)+len(shrink) == 0 || p.tooSmall(l, target, others) {
		return
	}
	if !p.Workload.Live {
		p.out.Needs.Workload = true
		return
	}
	roomFirst := l.fits(grow)
	if roomFirst {
		p.do(grow...)
	}
	if !p.mayShrink(shrink) {
		return
	}
	p.do(shrink...)
	if !roomFirst {
		p.do(grow...)
	}
}

// changes are the writes that the ledger comes to.
func (l *ledger) changes() (grow, shrink []Action) {
	for _, set := range l.sets() {
		want := l.want[set]
		action := ScaleSet{Reason: l.scaleReason(set, want), Set: *set, From: set.Replicas, To: want}
		switch {
		case want > set.Replicas:
			grow = append(grow, action)
		case want < set.Replicas:
			shrink = append(shrink, action)
		}
	}
	return grow, shrink
}

// fits reports whether the growth is within the surge, or the one pod beyond it, before
// anything shrinks.
func (l *ledger) fits(grow []Action) bool {
	total := sum(l.sets(), func(s *Set) int32 { return s.Replicas })
	for _, action := range grow {
		total += action.(ScaleSet).To - action.(ScaleSet).From
	}
	return total <= l.Workload.Replicas+l.surge || l.update.Replicas == 0 && l.active() <= 2
}

// mayShrink asks for the live reads that a shrink rests on: every set that counts as
// available, but for a lone one that shrinks, whose write is guarded by its version.
func (p *pass) mayShrink(shrink []Action) bool {
	lone := ""
	if len(shrink) == 1 {
		lone = shrink[0].(ScaleSet).Set.Name
	}
	for _, set := range p.Sets {
		if len(shrink) > 0 && !set.Live && set.Name != lone && set.Available > 0 {
			p.out.Needs.Sets = true
		}
	}
	update := p.updateSet()
	touchesUpdate := slices.ContainsFunc(shrink, func(a Action) bool { return a.(ScaleSet).Set.Name == update.Name })
	p.out.Needs.Release = p.out.Needs.Release || touchesUpdate && !p.ReleaseLive
	return !p.out.Needs.Sets && !(touchesUpdate && !p.ReleaseLive)
}

// tooSmall holds a change back for a moment in which more of its kind may come. What ends
// the step, and what is an eighth of the room there is, is never held back.
func (p *pass) tooSmall(l *ledger, target, others int32) bool {
	until := p.LastScale.Add(patience)
	if p.LastScale.IsZero() || !p.Now.Before(until) || target < 0 {
		return false
	}
	if l.want[l.update] == target && l.oldTotal() == others {
		return false
	}
	var change int32
	for _, set := range l.sets() {
		change += max(l.want[set]-set.Replicas, set.Replicas-l.want[set])
	}
	if change >= max((l.surge+l.unavailable)/8, 1) {
		return false
	}
	p.wakeAt(until)
	return true
}

// scaleReason says why a set gets another size.
func (l *ledger) scaleReason(set *Set, want int32) Reason {
	switch {
	case set == l.update && want < set.Replicas:
		return "fewer replicas: the batch's share of them"
	case set != l.update && want > set.Replicas:
		return "more replicas: the rest runs the version before"
	default:
		return l.batchReason()
	}
}

func (p *pass) batchReason() Reason {
	if p.status.Phase == "" || p.status.Batch == "" {
		return "follow spec.replicas"
	}
	return Reason("batch " + p.status.Batch)
}
