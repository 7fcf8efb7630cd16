package plan

import (
	"slices"
	"time"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// patience is how long small changes of a large release are collected before they are
// written: each costs requests, and pods become available one by one.
const patience = 250 * time.Millisecond

// nativePatience is how long the native controller may take for what it does by itself, from when it has seen the last write until
// what it does is seen: doing it in its place costs requests.
const nativePatience = 3 * time.Second

// untidied is how long a write waits that matters only to whoever scales the workload up, where every pod may be updated: the
// write of the next batch, or the hand-back, may make it needless.
const untidied = time.Minute

// move brings the pods nearer to the target and to the others that it leaves. What can wait for a moment, in which more may
// follow, waits.
func move(d Decision, t mover.Task) Decision {
	if until := d.mayWait(t); !d.LastScale.IsZero() && d.Now.Before(until) {
		return d.wakeAt(until)
	}
	return resize(d, t, mover.Mover.Move)
}

// mayWait is until when the next moves may wait.
func (l *look) mayWait(t mover.Task) time.Time {
	if !l.Now.Before(l.LastScale.Add(untidied)) {
		return l.LastScale
	}
	switch moves := l.Workload.Mover.Move(t); {
	case moves.Tidies && l.letThrough() && l.reach(t.Target) >= l.Workload.Replicas:
		return l.LastScale.Add(untidied)
	case moves.Native && l.NativeSince.After(l.LastScale):
		return l.NativeSince.Add(nativePatience)
	case moves.Native:
		return l.LastScale.Add(nativePatience)
	case moves.Small:
		return l.LastScale.Add(patience)
	default:
		return l.LastScale
	}
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
	d, limited := limits(d, all.Order)
	t.Limits, t.Turn = limited.Limits, limited.Turn
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
		d, done := writeGrowth(d, all)
		if done {
			d, _ = writeShrink(d, all)
		}
		return d
	}
	d, done := writeShrink(d, all)
	if done { // if a shrink is refused there is no room for more
		d, _ = writeGrowth(d, all)
	}
	return d
}

// writeGrowth adds pods. It reports whether it does: if a growth is refused, what is to make room for it stays.
func writeGrowth(d Decision, all mover.Moves) (Decision, bool) {
	if len(all.Grow) == 0 {
		return d, true
	}
	d, may := mayGrow(d, all)
	if !may {
		return d, false
	}
	return d.try(d.moves(all.Grow)...)
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
// this one did. A write that only narrows what may come back updated needs no counts, and one that the workload guards no
// other reading of it.
func mayGrow(d Decision, all mover.Moves) (Decision, bool) {
	reads, first := ReadWorkload, d.LastScale.IsZero()
	if all.Guarded {
		reads = 0
	}
	if first || d.rescaling() || d.pods.Self && !all.Narrows {
		reads |= ReadCounts
	}
	if first && !d.Wrote {
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
