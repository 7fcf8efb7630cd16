package statefulset

import (
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// task holds the wanted pods of a StatefulSet, and the present ones.
type task struct {
	mover.Task

	set    Mover
	places []inplace.Place
}

func (m Mover) task(t mover.Task) task { return task{t, m, m.places()} }

// acts reports whether the pods are known well enough to be moved: the observed revisions must be
// about the released template.
func (m Mover) acts(t mover.Task) bool {
	return m.secured() && m.listed() && m.Observed && t.Digest == m.Digest
}

// move takes the pods nearer to the target.
func (t task) move() mover.Moves {
	if excess := t.excess(); excess > 0 {
		return t.goBack(excess)
	}
	missing := t.Target - t.updated()
	taken := t.inRow(missing)
	if t.set.oneRevision() {
		taken = t.inAnyOrder(missing)
	} else if anywhere := t.inAnyOrder(missing); t.goesAnywhere(taken, anywhere) {
		return t.replace(inplace.Anywhere, anywhere)
	}
	return t.replace(t.partition(taken, t.mayAll() && missing > 0), taken)
}

// keep moves no pod forward. An updated pod that is lost comes back updated.
func (t task) keep() mover.Moves {
	t.SteppingBack = false
	switch excess := t.excess(); {
	case excess > 0:
		return t.goBack(excess)
	case t.set.partition() == inplace.Anywhere && t.mayAll() && slices.ContainsFunc(t.places, inplace.Place.Missing):
		return mover.Moves{}
	default:
		lost := t.lost(t.Target - t.updated())
		return t.replace(t.partition(lost, false), lost)
	}
}

// replace deletes the pods of the places, once the partition is the one with which they come back
// updated.
func (t task) replace(partition int32, taken []inplace.Place) mover.Moves {
	moves := mover.Moves{GrowsFirst: true, Small: t.small(taken)}
	if now := t.set.partition(); partition != now {
		moves.Grow = []mover.Write{t.window(partition)}
		moves.Guarded, moves.Narrows = true, now != inplace.Anywhere && partition > now
		moves.Tidies = moves.Narrows && (t.partition(taken, true) == now || t.mayAll() && t.updated() == t.set.Replicas)
		return moves
	}
	moves.Grow = inplace.Replacing(taken, mover.Forward, false)
	moves.Native = len(moves.Grow) > 0 && t.set.AtOnce > 1 // unless it can't (S3)
	return moves
}

// window sets another partition. Every pod that it reaches may go at once, within the release's
// maxUnavailable; the StatefulSet's own value is put back later (S3).
func (t task) window(to int32) inplace.Window {
	w := inplace.Window{Partition: to, Why: mover.Forward}
	if to > t.set.partition() {
		w.Why = mover.KeepOthers
	}
	if to != inplace.Held && to != inplace.Anywhere {
		w.Unavailable = t.Unavailable
	}
	return w
}

// partition returns the one with which the places that are taken come back updated, and the updated
// pods that are missing, but no others. One that is open already stays, if it does that, or if any
// pod may be updated and more are to be: each write costs a request.
func (t task) partition(taken []inplace.Place, goesOn bool) int32 {
	if t.set.oneRevision() {
		return inplace.Held
	}
	isTaken := make([]bool, len(t.places))
	for _, p := range taken {
		isTaken[p.Index] = true
	}
	lowest, reach := int32(inplace.Held), int32(len(t.places))-1
	for ; reach >= 0 && (t.places[reach].Updated || isTaken[reach]); reach-- {
		if isTaken[reach] || t.places[reach].Missing() {
			lowest = reach
		}
	}
	now := t.set.partition()
	if keeps := lowest < inplace.Held || goesOn && reach >= 0; keeps && now > reach && now < lowest && now != inplace.Anywhere {
		return now
	}
	return lowest
}

// goesAnywhere reports whether pods go in any order, with the strategy OnDelete, because in a row
// none would: the highest serves and has to stay, and below it are pods that do not serve. That is
// so only where any pod may be updated, so that it is right whichever comes back meanwhile. It
// stays so until the target is reached.
func (t task) goesAnywhere(inRow, anywhere []inplace.Place) bool {
	goes := slices.ContainsFunc(anywhere, inplace.Place.Stands)
	switch {
	case !t.mayAll():
		return false
	case t.set.partition() == inplace.Anywhere:
		return goes || t.updated() < t.Target || slices.ContainsFunc(t.places, inplace.Place.Missing)
	default:
		return goes && len(inRow) == 0
	}
}

// mayAll reports whether any pod may be updated: all are to be, or the version is the one to go
// back to.
func (t task) mayAll() bool { return t.Rollback || t.Target >= t.set.Replicas }

// small reports whether fewer pods are taken than might be in a moment, when updated pods become
// available.
func (t task) small(taken []inplace.Place) bool {
	n := int32(len(taken))
	starting := slices.ContainsFunc(t.places, func(p inplace.Place) bool { return p.Updated && !p.Available() })
	return n > 0 && n < t.Target-t.updated() && n < t.Unavailable && starting
}
