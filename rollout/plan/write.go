package plan

import (
	"slices"
	"time"
)

// patience is how long small changes of a large release are collected before they are
// written: each costs requests, and pods become available one by one.
const patience = 250 * time.Millisecond

// write turns the ledger into actions: growth first, unless only a shrink makes room for it.
func (p *pass) write(l *ledger) {
	grow, shrink := l.changes()
	if p.Workload.Behind > 0 {
		shrink = nil // the old set might be given back what is taken from it
	}
	if len(grow)+len(shrink) == 0 {
		return
	}
	growFirst := l.fits(grow)
	if growFirst && len(grow) > 0 {
		if !p.mayGrow() {
			return
		}
		p.do(grow...)
	}
	if len(shrink) > 0 {
		if !p.mayShrink(shrink) {
			return
		}
		if !p.do(shrink...) {
			return // there is no room for more
		}
	}
	if !growFirst && p.mayGrow() {
		p.do(grow...)
	}
}

// mayGrow asks for the live reads that more pods rest on. Without them a shell that reads its
// own writes knows what the others have, but for what the native controller does while a set
// is the only active one, and what the process before this one did.
func (p *pass) mayGrow() bool {
	first := p.LastScale.IsZero()
	active := slices.DeleteFunc(slices.Clone(p.Sets), func(s Set) bool { return s.Replicas == 0 })
	unsure := first || p.rescaling() || len(active) < 2
	p.need(Needs{
		Workload: !p.Workload.Live,
		Sets:     unsure && !p.SetsLive,
		Release:  first && !p.ReleaseLive,
	})
	return !p.out.Needs.Any()
}

// need adds to what is asked for.
func (p *pass) need(more Needs) {
	n := &p.out.Needs
	n.Workload, n.Sets = n.Workload || more.Workload, n.Sets || more.Sets
	n.Release, n.Gates = n.Release || more.Release, n.Gates || more.Gates
	n.Failing, n.Pods, n.Kept = n.Failing || more.Failing, n.Pods || more.Pods, n.Kept || more.Kept
}

// changes are the writes that the ledger comes to.
func (l *ledger) changes() (grow, shrink []Action) {
	if u := l.update; u.Noted && l.oldTotal() > l.oldReplicas() {
		grow = append(grow, u.unnote("or the native controller empties the others again"))
	}
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
	joined := l.takesBack() && l.oldReplicas() == 0 && l.oldTotal() == 1
	return total <= l.Workload.Replicas+l.surge || joined || l.update.Replicas == 0 && l.active() <= 2
}

// mayShrink asks for the live reads that a shrink rests on: every set that counts as
// available, but for a lone one that shrinks, whose write is guarded by its version.
func (p *pass) mayShrink(shrink []Action) bool {
	lone := ""
	if len(shrink) == 1 {
		lone = shrink[0].(ScaleSet).Set.Name
	}
	unsure := slices.ContainsFunc(p.Sets, func(s Set) bool { return !s.Live && s.Name != lone && s.Available > 0 })
	update := p.updateSet()
	touchesUpdate := slices.ContainsFunc(shrink, func(a Action) bool { return a.(ScaleSet).Set.Name == update.Name })
	p.need(Needs{
		Workload: !p.Workload.Live,
		Sets:     unsure,
		Release:  touchesUpdate && !p.ReleaseLive,
		Gates:    touchesUpdate && (!p.rescaling() || p.grown()) && !p.GatesLive,
	})
	return !p.out.Needs.Any()
}

// tooSmall holds a change back for a moment in which more of its kind may come. What ends
// the step, and what is an eighth of the room there is, is never held back.
func (p *pass) tooSmall(l *ledger, others int32) bool {
	until := p.LastScale.Add(patience)
	if p.LastScale.IsZero() || !p.Now.Before(until) {
		return false
	}
	if l.want[l.update] == p.target && l.oldTotal() == others {
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
	case (set == l.update) == (want < set.Replicas) && !l.rescaling():
		return Reason("back to what batch " + l.status.Batch + " says")
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
