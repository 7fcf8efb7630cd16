package order

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Mark is kept in an annotation of a pod whose cost is ours.
type Mark struct {
	// Own is the cost that the pod had before; empty if it had none.
	Own string `json:"own,omitempty"`
	// After is how many updated pods there could be when the cost was written: once there are more, the
	// ReplicaSet controller has seen it.
	After int32 `json:"after"`
	// Raised says that the pod had a cost of ours, or a very low one of its own, before: until the new
	// one is seen the pod may go too early.
	Raised bool `json:"raised,omitempty"`
	// At is when it was written, in seconds since 1970.
	At int64 `json:"at"`
}

// Change is a cost to be written to a pod; it takes our cost away if Mark is nil.
type Change struct {
	Pod  Pod
	Cost int32
	Mark *Mark
}

// Text returns the cost as the pod is to have it; empty for none.
func (c Change) Text() string {
	if c.Mark == nil {
		return c.Pod.Mark.Own
	}
	return strconv.Itoa(int(c.Cost))
}

// band is how many costs are ours: those from the lowest possible one up.
const band = 1 << 20

// Settled is after how long a cost counts though no new pod proves that it was seen.
const Settled = 5 * time.Second

// Costs returns what has to be written for the first n of sorted pods to go first, in their order.
func Costs(sorted []Pod, n int, after int32, now time.Time) []Change {
	var changes []Change
	last := int64(math.MinInt32)
	for i := range sorted {
		pod := &sorted[i]
		cost := int64(pod.cost())
		if keep := cost > last && (i >= n || pod.Mark != nil && cost < math.MinInt32+band); !keep {
			cost = last + 1
			changes = append(changes, pod.change(int32(cost), after, now))
		}
		if i < n {
			last = cost
		}
	}
	return changes
}

func (p *Pod) change(cost, after int32, now time.Time) Change {
	mark := &Mark{Own: p.Cost, After: after, Raised: p.cost() < cost, At: now.Unix()}
	if p.Mark != nil {
		mark.Own, mark.Raised = p.Mark.Own, mark.Raised || p.Mark.Raised
	}
	return Change{Pod: *p, Cost: cost, Mark: mark}
}

// Restored returns what has to be written for no pod to have a cost of ours.
func Restored(pods []Pod) []Change {
	var changes []Change
	for _, pod := range pods {
		if pod.Mark != nil {
			changes = append(changes, Change{Pod: pod})
		}
	}
	return changes
}

// Free returns how many pods may go now: the first of going are sure to be the ones that do, except
// the order of pods of one stage that are not ready. It returns too when there will be more without
// a new pod, zero if that is not a matter of time.
func Free(going []Pod, updated int32, now time.Time) (int, time.Time) {
	free, sure := 0, true
	var settled time.Time
	for i := range going {
		if m := going[i].Mark; m != nil && !m.seen(updated, now) {
			settled = later(settled, m.settled())
			sure = sure && !m.Raised
		}
	}
	for i := range going {
		pod := &going[i]
		if pod.Stage == Ready && !(sure && pod.Mark != nil && pod.Mark.seen(updated, now)) {
			break
		}
		free++
	}
	return free, settled
}

func (m *Mark) settled() time.Time { return time.Unix(m.At, 0).Add(Settled) }

// seen reports whether the ReplicaSet controller goes by the cost.
func (m *Mark) seen(updated int32, now time.Time) bool {
	return updated > m.After || !now.Before(m.settled())
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// cost returns what the ReplicaSet controller makes of the annotation.
func (p *Pod) cost() int32 { return parseCost(p.Cost) }

// own returns the cost that the pod has by itself.
func (p *Pod) own() int32 {
	if p.Mark != nil {
		return parseCost(p.Mark.Own)
	}
	return p.cost()
}

// parseCost mirrors GetDeletionCostFromPodAnnotations of Kubernetes: an unreadable cost counts as
// 0.
func parseCost(text string) int32 {
	if strings.HasPrefix(text, "+") || len(text) > 1 && text[0] == '0' {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}
