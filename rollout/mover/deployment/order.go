package deployment

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/order"
)

// podsOf returns the pods of a set in the order in which they are to go.
func podsOf(q mover.Queue, r *row) []order.Pod {
	pods := slices.DeleteFunc(slices.Clone(q.Pods), func(pod order.Pod) bool { return pod.Set != r.UID })
	return order.Sort(pods, q.Keys)
}

// Pods returns how many pods the old ReplicaSets are to have as they are now.
func (s Sizes) Pods() int32 { return s.draft.sizes.oldReplicas() }

// Shrinks reports whether old pods go.
func (s Sizes) Shrinks() bool {
	return slices.ContainsFunc(s.draft.sizes.old, func(r *row) bool { return r.want < r.Replicas })
}

// Unordered returns how many old pods need no cost yet: the number that outlives the step, less the
// number with which the next step may begin before it adds a pod.
func (s Sizes) Unordered() int32 { return max(s.draft.others()-s.draft.Unavailable, 0) }

// Sort gives the old pods that go next their costs; nil if they have them.
func (s Sizes) Sort(q mover.Queue) mover.Write {
	if changes := s.costs(q); len(changes) > 0 {
		return OrderPods{Changes: changes, Why: mover.PutInOrder}
	}
	return nil
}

// costs returns what has to be written to the old pods, the oldest set first.
func (s Sizes) costs(q mover.Queue) []order.Change {
	at, after := s.draft.sizes, int32(0)
	if u := at.updated; u != nil {
		after = max(u.Replicas, u.Current, int32(len(podsOf(q, u))))
	}
	all := sum(at.old, func(r *row) int32 { return int32(len(podsOf(q, r))) })
	next := max(all-s.Unordered(), 0)
	var changes []order.Change
	for _, r := range at.old {
		sorted := podsOf(q, r)
		have := int32(len(sorted))
		n := min(have, next)
		next -= n
		n = max(n, have-r.want)
		changes = append(changes, order.Costs(sorted, int(n), after, q.Now)...)
	}
	return changes
}

// Limits returns how far the old ReplicaSets may shrink in the order of their pods. After a pause
// point nothing goes.
func (s Sizes) Limits(q mover.Queue) mover.Limited {
	sizes, made, stopped := s.draft.sizes, int32(0), false
	if sizes.updated != nil {
		made = sizes.updated.Current
	}
	beyond := sum(sizes.rows(), size) > s.draft.space.most // spec.replicas fell, and is followed
	limited := mover.Limited{Limits: map[types.UID]mover.Limit{}}
	for _, r := range sizes.old {
		going := order.Going(podsOf(q, r))
		have := int32(len(going))
		wanted := max(have-r.want, 0)
		before, at := pausePoint(q, going)
		switch {
		case stopped:
			before = 0
		case at != nil && before == 0 && wanted > 0 && !beyond:
			limited.Held = at
		}
		stopped = stopped || before < wanted
		sure, settles := order.Free(going, made, q.Now)
		free := int32(sure)
		if free < wanted && settles.After(q.Now) && (limited.Settles.IsZero() || settles.Before(limited.Settles)) {
			limited.Settles = settles
		}
		limited.Limits[r.UID] = mover.Limit{Proven: have - free, Paused: have - before}
	}
	return limited
}

// pausePoint returns the first of the pods with a pause point, and how many may go before it; nil
// and all of them if there is none. The order among pods that are not ready is unknown.
func pausePoint(q mover.Queue, going []order.Pod) (int32, *order.Pod) {
	i := slices.IndexFunc(going, q.Pauses)
	if i < 0 {
		return int32(len(going)), nil
	}
	at := &going[i]
	if at.Stage != order.Ready {
		i = slices.IndexFunc(going, func(pod order.Pod) bool { return pod.Stage == at.Stage })
	}
	return int32(i), at
}
