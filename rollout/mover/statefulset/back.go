package statefulset

import (
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// excess returns how many updated pods are to go back: a user scaled the StatefulSet while a window
// was open, or the step waits for a gate, or was jumped back to. None can go back where every pod
// comes back updated.
func (t task) excess() int32 {
	if t.Rollback || t.set.oneRevision() || !t.Rescaling && !t.Blocked && !t.SteppingBack {
		return 0
	}
	target := t.Target
	if t.Grown && !t.SteppingBack {
		target = max(target, t.Reach)
	}
	return t.updated() - target
}

// goBack deletes updated pods, once the partition is closed: they come back as they were before.
// Pods that are not available go first, then the lowest: the highest stay.
func (t task) goBack(excess int32) mover.Moves {
	if now := t.set.partition(); now != inplace.Held {
		return mover.Moves{GrowsFirst: true, Guarded: true, Grow: []mover.Write{t.window(inplace.Held)}}
	}
	going := inplace.Choose(t.toGoBack(), t.rule(excess, false))
	return mover.Moves{GrowsFirst: true, Unread: !t.set.Live, Shrink: inplace.Replacing(going, t.whyBack(), true)}
}

// toGoBack returns the updated places in the order in which their pods go back.
func (t task) toGoBack() []inplace.Place {
	var free, rest []inplace.Place
	for _, p := range t.places {
		switch {
		case !p.Updated:
		case p.Available():
			rest = append(rest, p)
		default:
			free = append(free, p)
		}
	}
	slices.Reverse(free)
	return append(free, rest...)
}

// whyBack returns why updated pods go back.
func (t task) whyBack() mover.Why {
	if t.Rescaling && !t.Grown && !t.Blocked && !t.SteppingBack {
		return mover.FewerReplicas
	}
	return mover.BackToTarget
}
