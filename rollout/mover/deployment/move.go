package deployment

// Move brings the ReplicaSets nearer to the target, and to the rest of spec.replicas in other versions. There must be a new
// ReplicaSet.
func (t Task) Move() Sizes {
	b, others := t.table(), t.others()
	b.growUpdated(t.Target)
	b.growOld(others)
	b.shrinkUpdated(t.Target)
	b.shrinkOld(others + b.mayStay())
	b.replaceLast()
	return Sizes{b}
}

// Keep follows spec.replicas and otherwise leaves the pods as they are: the release stands, or has failed. There must be a
// new ReplicaSet.
func (t Task) Keep() Sizes {
	t.SteppingBack = false
	b := t.table()
	if t.Rollback {
		b.growUpdated(min(t.Target, t.Replicas-b.oldTotal()))
	}
	b.growOld(max(t.Replicas-min(b.updated.want, t.Target), 0))
	b.shrinkUpdated(t.Target)
	others := b.most() - b.updated.want
	if !t.Rollback { // of updated pods beyond the step's share it is those that are still to go
		others = max(others, t.Replicas-t.Target)
	}
	b.shrinkOld(others)
	return Sizes{b}
}

// First is how many pods the new ReplicaSet is made with.
func (t Task) First() int32 { return t.table().growth(t.Target) }

// Now are the sizes as they are.
func (t Task) Now() Sizes { return Sizes{t.table()} }

// others is how many pods are left to run other versions.
func (t Task) others() int32 { return max(t.Replicas-t.Target, 0) }
