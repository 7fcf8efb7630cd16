package plan

import (
	"slices"
	"time"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// patience is how long small changes of a large release are collected before they are written: each
// costs requests, and pods become available one by one.
const patience = 250 * time.Millisecond

// nativePatience is how long the native controller may take for what it does by itself, counted
// from when it has seen the last write. Doing it in its place costs requests.
const nativePatience = 3 * time.Second

// untidied is how long a write waits that only matters if the workload is scaled up, where every
// pod may be updated: the write of the next batch, or the hand-back, may make it needless.
const untidied = time.Minute

// move brings the pods nearer to the target, and to the others that it leaves. A move that can wait
// for a moment, in which more may follow, waits.
func move(d Decision, t mover.Task) Decision {
	if until := mayWaitUntil(d.snap, t); !d.snap.obs.LastScale.IsZero() && d.snap.now.Before(until) {
		return d.wakeAt(until, WakeBatchMoves)
	}
	return resize(d, t, mover.Mover.Move)
}

// mayWaitUntil returns until when the next moves may wait.
func mayWaitUntil(s *snapshot, t mover.Task) time.Time {
	if !s.now.Before(s.obs.LastScale.Add(untidied)) {
		return s.obs.LastScale
	}
	switch moves := s.workload.Mover.Move(t); {
	// At a gate of the last step nothing is put off: what updates pods without us is closed (I8).
	case moves.Tidies && s.gates().passed() && reach(s, t.Target) >= s.workload.Replicas:
		return s.obs.LastScale.Add(untidied)
	case moves.Native && s.obs.NativeSince.After(s.obs.LastScale):
		return s.obs.NativeSince.Add(nativePatience)
	case moves.Native:
		return s.obs.LastScale.Add(nativePatience)
	case moves.Small:
		return s.obs.LastScale.Add(patience)
	default:
		return s.obs.LastScale
	}
}

// keepScale follows spec.replicas in a release that is stopped, and otherwise leaves the pods as
// they are.
func keepScale(d Decision, t mover.Task) Decision {
	return resize(d, t, mover.Mover.Keep)
}

// resize writes the moves of a task. If other pods go in an order, they go as far as the order
// allows now.
func resize(d Decision, t mover.Task, moves func(mover.Mover, mover.Task) mover.Moves) Decision {
	all := moves(d.snap.workload.Mover, t)
	if !ordered(d.snap) || all.Order == nil {
		return write(d.with(func(r *record) { r.PausePoint = nil }), all)
	}
	d, ordered := putInOrder(d, all.Order)
	if !ordered {
		return d
	}
	d, limited := limits(d, all.Order)
	t.Limits, t.Turn = limited.Limits, limited.Turn
	return write(d, moves(d.snap.workload.Mover, t))
}

// write turns moves into actions: growth first, unless it takes the place of what shrinks.
func write(d Decision, all mover.Moves) Decision {
	if d.snap.workload.Behind > 0 {
		all.Shrink = nil // the old version might be given back what is taken from it
	}
	if len(all.Grow)+len(all.Shrink) == 0 {
		return d
	}
	if all.GrowsFirst {
		d, done := writeGrowth(d, all)
		if done && (len(all.Grow) == 0 || !all.Unread) { // else the answers to the growth are reads
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

// writeGrowth plans to add pods. It reports whether it does: if a growth is refused, the pods that
// were to make room for it stay.
func writeGrowth(d Decision, all mover.Moves) (Decision, bool) {
	if len(all.Grow) == 0 {
		return d, true
	}
	d, may := mayGrow(d, all)
	if !may {
		return d, false
	}
	return d.try(moveActions(d.snap, all.Grow)...)
}

// writeShrink plans to remove pods. It reports whether it does.
func writeShrink(d Decision, all mover.Moves) (Decision, bool) {
	if len(all.Shrink) == 0 {
		return d, true
	}
	d, may := mayShrink(d, all)
	if !may {
		return d, false
	}
	return d.try(moveActions(d.snap, all.Shrink)...)
}

// moveActions returns the actions of writes.
func moveActions(s *snapshot, writes []mover.Write) []Action {
	var actions []Action
	for _, w := range writes {
		actions = append(actions, MovePods{moveReason(s, w.Reason()), w})
	}
	return actions
}

// mayGrow requests the live reads that more pods depend on. Without them a shell that reads its own
// writes knows the sizes of the others, except for what the native controller changes itself, and
// what the process before wrote. A write that only narrows what may come back updated needs no
// counts, and one that the workload guards needs no other read of it.
func mayGrow(d Decision, all mover.Moves) (Decision, bool) {
	reads, first := ReadWorkload, d.snap.obs.LastScale.IsZero()
	if all.Guarded {
		reads = 0
	}
	if first || rescaling(d.snap) || d.snap.pods.Self && !all.Narrows {
		reads |= ReadCounts
	}
	if first && !d.snap.obs.Wrote {
		reads |= ReadRelease
	}
	d = d.read(reads)
	return d, !d.needs.Any()
}

// mayShrink requests the live reads that a shrink depends on.
func mayShrink(d Decision, all mover.Moves) (Decision, bool) {
	reads := ReadWorkload
	if all.Unread {
		reads |= ReadCounts
	}
	if slices.ContainsFunc(all.Shrink, mover.Write.Updates) {
		reads |= ReadRelease
		if !rescaling(d.snap) || hasGrown(d.snap) {
			reads |= ReadGates
		}
	}
	d = d.read(reads)
	return d, !d.needs.Any()
}
