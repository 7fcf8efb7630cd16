package deployment

// shrinkUpdated takes updated pods away in three cases. spec.replicas has changed: it fell, or the
// native controller made every pod an updated one while there were no others. The step waits for a
// gate and a user had unpaused the workload, so that pods went beyond the step. Or the step was
// jumped back to with its pods.
func (b *table) shrinkUpdated(target int32) {
	r := b.updated
	if b.Grown && !b.SteppingBack {
		target = max(target, b.Reach)
	}
	excess := min(r.want-target, b.mayLose(r))
	if excess <= 0 || !b.Rescaling && !b.Blocked && !b.SteppingBack || b.alone() {
		return
	}
	if b.emptied() && (b.oldTotal() <= b.oldReplicas() || b.serves()) {
		b.keepOthers = true
		return
	}
	r.want -= min(excess, r.idle()+b.spare())
}

// emptied reports whether the native controller takes all old pods away as soon as it looks: the
// new set has all the replicas, and its note of them (T2). Old pods count for nothing then. Once
// the note is off, and the old sets have been read again, they do; if one of them grows right after
// the note is taken off, what the native controller has decided before is refused.
func (b *table) emptied() bool {
	u := b.updated
	return u != nil && u.Noted && u.Replicas >= b.Replicas && b.oldTotal() > 0
}

// shrinkOld takes old pods away: first those that are not available, so that a broken
// version does not block the one that fixes it, then the rest; the oldest set first.
func (b *table) shrinkOld(others int32) {
	excess := b.oldTotal() - others
	// The native controller scales a lone set back up, also a new one that lacks pods (T1).
	if b.active() > 1 {
		excess = max(excess, min(excess+b.lacking(), b.oldTotal()-min(b.rest(), 1)))
	}
	broken := min(excess, b.brokenRoom())
	for _, r := range b.old {
		down := max(min(broken, r.idle(), b.mayGo(r)), 0)
		down = b.keepLast(b.keepTwoActive(r, down))
		r.want -= down
		broken -= down
		excess -= down
	}
	for _, r := range b.old {
		down := max(min(excess, b.spare(), b.mayGo(r)), 0)
		down = b.keepLast(b.keepTwoActive(r, down))
		r.want -= down
		excess -= down
	}
}

// mayGo returns how many pods of a set may go in their order, room and availability aside.
func (b *table) mayGo(r *row) int32 {
	limit, limited := b.Limits[r.UID]
	if !limited {
		return b.mayLose(r)
	}
	beyond := b.total() - b.most() // spec.replicas is the user's, and is followed
	return min(max(r.want-limit.Paused, beyond), r.want-limit.Proven, b.mayLose(r))
}

// manyPods is how many pods take the cluster a while to make.
const manyPods = 8

// mayStay returns how many old pods beyond the others may stay for now, within maxSurge. While many
// updated pods are being made the old ones stay, so as not to hold them up; they go while those
// start, when the cluster has nothing else to do. Where others stay for requests the updated ones
// may need that room.
func (b *table) mayStay() int32 {
	r := b.updated
	made := r.Observed && r.Current >= b.Target && r.want >= b.Target
	if b.Rescaling || made || r.Failure != nil || b.Target-r.Available < manyPods {
		return 0
	}
	return max(min(b.Surge, b.most()-b.Replicas-(b.others()-b.rest())), 0)
}

// brokenRoom returns how many unavailable old pods may go (maxScaledDown in reconcileOldReplicaSets
// of the native controller): all - (replicas - maxUnavailable) - unavailable updated pods.
func (b *table) brokenRoom() int32 {
	missing := max(b.updated.want-b.updated.Available, 0)
	return max(b.total()-b.least()-missing, 0)
}

// keepTwoActive limits a shrink that would leave one active set while no updated pod is there: the
// native controller would set that one to all replicas, now or when somebody scales the workload
// (T1). The steadiest is never the one to go.
func (b *table) keepTwoActive(r *row, down int32) int32 {
	if b.updatedTotal() > 0 || down < r.want || b.Replicas == 0 {
		return down
	}
	if !b.Rollback && b.steadiest(r) {
		return max(down-1, 0)
	}
	others, all := 0, false
	for _, other := range b.old {
		if other != r && other.want > 0 {
			others++
			all = other.want == b.Replicas
		}
	}
	if others == 1 && !all {
		return max(down-1, 0)
	}
	return down
}

// keepLast keeps the last old pod until no more than one updated one is missing: the native
// controller sets a lone new set to all replicas, whether the pods of the old one are deleted or
// not (T1).
func (b *table) keepLast(down int32) int32 {
	if down < b.oldTotal() || down == 0 || b.updated.want >= b.Replicas || b.lacksOne() {
		return down
	}
	return down - 1
}

// steadiest reports whether there are other old sets that are to have pods, and all of them are
// less steady.
func (b *table) steadiest(r *row) bool {
	others := false
	for _, other := range b.old {
		if other == r || other.want == 0 {
			continue
		}
		if b.steady(other.Set) >= b.steady(r.Set) {
			return false
		}
		others = true
	}
	return others
}
