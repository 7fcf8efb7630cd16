package deployment

// growth returns how many pods the set of the new version may have right away: as many as there
// is room for, and one beyond without surge if otherwise the native controller would scale the old
// ones, or none of them could make room (T1).
func (b *table) growth(target int32) int32 {
	have := b.updatedTotal()
	room, known := b.room(b.updated)
	if known && room == 0 && have == 0 && target > 0 && (b.tight() && b.pinned() || b.held()) {
		b.joins = b.joins || b.held()
		return 1
	}
	return have + max(min(room-b.lacking(), target-have), 0)
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

// growUpdated adds updated pods.
func (b *table) growUpdated(target int32) {
	if !b.updated.shrinking() {
		b.updated.want = b.growth(target)
	}
}

// replaceLast adds the last updated pod where the last old one goes, if there is no surge: the
// native controller adds it otherwise, as soon as the set is the only active one (T1).
func (b *table) replaceLast() {
	if b.lacksOne() && b.oldTotal() == 0 && b.oldReplicas() > 0 && !b.updated.shrinking() {
		b.updated.want++
	}
}

// lacksOne reports whether, without surge, all pods but one are updated, of a target of all, and no
// more pods run than there may be.
func (b *table) lacksOne() bool {
	room, known := b.room(b.updated)
	return known && room >= 0 && b.tight() && b.updated.Replicas > 0 && b.Target == b.Replicas && b.updated.want == b.Replicas-1
}

// growOld adds pods of the version before, after spec.replicas grew or pods were taken away.
// A rollback has none to add: the version before it is the bad one.
func (b *table) growOld(others int32) {
	r := b.toGrow()
	if r == nil || r.shrinking() || r.unsure() || b.Rollback {
		return
	}
	room, known := b.room(r)
	up := min(others-b.oldTotal(), room) - b.lacking()
	if !b.Rescaling && !b.Blocked && !b.SteppingBack {
		up = min(up, b.Replicas-b.total())
	}
	if known && room == 0 && b.tight() && others > 0 && b.alone() {
		up = 1
	}
	r.want += max(up, 0)
}

// alone reports whether the updated pods, some of which are to go back, are all that there are. The
// native controller sets a lone active set to all replicas, so that another one must have a pod
// first (T1).
func (b *table) alone() bool {
	return b.takesBack() && b.updated.want > 0 && b.oldTotal() == 0 && b.oldReplicas() == 0
}

// takesBack reports whether updated pods may make room for old ones.
func (b *table) takesBack() bool {
	return b.SteppingBack || (b.Rescaling || b.Blocked) && !b.Rollback && b.Target < b.Replicas
}

// toGrow returns the old set to grow: that of the stable revision, else the newest that runs
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
