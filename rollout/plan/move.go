package plan

import (
	"slices"
	"time"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// patience is how long small changes of a large release are collected before they are
// written: each costs requests, and pods become available one by one.
const patience = 250 * time.Millisecond

// move brings the pods nearer to the target and to the others that it leaves. A small change waits for a moment, in which more of
// the same kind may follow.
func move(d Decision, t mover.Task) Decision {
	until := d.LastScale.Add(patience)
	if !d.LastScale.IsZero() && d.Now.Before(until) && d.Workload.Mover.Move(t).Small {
		return d.wakeAt(until)
	}
	return resize(d, t, mover.Mover.Move)
}

// keepScale follows spec.replicas in a release that is stopped and otherwise leaves the pods as they are.
func keepScale(d Decision, t mover.Task) Decision {
	return resize(d, t, mover.Mover.Keep)
}

// resize writes what a task results in. Where other pods go in an order, that is as far as they may go in it now.
func resize(d Decision, t mover.Task, moves func(mover.Mover, mover.Task) mover.Moves) Decision {
	all := moves(d.Workload.Mover, t)
	if !d.ordered() || all.Order == nil {
		return write(d.with(func(r *record) { r.PausePoint = nil }), all)
	}
	d, ordered := putInOrder(d, all.Order)
	if !ordered {
		return d
	}
	d, t.Limits = limits(d, all.Order)
	return write(d, moves(d.Workload.Mover, t))
}

// write turns moves into actions: growth first, unless it takes the place of what shrinks.
func write(d Decision, all mover.Moves) Decision {
	if d.Workload.Behind > 0 {
		all.Shrink = nil // the old version might be given back what is taken from it
	}
	if len(all.Grow)+len(all.Shrink) == 0 {
		return d
	}
	if all.GrowsFirst {
		d, done := writeGrowth(d, all.Grow)
		if done {
			d, _ = writeShrink(d, all)
		}
		return d
	}
	d, done := writeShrink(d, all)
	if done { // if a shrink is refused there is no room for more
		d, _ = writeGrowth(d, all.Grow)
	}
	return d
}

// writeGrowth adds pods. It reports whether it does: if a growth is refused, what is to make room for it stays.
func writeGrowth(d Decision, grow []mover.Write) (Decision, bool) {
	if len(grow) == 0 {
		return d, true
	}
	d, may := mayGrow(d)
	if !may {
		return d, false
	}
	return d.try(d.moves(grow)...)
}

// writeShrink takes pods away. It reports whether it does.
func writeShrink(d Decision, all mover.Moves) (Decision, bool) {
	if len(all.Shrink) == 0 {
		return d, true
	}
	d, may := mayShrink(d, all)
	if !may {
		return d, false
	}
	return d.try(d.moves(all.Shrink)...)
}

// moves are the actions of writes.
func (l *look) moves(writes []mover.Write) []Action {
	var actions []Action
	for _, w := range writes {
		actions = append(actions, MovePods{l.moveReason(w.Reason()), w})
	}
	return actions
}

// mayGrow asks for the live reads that more pods depend on. Without them a shell that reads its
// own writes knows what the others have, except what the native controller does itself, and what the process before
// this one did.
func mayGrow(d Decision) (Decision, bool) {
	reads, first := ReadWorkload, d.LastScale.IsZero()
	if first || d.rescaling() || d.pods.Self {
		reads |= ReadCounts
	}
	if first {
		reads |= ReadRelease
	}
	d = d.read(reads)
	return d, !d.needs.Any()
}

// mayShrink asks for the live reads that a shrink depends on.
func mayShrink(d Decision, all mover.Moves) (Decision, bool) {
	reads := ReadWorkload
	if all.Unread {
		reads |= ReadCounts
	}
	if slices.ContainsFunc(all.Shrink, mover.Write.Updates) {
		reads |= ReadRelease
		if !d.rescaling() || d.grown() {
			reads |= ReadGates
		}
	}
	d = d.read(reads)
	return d, !d.needs.Any()
}
