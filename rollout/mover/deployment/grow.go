package deployment

// growth is how many pods the set of the new version may have right away: as many as there
// is room for, and one in any case if otherwise the native controller would scale the old
// ones, or none of them could make room (T1).
func (b *table) growth(target int32) int32 {
	have := b.updatedTotal()
	up := max(min(b.room(), target-have), 0)
	if up == 0 && have == 0 && target > 0 && b.pinned() {
		return 1
	}
	return have + up
}

// pinned reports whether the old sets can't shrink before there is an updated pod: the native
// controller sets a lone active one to all replicas, whatever it was scaled to (T1).
func (b *table) pinned() bool {
	active, single := 0, true
	for _, r := range b.old {
		if r.want > 0 || r.Replicas > 0 {
			active++
			single = single && r.want == 1
		}
	}
	return active == 1 || active == 2 && single && b.Replicas != 1
}

// growUpdated adds updated pods and reports whether there is one more now.
func (b *table) growUpdated(target int32) bool {
	have := b.updated.want
	if b.updated.shrinking() {
		return false
	}
	b.updated.want = b.growth(target)
	return b.updated.want > have
}

// growOld adds pods of the version before, after spec.replicas grew or pods were taken away.
// A rollback has none to add: the version before it is the bad one. It reports whether there
// is one more now.
func (b *table) growOld(others int32) bool {
	up := min(others-b.oldTotal(), b.room())
	if !b.Rescaling && !b.Blocked && !b.SteppingBack {
		up = min(up, b.Replicas-b.total())
	}
	if others > 0 && b.alone() {
		up = max(up, 1)
	}
	r := b.toGrow()
	if up <= 0 || r == nil || r.shrinking() || b.Rollback {
		return false
	}
	r.want += up
	return true
}

// alone reports whether the updated pods, some of which are to go back, are all that there are. The native
// controller sets a lone active set to all replicas, so that another one must have a pod first (T1).
func (b *table) alone() bool {
	return b.takesBack() && b.updated.want > 0 && b.oldTotal() == 0 && b.oldReplicas() == 0
}

// takesBack reports whether updated pods may make room for old ones.
func (b *table) takesBack() bool {
	return b.SteppingBack || b.Rescaling && !b.Rollback && b.Target < b.Replicas
}

// toGrow is the old set to grow: that of the stable revision, else the newest that runs
// pods, else the newest.
func (b *table) toGrow() *row {
	var newest *row
	for _, r := range b.old {
		if r.Revision == b.Stable {
			return r
		}
		if newest == nil || r.Replicas > 0 || newest.Replicas == 0 {
			newest = r
		}
	}
	return newest
}
