package deployment

import "slices"

// growServing adds old pods that requests are to go to, also in a rollback and where the old ones
// would otherwise stay as they are. It comes before all other growth: requests wait for these pods,
// and what serves them now can't go before. Of several sets the steadiest is first. One that has
// none gets a pod beyond if otherwise none of the others could make room (T1).
func (d *draft) growServing() {
	for _, r := range slices.Backward(d.sizes.old) {
		lacks := d.requests.growsTo(r) - r.want
		if lacks <= 0 || r.shrinking() {
			continue
		}
		room, known := d.space.room(d.sizes, r)
		if known && room == 0 && r.want == 0 && d.mustJoin() {
			room, d.joins = 1, true
		}
		r.want += max(min(lacks, room), 0)
	}
}

// mustJoin reports whether the pods that there are can't make room for one of another version
// before it is there: old ones are alone, or the last one beside updated pods that are short of all
// and stay, or updated ones are alone that are to be short of all (T1).
func (d *draft) mustJoin() bool {
	u := d.sizes.updated
	switch {
	case d.sizes.updatedTotal() == 0:
		return d.space.tight() && d.sizes.pinned(d.Replicas)
	case d.sizes.emptyOld():
		return d.rest() > 0
	}
	return d.sizes.oldTotal() == 1 && d.rest() > 0 && u.want <= max(d.Target, d.requests.floor(u))
}

// held reports whether the only old pod that requests can do without has to stay until there is an
// updated one (T1).
func (d *draft) held() bool {
	pods, held := int32(0), false
	for _, r := range d.sizes.old {
		free := d.requests.mayLose(r)
		pods += free
		held = held || free == 1 && d.keepTwoActive(r, 1) == 0
	}
	return held && pods == 1
}

// keepBeside has the native controller's note taken off the new set where old pods stay for
// requests. As soon as that set has all the replicas of its note, and they are available, that
// controller takes all others away (T2); that may be hours before anything grows or shrinks. A new
// set that changes its size loses the note by that.
//
// An old set that stays beside any other loses it, before people give the Deployment its template:
// to undo a release with kubectl set image, for example, or by scaling it to 0 and back. Nothing
// can be written any more then before that controller has seen it. One that gives up pods as soon
// as it may loses it by that, without a request for it alone.
func (d *draft) keepBeside(stays bool) {
	u := d.sizes.updated
	d.beside = u.Noted && u.want == u.Replicas && d.requests.serve(d.sizes.old)
	if !stays || !d.requests.shared() || d.sizes.active() < 2 {
		return
	}
	for _, r := range d.sizes.old {
		if r.Noted && r.Replicas > 0 && r.want == r.Replicas {
			d.noted = append(d.noted, r)
		}
	}
}
