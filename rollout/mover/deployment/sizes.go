package deployment

// Sizes are the ReplicaSets of a Deployment with the sizes that they are to have.
type Sizes struct{ table *table }

// Scale is a write to a ReplicaSet.
type Scale struct {
	Set      Set
	From, To int32
	Why      Why
}

// Why is the reason for a Scale.
type Why int

// The reasons.
const (
	// Forward is towards the target.
	Forward Why = iota
	// BackToTarget undoes what went beyond it, or makes up for pods that are missing.
	BackToTarget
	// FewerReplicas and MoreReplicas follow spec.replicas.
	FewerReplicas
	MoreReplicas
	// Unnote takes the native controller's note off a set, which keeps its size (T2).
	Unnote
)

// Changes are the writes that the sizes come to: what grows and what shrinks is one step each. GrowsFirst says which is first.
func (s Sizes) Changes() (grow, shrink []Scale) {
	b := s.table
	if u := b.updated; u != nil && u.Noted && b.oldTotal() > b.oldReplicas() {
		grow = append(grow, Scale{*u.Set, u.Replicas, u.Replicas, Unnote})
	}
	for _, r := range b.rows() {
		change := Scale{*r.Set, r.Replicas, r.want, b.why(r)}
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
func (b *table) why(r *row) Why {
	switch {
	case (r == b.updated) == (r.want < r.Replicas) && !b.Rescaling:
		return BackToTarget
	case r == b.updated && r.want < r.Replicas:
		return FewerReplicas
	case r != b.updated && r.want > r.Replicas:
		return MoreReplicas
	default:
		return Forward
	}
}

// GrowsFirst reports whether the growth is within the surge before anything shrinks, or is the one pod beyond it without which
// a set would be alone (T1).
func (s Sizes) GrowsFirst() bool {
	b := s.table
	total := sum(b.rows(), func(r *row) int32 { return max(r.Replicas, r.want) })
	joined := b.takesBack() && b.oldReplicas() == 0 && b.oldTotal() == 1
	first := b.updated.Replicas == 0 && b.active() <= 2
	return total <= b.most() || joined || first
}

// Small reports whether the changes are less than an eighth of the bounds and do not reach the target: more of their kind may
// come in a moment.
func (s Sizes) Small() bool {
	b := s.table
	if b.updated.want == b.Target && b.oldTotal() == b.others() {
		return false
	}
	change := sum(b.rows(), func(r *row) int32 { return max(r.want-r.Replicas, r.Replicas-r.want) })
	return change < max((b.Surge+b.Unavailable)/8, 1)
}

// Active counts the ReplicaSets that have, or are to have, pods.
func (s Sizes) Active() int { return s.table.active() }

// Last takes all pods away, the stable ones last: if somebody scales the Deployment up meanwhile those that are alone get more
// (T1).
func (t Task) Last() []Scale {
	var shrink []Scale
	for _, r := range t.table().rows() {
		if r.Replicas > 0 {
			shrink = append(shrink, Scale{Set: *r.Set, From: r.Replicas, Why: FewerReplicas})
		}
	}
	return shrink
}
