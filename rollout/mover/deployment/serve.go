package deployment

import "slices"

// Requests that routes share between versions go to pods of old versions too: those that Keep and
// Grow speak of.

// rest returns how many pods the target leaves to other versions.
func (b *table) rest() int32 { return max(b.Replicas-b.Target, 0) }

// others returns how many pods are to run other versions: the rest that the target leaves, and at
// least as many as requests need.
func (b *table) others() int32 { return max(b.rest(), sum(b.old, b.floor)) }

// floor returns how many pods of a set are to be there for requests: as many as it keeps of those
// that it has, or grows to.
func (b *table) floor(r *row) int32 {
	return max(min(b.keeps(r), r.Replicas), b.growsTo(r))
}

// keeps returns how many pods of a set stay, of those that it has.
func (b *table) keeps(r *row) int32 {
	if b.KeepAll {
		return b.Replicas
	}
	return b.Keep[r.Revision]
}

// growsTo returns how many pods a set grows to for requests. The new one grows to the target alone.
func (b *table) growsTo(r *row) int32 {
	if r == b.updated {
		return 0
	}
	return b.Grow[r.Revision]
}

// mayLose returns how many pods of a set requests can do without.
func (b *table) mayLose(r *row) int32 { return max(r.want-max(b.keeps(r), b.growsTo(r)), 0) }

// lacking returns how many pods old sets lack of those that they grow to for requests. Nothing else
// takes their room.
func (b *table) lacking() int32 {
	return sum(b.old, func(r *row) int32 { return max(b.growsTo(r)-r.want, 0) })
}

// growServing adds old pods that requests are to go to, also in a rollback and where the old ones
// would otherwise stay as they are. It comes before all other growth: requests wait for these pods,
// and what serves them now can't go before. Of several sets the steadiest is first. One that has
// none gets a pod beyond if otherwise none of the others could make room (T1).
func (b *table) growServing() {
	for _, r := range slices.Backward(b.old) {
		lacks := b.growsTo(r) - r.want
		if lacks <= 0 || r.shrinking() {
			continue
		}
		room, known := b.room(r)
		if known && room == 0 && r.want == 0 && b.mustJoin() {
			room, b.joins = 1, true
		}
		r.want += max(min(lacks, room), 0)
	}
}

// mustJoin reports whether the pods that there are can't make room for one of another version
// before it is there: old ones are alone, or the last one beside updated pods that are short of all
// and stay, or updated ones are alone that are to be short of all (T1).
func (b *table) mustJoin() bool {
	switch {
	case b.updatedTotal() == 0:
		return b.tight() && b.pinned()
	case b.oldTotal() == 0 && b.oldReplicas() == 0:
		return b.rest() > 0
	}
	return b.oldTotal() == 1 && b.rest() > 0 && b.updated.want <= max(b.Target, b.floor(b.updated))
}

// held reports whether the only old pod that requests can do without has to stay until there is an
// updated one (T1).
func (b *table) held() bool {
	pods, held := int32(0), false
	for _, r := range b.old {
		free := b.mayLose(r)
		pods += free
		held = held || free == 1 && b.keepTwoActive(r, 1) == 0
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
func (b *table) keepBeside(stays bool) {
	b.beside = b.updated.Noted && b.updated.want == b.updated.Replicas && b.serves()
	if !stays || !b.shares() || b.active() < 2 {
		return
	}
	for _, r := range b.old {
		if r.Noted && r.Replicas > 0 && r.want == r.Replicas {
			b.noted = append(b.noted, r)
		}
	}
}

// shares reports whether routes share requests between versions.
func (b *table) shares() bool { return b.KeepAll || len(b.Keep)+len(b.Grow) > 0 }

// serves reports whether old pods stay for requests.
func (b *table) serves() bool {
	return slices.ContainsFunc(b.old, func(r *row) bool { return min(b.floor(r), r.want) > 0 })
}
