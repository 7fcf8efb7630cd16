package statefulset

import (
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// maxPlaces is more pods than a cluster runs. Pods of a larger StatefulSet are not listed.
const maxPlaces = 1 << 17

// listed reports whether the pods are known.
func (m Mover) listed() bool { return m.Listed && m.Replicas <= maxPlaces }

// places returns the ordinals that spec.replicas asks for, by their index.
func (m Mover) places() []inplace.Place {
	places := make([]inplace.Place, m.Replicas)
	for i := range m.Pods {
		if pod := &m.Pods[i]; m.inside(pod) {
			places[pod.Index].Pod = pod
		}
	}
	for i := range places {
		p := &places[i]
		p.Index = int32(i)
		if p.Stands() {
			p.Updated = p.Pod.Revision == m.Update
		} else {
			p.Updated = m.returnsUpdated(p.Index)
		}
	}
	return places
}

// inside reports whether spec.replicas asks for the pod.
func (m Mover) inside(pod *inplace.Pod) bool { return pod.Index >= 0 && pod.Index < m.Replicas }

// returnsUpdated reports whether the native controller makes a missing pod of the update revision
// (S1).
func (m Mover) returnsUpdated(index int32) bool {
	return m.oneRevision() || index >= m.partition()
}

// oneRevision reports whether pods come back updated wherever they are: below the partition too
// (S5, S6).
func (m Mover) oneRevision() bool { return m.Current == m.Update }

// closed reports whether the native controller updates no pod.
func (m Mover) closed() bool {
	return m.oneRevision() || m.RollingUpdate && m.Partition == inplace.Held
}

// updated counts the updated places, with those whose pod is yet to come back.
func (t task) updated() int32 {
	n := int32(0)
	for _, p := range t.places {
		if p.Updated {
			n++
		}
	}
	return n
}

// rule returns how pods are chosen, at most as many as given. With podManagementPolicy OrderedReady
// an available pod stays while another one is not available (S4). In a rollback all pods that do
// not serve go: one of them may keep the native controller from making others.
func (t task) rule(most int32, inRow bool) inplace.Rule {
	available := inplace.Available(t.places)
	rule := inplace.Rule{
		Most: most, Room: available - (t.set.Replicas - t.Unavailable), AllDown: t.Rollback && !inRow, InRow: inRow,
	}
	if t.set.OrderedReady {
		rule.Down = int32(len(t.places)) - available
	}
	return rule
}

// inRow chooses places that are not updated, the highest first and without a gap: the native
// controller would fill it itself (S2).
func (t task) inRow(most int32) []inplace.Place {
	return inplace.Choose(t.outdated(false), t.rule(most, true))
}

// inAnyOrder chooses places that are not updated: first places whose pods do not serve, then the
// highest.
func (t task) inAnyOrder(most int32) []inplace.Place {
	return inplace.Choose(t.outdated(true), t.rule(most, false))
}

// outdated returns the places that are not updated, the highest first; the pods that are not
// available before the others, if they are to go first.
func (t task) outdated(unavailableFirst bool) []inplace.Place {
	var free, rest []inplace.Place
	for _, p := range slices.Backward(t.places) {
		switch {
		case p.Updated:
		case unavailableFirst && !p.Available():
			free = append(free, p)
		default:
			rest = append(rest, p)
		}
	}
	return append(free, rest...)
}

// lost returns updated pods that are going away and would come back as they were before.
func (t task) lost(most int32) []inplace.Place {
	var lost []inplace.Place
	for _, p := range slices.Backward(t.places) {
		switch {
		case int32(len(lost)) >= most:
			return lost
		case p.Updated:
		case p.Pod != nil && p.Pod.Terminating && p.Pod.Revision == t.set.Update:
			lost = append(lost, p)
		default: // a window would reach it too
			return lost
		}
	}
	return lost
}
