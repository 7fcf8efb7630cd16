package daemonset

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/order"
)

// order returns the order in which old pods go. No pod needs anything written for it: Sluice itself
// deletes them.
func (p plan) order(going []inplace.Place) *mover.Order {
	return &mover.Order{Pods: int32(len(p.others)), Shrinks: len(going) > 0, Sorter: sorter{p}}
}

// sorter implements mover.Sorter.
type sorter struct{ plan }

// Sort implements mover.Sorter.
func (sorter) Sort(mover.Queue) mover.Write { return nil }

// Limits implements mover.Sorter: nothing goes from the first pod with a pause point on.
func (s sorter) Limits(q mover.Queue) mover.Limited {
	known := map[types.UID]*order.Pod{}
	for i := range q.Pods {
		known[q.Pods[i].UID] = &q.Pods[i]
	}
	s.Turn = s.turn(known, q)
	limited := mover.Limited{Limits: map[types.UID]mover.Limit{}, Turn: s.Turn}
	next := true
	for _, place := range s.queue() {
		if s.foreign(place) { // nobody has paused what nobody has released
			continue
		}
		at, first := known[place.Pod.UID], next
		pauses := q.Pauses(*at)
		next = false
		if pauses && first && len(s.going()) > 0 {
			limited.Held = at
		}
		if pauses || len(limited.Limits) > 0 {
			limited.Limits[place.Pod.UID] = mover.Limit{Paused: 1}
		}
	}
	return limited
}

// turn returns the old pods that are known, in the requested order.
func (s sorter) turn(known map[types.UID]*order.Pod, q mover.Queue) []types.UID {
	var pods []order.Pod
	for i := range s.others {
		if pod := known[s.others[i].Pod.UID]; pod != nil {
			pods = append(pods, *pod)
		}
	}
	turn := make([]types.UID, 0, len(pods))
	for _, pod := range order.Sort(pods, q.Keys) {
		turn = append(turn, pod.UID)
	}
	return turn
}
