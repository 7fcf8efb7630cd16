package plan

import (
	"slices"
	"time"

	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// patience is how long small changes of a large release are collected before they are
// written: each costs requests, and pods become available one by one.
const patience = 250 * time.Millisecond

// move brings the pods nearer to the target and to the others that it leaves. A small change waits for a moment, in which more of
// the same kind may follow.
func move(d Decision, t deployment.Task) Decision {
	until := d.LastScale.Add(patience)
	if !d.LastScale.IsZero() && d.Now.Before(until) && t.Move().Small() {
		return d.wakeAt(until)
	}
	return resize(d, t, deployment.Task.Move)
}

// keepScale follows spec.replicas in a release that is stopped and otherwise leaves the pods as they are.
func keepScale(d Decision, t deployment.Task) Decision {
	return resize(d, t, deployment.Task.Keep)
}

// resize writes the sizes that a task results in. Where old pods go in an order, that is as far as they may go in it now.
func resize(d Decision, t deployment.Task, sizes func(deployment.Task) deployment.Sizes) Decision {
	all := sizes(t)
	if !d.ordered() {
		return write(d.with(func(r *record) { r.PausePoint = nil }), all)
	}
	d, ordered := putInOrder(d, all)
	if !ordered {
		return d
	}
	d, t.Limits = limits(d, all)
	return write(d, sizes(t))
}

// write turns sizes into actions: growth first, unless it takes the place of what shrinks.
func write(d Decision, sizes deployment.Sizes) Decision {
	grow, shrink := sizes.Changes()
	if d.Workload.Behind > 0 {
		shrink = nil // the old set might be given back what is taken from it
	}
	if len(grow)+len(shrink) == 0 {
		return d
	}
	if sizes.GrowsFirst() {
		d, done := writeGrowth(d, grow)
		if done {
			d, _ = writeShrink(d, shrink)
		}
		return d
	}
	d, done := writeShrink(d, shrink)
	if done { // if a shrink is refused there is no room for more
		d, _ = writeGrowth(d, grow)
	}
	return d
}

// writeGrowth adds pods. It reports whether everything that it depends on was read live.
func writeGrowth(d Decision, grow []deployment.Scale) (Decision, bool) {
	if len(grow) == 0 {
		return d, true
	}
	d, may := mayGrow(d)
	if !may {
		return d, false
	}
	return d.do(d.scales(grow)...), true
}

// writeShrink takes pods away. It reports whether it does.
func writeShrink(d Decision, shrink []deployment.Scale) (Decision, bool) {
	if len(shrink) == 0 {
		return d, true
	}
	d, may := mayShrink(d, shrink)
	if !may {
		return d, false
	}
	return d.try(d.scales(shrink)...)
}

// scales are the actions of changes.
func (l *look) scales(changes []deployment.Scale) []Action {
	var actions []Action
	for _, c := range changes {
		actions = append(actions, ScaleSet{Reason: l.scaleReason(c.Why), Set: c.Set, From: c.From, To: c.To})
	}
	return actions
}

// unnote takes the native controller's note off a set, which keeps its size.
func unnote(s *Set, why Reason) ScaleSet {
	return ScaleSet{Reason: why, Set: *s, From: s.Replicas, To: s.Replicas}
}

// mayGrow asks for the live reads that more pods depend on. Without them a shell that reads its
// own writes knows what the others have, except what the native controller does while a set
// is the only active one, and what the process before this one did.
func mayGrow(d Decision) (Decision, bool) {
	first := d.LastScale.IsZero()
	unsure := first || d.rescaling() || deployment.Active(d.Sets) < 2
	d = d.need(Needs{
		Workload: !d.Workload.Live,
		Sets:     unsure && !d.SetsLive,
		Release:  first && !d.ReleaseLive,
	})
	return d, !d.needs.Any()
}

// mayShrink asks for the live reads that a shrink depends on: every set that counts as
// available, except a lone one that shrinks, whose write is guarded by its version.
func mayShrink(d Decision, shrink []deployment.Scale) (Decision, bool) {
	lone := ""
	if len(shrink) == 1 {
		lone = shrink[0].Set.Name
	}
	unsure := slices.ContainsFunc(d.Sets, func(s Set) bool { return !s.Live && s.Name != lone && s.Available > 0 })
	touchesUpdated := slices.ContainsFunc(shrink, func(c deployment.Scale) bool { return c.Set.Name == d.update.Name })
	d = d.need(Needs{
		Workload: !d.Workload.Live,
		Sets:     unsure,
		Release:  touchesUpdated && !d.ReleaseLive,
		Gates:    touchesUpdated && (!d.rescaling() || d.grown()) && !d.GatesLive,
	})
	return d, !d.needs.Any()
}
