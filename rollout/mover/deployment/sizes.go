package deployment

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// Sizes are the ReplicaSets of a Deployment with the sizes that they are to have.
type Sizes struct{ table *table }

// Changes returns the writes that lead to the sizes. Growing is one step, and shrinking another;
// GrowsFirst says which is first. A set that requests wait for grows first.
func (s Sizes) Changes() (grow, shrink []Scale) {
	b := s.table
	if u := b.updated; u != nil && u.Noted && (b.keepOthers || b.beside || b.oldTotal() > b.oldReplicas()) {
		grow = append(grow, Scale{Set: *u.Set, From: u.Replicas, To: u.Replicas, Why: mover.KeepOthers, Updated: true})
	}
	for _, r := range b.noted {
		grow = append(grow, Scale{Set: *r.Set, From: r.Replicas, To: r.Replicas, Why: mover.KeepOthers})
	}
	rows := b.rows()
	slices.SortStableFunc(rows, func(x, y *row) int { return cmp.Compare(min(b.growsTo(y), 1), min(b.growsTo(x), 1)) })
	for _, r := range rows {
		change := Scale{Set: *r.Set, From: r.Replicas, To: r.want, Why: b.why(r), Updated: r == b.updated}
		switch {
		case r.want > r.Replicas:
			grow = append(grow, change)
		case r.want < r.Replicas:
			shrink = append(shrink, change)
		}
	}
	return grow, shrink
}

// why says why a set gets another size.
func (b *table) why(r *row) mover.Why {
	switch {
	case (r == b.updated) == (r.want < r.Replicas) && !b.Rescaling:
		return mover.BackToTarget
	case r == b.updated && r.want < r.Replicas:
		return mover.FewerReplicas
	case r != b.updated && r.want > r.Replicas:
		return mover.MoreReplicas
	default:
		return mover.Forward
	}
}

// GrowsFirst reports whether the growth is within the surge before anything shrinks, or is the one
// pod beyond it without which a set would be alone (T1), or there is only a note to take off.
func (s Sizes) GrowsFirst() bool {
	b := s.table
	total := sum(b.rows(), func(r *row) int32 { return max(r.Replicas, r.want) })
	joined := b.takesBack() && b.oldReplicas() == 0 && b.oldTotal() == 1
	first := b.updated.Replicas == 0 && b.active() <= 2
	return total <= b.most() || joined || first || b.joins || b.beside
}

// Small reports whether the changes are less than an eighth of the bounds and do not reach the
// target: more of their kind may come in a moment.
func (s Sizes) Small() bool {
	b := s.table
	if b.updated.want == max(b.Target, b.floor(b.updated)) && b.oldTotal() == b.others() {
		return false
	}
	change := sum(b.rows(), func(r *row) int32 { return max(r.want-r.Replicas, r.Replicas-r.want) })
	return change < max((b.Surge+b.Unavailable)/8, 1)
}

// moves returns the changes as the course takes them.
func (s Sizes) moves() mover.Moves {
	grow, shrink := s.Changes()
	return mover.Moves{
		Grow: writes(grow), Shrink: writes(shrink), GrowsFirst: s.table.updated != nil && s.GrowsFirst(),
		Small: s.table.updated != nil && s.Small(), Unread: s.unread(shrink),
		Order: &mover.Order{Pods: s.Pods(), Unordered: s.Unordered(), Shrinks: s.Shrinks(), Sorter: s},
	}
}

// unread reports whether a shrink rests on what was not read live: every set that counts as
// available, except a lone one that shrinks, whose write is guarded by its version.
func (s Sizes) unread(shrink []Scale) bool {
	lone := ""
	if len(shrink) == 1 {
		lone = shrink[0].Set.Name
	}
	return slices.ContainsFunc(s.table.sets, func(s Set) bool { return !s.Live && s.Name != lone && s.Available > 0 })
}

func writes(changes []Scale) []mover.Write {
	var all []mover.Write
	for _, change := range changes {
		all = append(all, change)
	}
	return all
}

// last takes all pods away, the stable ones last: if somebody scales the Deployment up meanwhile
// those that are alone get more (T1).
func (t task) last() []Scale {
	var shrink []Scale
	b := t.table()
	for _, r := range b.rows() {
		if r.Replicas > 0 {
			shrink = append(shrink, Scale{Set: *r.Set, From: r.Replicas, Why: mover.Cleared, Updated: r == b.updated})
		}
	}
	return shrink
}
