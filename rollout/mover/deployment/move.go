package deployment

// move brings the ReplicaSets nearer to the target, and to the rest of spec.replicas in other
// versions. There must be a new ReplicaSet.
func (t task) move() Sizes {
	b := t.table()
	others := b.others()
	b.growServing()
	b.growUpdated(t.Target)
	b.growOld(others)
	b.shrinkUpdated(t.Target)
	b.shrinkOld(others + b.mayStay())
	b.replaceLast()
	b.keepBeside(t.OldStays)
	return Sizes{b}
}

// keep follows spec.replicas and otherwise leaves the pods as they are: the release stands, or has
// failed. Of the new version it adds the pods that its requests need, within the target. There must
// be a new ReplicaSet.
func (t task) keep() Sizes {
	t.SteppingBack = false
	b := t.table()
	b.growServing()
	if t.Rollback {
		b.growUpdated(min(t.Target, t.Replicas-b.oldTotal()))
	} else {
		b.growUpdated(min(t.Target, max(t.Grow[b.updated.Revision], b.updated.want)))
	}
	b.growOld(max(t.Replicas-min(b.updated.want, t.Target), 0))
	b.shrinkUpdated(t.Target)
	others := b.most() - b.updated.want
	if !t.Rollback { // of updated pods beyond the step's share it is those that are still to go
		others = max(others, t.Replicas-t.Target)
	}
	b.shrinkOld(others)
	b.keepBeside(true)
	return Sizes{b}
}

// first returns how many pods the new ReplicaSet is made with.
func (t task) first() int32 { return t.table().growth(t.Target) }

// now returns the sizes as they are.
func (t task) now() Sizes { return Sizes{t.table()} }
