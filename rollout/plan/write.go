package plan

import (
	"slices"
	"time"

	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// patience is how long small changes of a large release are collected before they are
// written: each costs requests, and pods become available one by one.
const patience = 250 * time.Millisecond

// write turns sizes into actions: growth first, unless it takes the place of what shrinks.
func (p *pass) write(sizes deployment.Sizes) {
	grow, shrink := sizes.Changes()
	if p.Workload.Behind > 0 {
		shrink = nil // the old set might be given back what is taken from it
	}
	if len(grow)+len(shrink) == 0 {
		return
	}
	growFirst := sizes.GrowsFirst()
	if growFirst && len(grow) > 0 {
		if !p.mayGrow() {
			return
		}
		p.do(p.scales(grow)...)
	}
	if len(shrink) > 0 {
		if !p.mayShrink(shrink) {
			return
		}
		if !p.do(p.scales(shrink)...) {
			return // there is no room for more
		}
	}
	if !growFirst && p.mayGrow() {
		p.do(p.scales(grow)...)
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

// scales are the actions for changes of sizes.
func (p *pass) scales(changes []deployment.Scale) []Action {
	var actions []Action
	for _, c := range changes {
		actions = append(actions, ScaleSet{Reason: p.scaleReason(c.Why), Set: c.Set, From: c.From, To: c.To})
	}
	return actions
}

// mayShrink asks for the live reads that a shrink rests on: every set that counts as
// available, but for a lone one that shrinks, whose write is guarded by its version.
func (p *pass) mayShrink(shrink []deployment.Scale) bool {
	lone := ""
	if len(shrink) == 1 {
		lone = shrink[0].Set.Name
	}
	unsure := slices.ContainsFunc(p.Sets, func(s Set) bool { return !s.Live && s.Name != lone && s.Available > 0 })
	update := p.updateSet()
	touchesUpdate := slices.ContainsFunc(shrink, func(s deployment.Scale) bool { return s.Set.Name == update.Name })
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
func (p *pass) tooSmall(sizes deployment.Sizes) bool {
	until := p.LastScale.Add(patience)
	if p.LastScale.IsZero() || !p.Now.Before(until) || !sizes.Small() {
		return false
	}
	p.wakeAt(until)
	return true
}

// scaleReason says why a set gets another size.
func (p *pass) scaleReason(why deployment.Why) Reason {
	switch why {
	case deployment.Unnote:
		return "or the native controller empties the others again"
	case deployment.BackToTarget:
		return Reason("back to what batch " + p.status.Batch + " says")
	case deployment.FewerReplicas:
		return "fewer replicas: the batch's share of them"
	case deployment.MoreReplicas:
		return "more replicas: the rest runs the version before"
	default:
		return p.batchReason()
	}
}

func (p *pass) batchReason() Reason {
	if p.status.Phase == "" || p.status.Batch == "" {
		return "follow spec.replicas"
	}
	return Reason("batch " + p.status.Batch)
}
