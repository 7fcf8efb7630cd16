package deployment

// row is a ReplicaSet with the size that it is to have.
type row struct {
	*Set

	want int32
	// isNew reports whether it is the new ReplicaSet, whose pods are the updated ones.
	isNew bool
}

// idle returns how many pods of a set can go without an available one among them.
func (r *row) idle() int32 {
	if r.Available == 0 {
		return r.want
	}
	return max(r.want-r.Ready, 0)
}

// peak returns how many pods of a set there are, or will be, before it has the size wanted.
func (r *row) peak() int32 { return max(r.want, r.Replicas, r.Current) }

// unsure reports whether the status does not say how many pods of a set there are, as it is not
// about the size that the set has. It may have been larger, with pods that were never counted.
func (r *row) unsure() bool { return !r.Observed }

// table holds the sizes wanted.
type table struct {
	// updated is nil if there is no new ReplicaSet yet.
	updated *row
	old     []*row
}

// rows returns all of them, that of the new version first.
func (t *table) rows() []*row {
	if t.updated == nil {
		return t.old
	}
	return append([]*row{t.updated}, t.old...)
}

func sum(rows []*row, of func(*row) int32) int32 {
	var total int32
	for _, r := range rows {
		total += of(r)
	}
	return total
}

func wanted(r *row) int32 { return r.want }

func size(r *row) int32 { return r.Replicas }

func (t *table) total() int32 { return sum(t.rows(), wanted) }

func (t *table) oldTotal() int32 { return sum(t.old, wanted) }

func (t *table) oldReplicas() int32 { return sum(t.old, size) }

// emptyOld reports whether old sets have no pods, and get none.
func (t *table) emptyOld() bool { return t.oldTotal() == 0 && t.oldReplicas() == 0 }

// updatedTotal returns how many updated pods are wanted.
func (t *table) updatedTotal() int32 {
	if t.updated == nil {
		return 0
	}
	return t.updated.want
}

// available returns how many pods are available if the worst go: of each set those first that are
// not ready, as the ReplicaSet controller has it. Of the ready ones it takes any; with
// minReadySeconds that may be an available one while there are others.
func (t *table) available() int32 {
	return sum(t.rows(), func(r *row) int32 { return max(r.Available-max(r.Ready-r.want, 0), 0) })
}

// active counts the sets that have, or are to have, pods.
func (t *table) active() int {
	n := 0
	for _, r := range t.rows() {
		if r.want > 0 || r.Replicas > 0 {
			n++
		}
	}
	return n
}

// pinned reports whether the old sets can't shrink before there is an updated pod: the native
// controller sets a lone active one to all replicas, whatever it was scaled to (T1).
func (t *table) pinned(replicas int32) bool {
	active, single := 0, true
	for _, r := range t.old {
		if r.want > 0 || r.Replicas > 0 {
			active++
			single = single && r.want == 1
		}
	}
	return active == 1 || active == 2 && single && replicas != 1
}

// emptied reports whether the native controller takes all old pods away as soon as it looks: the
// new set has all the replicas, and its note of them (T2). Old pods count for nothing then. Once
// the note is off, and the old sets have been read again, they do; if one of them grows right after
// the note is taken off, what the native controller has decided before is refused.
func (t *table) emptied(replicas int32) bool {
	u := t.updated
	return u != nil && u.Noted && u.Replicas >= replicas && t.oldTotal() > 0
}
