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
	moves := mover.Moves{GrowsFirst: true, Unread: !t.set.Live}
	if pods := t.standing(t.choose(excess, t.toGoBack(), false)); len(pods) > 0 {
		moves.Shrink = []mover.Write{inplace.Replace{Pods: pods, Why: t.whyBack(), Updated: true}}
	}
	return moves
}

// toGoBack returns the updated pods in the order in which they go back.
func (t task) toGoBack() choice {
	var free, rest choice
	for i, s := range t.slots {
		switch {
		case !s.updated:
		case s.available():
			rest = append(rest, int32(i))
		default:
			free = append(free, int32(i))
		}
	}
	slices.Reverse(free)
	return append(free, rest...)
}

// whyBack says why updated pods go back.
func (t task) whyBack() mover.Why {
	if t.Rescaling && !t.Grown && !t.Blocked && !t.SteppingBack {
		return mover.FewerReplicas
	}
	return mover.BackToTarget
}
