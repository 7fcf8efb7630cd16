package deployment

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// Sizes are the ReplicaSets of a Deployment with the sizes that they are to have.
type Sizes struct{ draft *draft }

// Changes returns the writes that lead to the sizes. Growing is one step, and shrinking another;
// GrowsFirst says which is first. A set that requests wait for grows first.
func (s Sizes) Changes() (grow, shrink []Scale) {
	d := s.draft
	if u := d.sizes.updated; u != nil && u.Noted && (d.keepOthers || d.beside || d.sizes.oldTotal() > d.sizes.oldReplicas()) {
		grow = append(grow, Scale{Set: *u.Set, From: u.Replicas, To: u.Replicas, Why: mover.KeepOthers, Updated: true})
	}
	for _, r := range d.noted {
		grow = append(grow, Scale{Set: *r.Set, From: r.Replicas, To: r.Replicas, Why: mover.KeepOthers})
	}
	rows := d.sizes.rows()
	slices.SortStableFunc(rows, func(x, y *row) int { return cmp.Compare(min(d.requests.growsTo(y), 1), min(d.requests.growsTo(x), 1)) })
	for _, r := range rows {
		change := Scale{Set: *r.Set, From: r.Replicas, To: r.want, Why: r.why(d.Rescaling), Updated: r.isNew}
		switch {
		case r.want > r.Replicas:
			grow = append(grow, change)
		case r.want < r.Replicas:
			shrink = append(shrink, change)
		}
	}
	return grow, shrink
}

// why returns why a set gets another size.
func (r *row) why(rescaling bool) mover.Why {
	switch {
	case r.isNew == (r.want < r.Replicas) && !rescaling:
		return mover.BackToTarget
	case r.isNew && r.want < r.Replicas:
		return mover.FewerReplicas
	case !r.isNew && r.want > r.Replicas:
		return mover.MoreReplicas
	default:
		return mover.Forward
	}
}

// GrowsFirst reports whether the growth is within the surge before anything shrinks, or is the one
// pod beyond it without which a set would be alone (T1), or there is only a note to take off.
func (s Sizes) GrowsFirst() bool {
	d, at := s.draft, s.draft.sizes
	total := sum(at.rows(), func(r *row) int32 { return max(r.Replicas, r.want) })
	first := at.updated.Replicas == 0 && at.active() <= 2
	return total <= d.space.most || first || d.joins || d.beside
}

// Small reports whether the changes are less than an eighth of the bounds and do not reach the
// target: more of their kind may come in a moment.
func (s Sizes) Small() bool {
	d, u := s.draft, s.draft.sizes.updated
	if u.want == max(d.Target, d.requests.floor(u)) && d.sizes.oldTotal() == d.others() {
		return false
	}
	change := sum(d.sizes.rows(), func(r *row) int32 { return max(r.want-r.Replicas, r.Replicas-r.want) })
	return change < max((d.Surge+d.Unavailable)/8, 1)
}

// moves returns the changes as the course takes them.
func (s Sizes) moves() mover.Moves {
	grow, shrink := s.Changes()
	return mover.Moves{
		Grow: writes(grow), Shrink: writes(shrink), GrowsFirst: s.draft.sizes.updated != nil && s.GrowsFirst(),
		Small: s.draft.sizes.updated != nil && s.Small(), Unread: s.unread(shrink),
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
	return slices.ContainsFunc(s.draft.sets, func(s Set) bool { return !s.Live && s.Name != lone && s.Available > 0 })
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
	for _, r := range t.draft().sizes.rows() {
		if r.Replicas > 0 {
			shrink = append(shrink, Scale{Set: *r.Set, From: r.Replicas, Why: mover.Cleared, Updated: r.isNew})
		}
	}
	return shrink
}
