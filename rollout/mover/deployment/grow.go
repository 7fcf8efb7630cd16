package deployment

// growth returns how many pods the set of the new version may have right away: as many as there
// is room for, and one beyond without surge if otherwise the native controller would scale the old
// ones, or none of them could make room (T1).
func (d *draft) growth(target int32) int32 {
	have := d.sizes.updatedTotal()
	room, known := d.space.room(d.sizes, d.sizes.updated)
	if known && room == 0 && have == 0 && target > 0 && (d.space.tight() && d.sizes.pinned(d.Replicas) || d.held()) {
		d.joins = d.joins || d.held()
		return 1
	}
	return have + max(min(room-d.requests.lacking(d.sizes.old), target-have), 0)
}

// growUpdated adds updated pods.
func (d *draft) growUpdated(target int32) {
	if u := d.sizes.updated; !u.shrinking() {
		u.want = d.growth(target)
	}
}

// replaceLast adds the last updated pod where the last old one goes, if there is no surge: the
// native controller adds it otherwise, as soon as the set is the only active one (T1).
func (d *draft) replaceLast() {
	if d.lacksOne() && d.sizes.oldTotal() == 0 && d.sizes.oldReplicas() > 0 && !d.sizes.updated.shrinking() {
		d.sizes.updated.want++
	}
}

// growOld adds pods of the version before, after spec.replicas grew or pods were taken away.
// A rollback has none to add: the version before it is the bad one.
func (d *draft) growOld(others int32) {
	r := toGrow(d.sizes.old, d.Stable)
	if r == nil || r.shrinking() || r.unsure() || d.Rollback {
		return
	}
	room, known := d.space.room(d.sizes, r)
	up := min(others-d.sizes.oldTotal(), room) - d.requests.lacking(d.sizes.old)
	if !d.Rescaling && !d.Blocked && !d.SteppingBack {
		up = min(up, d.Replicas-d.sizes.total())
	}
	if known && room == 0 && d.space.tight() && others > 0 && d.alone() {
		up, d.joins = 1, true
	}
	r.want += max(up, 0)
}

// toGrow returns the old set to grow: that of the stable revision, else the newest that runs
// pods, else the newest.
func toGrow(old []*row, stable string) *row {
	var newest *row
	for _, r := range old {
		if r.Revision == stable {
			return r
		}
		if newest == nil || r.Replicas > 0 || newest.Replicas == 0 {
			newest = r
		}
	}
	return newest
}
