package deployment

// shrinkUpdated takes updated pods away in three cases. spec.replicas has changed: it fell, or the
// native controller made every pod an updated one while there were no others. The step waits for a
// gate and a user had unpaused the workload, so that pods went beyond the step. Or the step was
// jumped back to with its pods.
func (d *draft) shrinkUpdated(target int32) {
	r := d.sizes.updated
	if d.Grown && !d.SteppingBack {
		target = max(target, d.Reach)
	}
	excess := min(r.want-target, d.requests.mayLose(r))
	if excess <= 0 || !d.Rescaling && !d.Blocked && !d.SteppingBack || d.alone() {
		return
	}
	if d.sizes.emptied(d.Replicas) && (d.sizes.oldTotal() <= d.sizes.oldReplicas() || d.requests.serve(d.sizes.old)) {
		d.keepOthers = true
		return
	}
	r.want -= min(excess, r.idle()+d.space.spare(d.sizes))
}

// shrinkOld takes old pods away: first those that are not available, so that a broken
// version does not block the one that fixes it, then the rest; the oldest set first.
func (d *draft) shrinkOld(others int32) {
	excess := d.sizes.oldTotal() - others
	// The native controller scales a lone set back up, also a new one that lacks pods (T1).
	if d.sizes.active() > 1 {
		excess = max(excess, min(excess+d.requests.lacking(d.sizes.old), d.sizes.oldTotal()-min(d.rest(), 1)))
	}
	broken := min(excess, d.space.brokenRoom(d.sizes))
	for _, r := range d.sizes.old {
		down := max(min(broken, r.idle(), d.mayGo(r)), 0)
		down = d.keepLast(d.keepTwoActive(r, down))
		r.want -= down
		broken -= down
		excess -= down
	}
	for _, r := range d.sizes.old {
		down := max(min(excess, d.space.spare(d.sizes), d.mayGo(r)), 0)
		down = d.keepLast(d.keepTwoActive(r, down))
		r.want -= down
		excess -= down
	}
}

// mayGo returns how many pods of a set may go in their order, room and availability aside. While
// updated pods wait for those of the set to be deleted, no more go: they go with the growth.
func (d *draft) mayGo(r *row) int32 {
	if u := d.sizes.updated; r.shrinking() && u.want == u.Replicas && u.want < d.Target && !d.Rescaling {
		return 0
	}
	limit, limited := d.Limits[r.UID]
	if !limited {
		return d.requests.mayLose(r)
	}
	beyond := d.sizes.total() - d.space.most // spec.replicas is the user's, and is followed
	return min(max(r.want-limit.Paused, beyond), r.want-limit.Proven, d.requests.mayLose(r))
}

// manyPods is how many pods take the cluster a while to make.
const manyPods = 8

// mayStay returns how many old pods beyond the others may stay for now, within maxSurge. While many
// updated pods are created the old ones stay: their deletion would delay that. They go while the
// new ones start. Where others stay for requests the updated ones may need that room.
func (d *draft) mayStay() int32 {
	r := d.sizes.updated
	made := r.Observed && r.Current >= d.Target && r.want >= d.Target
	if d.Rescaling || made || r.Failure != nil || d.Target-r.Available < manyPods {
		return 0
	}
	return max(min(d.Surge, d.space.most-d.Replicas-(d.others()-d.rest())), 0)
}

// keepTwoActive limits a shrink that would leave one active set while no updated pod is there: the
// native controller would set that one to all replicas, now or when somebody scales the workload
// (T1), unless requests ask for as many. The steadiest is never the one to go.
func (d *draft) keepTwoActive(r *row, down int32) int32 {
	if d.sizes.updatedTotal() > 0 || down < r.want || d.Replicas == 0 {
		return down
	}
	if !d.Rollback && d.steadiest(r) {
		return max(down-1, 0)
	}
	others, all := 0, false
	for _, other := range d.sizes.old {
		if other != r && other.want > 0 {
			others++
			all = other.want == d.Replicas || d.requests.growsTo(other) >= d.Replicas
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
func (d *draft) keepLast(down int32) int32 {
	if down < d.sizes.oldTotal() || down == 0 || d.sizes.updated.want >= d.Replicas || d.lacksOne() {
		return down
	}
	return down - 1
}

// steadiest reports whether there are other old sets that are to have pods, and all of them are
// less steady.
func (d *draft) steadiest(r *row) bool {
	others := false
	for _, other := range d.sizes.old {
		if other == r || other.want == 0 {
			continue
		}
		if steady(d.sets, d.Stable, other) >= steady(d.sets, d.Stable, r) {
			return false
		}
		others = true
	}
	return others
}
