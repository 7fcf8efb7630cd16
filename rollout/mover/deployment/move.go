package deployment

// move brings the ReplicaSets nearer to the target, and to the rest of spec.replicas in other
// versions. There must be a new ReplicaSet.
func (t task) move() Sizes {
	d := t.draft()
	others := d.others()
	d.growServing()
	d.growUpdated(t.Target)
	d.growOld(others)
	d.shrinkUpdated(t.Target)
	d.shrinkOld(others + d.mayStay())
	d.replaceLast()
	d.keepBeside(t.OldStays)
	return Sizes{d}
}

// keep follows spec.replicas and otherwise leaves the pods as they are: the release is stopped, or
// has failed. Of the new version it adds the pods that its requests need, within the target. There
// must be a new ReplicaSet.
func (t task) keep() Sizes {
	t.SteppingBack = false
	d := t.draft()
	u := d.sizes.updated
	d.growServing()
	if t.Rollback {
		d.growUpdated(min(t.Target, max(t.Grow[u.Revision], t.Replicas-d.sizes.oldTotal())))
	} else {
		d.growUpdated(min(t.Target, max(t.Grow[u.Revision], u.want)))
	}
	d.growOld(max(t.Replicas-min(u.want, t.Target), 0))
	d.shrinkUpdated(t.Target)
	others := d.space.most - max(u.want, min(t.Target, t.Grow[u.Revision]))
	if !t.Rollback { // updated pods beyond the step's share are still to go
		others = max(others, t.Replicas-t.Target)
	}
	d.shrinkOld(others)
	d.keepBeside(true)
	return Sizes{d}
}

// first returns how many pods the new ReplicaSet is made with.
func (t task) first() int32 { return t.draft().growth(t.Target) }

// now returns the sizes as they are.
func (t task) now() Sizes { return Sizes{t.draft()} }
