package statefulset

import "github.com/sluice-dev/sluice/rollout/mover/inplace"

// choice is the places whose pods are to be replaced, in the order in which they go.
type choice []int32

// updated returns how many pods are updated, with those that are yet to come back.
func (t task) updated() int32 {
	return count(t.slots, func(s slot) bool { return s.updated })
}

func (t task) available() int32 { return count(t.slots, slot.available) }

// room returns how many available pods may go.
func (t task) room() int32 { return t.available() - (t.set.Replicas - t.Unavailable) }

func count(slots []slot, counts func(slot) bool) int32 {
	n := int32(0)
	for _, s := range slots {
		if counts(s) {
			n++
		}
	}
	return n
}

// inRow chooses places that are not updated, the highest first and without a gap: the native
// controller would fill it itself (S2).
func (t task) inRow(most int32) choice { return t.choose(most, t.outdated(false), true) }

// inAnyOrder chooses places that are not updated: first places whose pods do not serve, then the
// highest. In a rollback all pods that do not serve go: one of them may keep the native controller
// from making others (S4).
func (t task) inAnyOrder(most int32) choice { return t.choose(most, t.outdated(true), false) }

// outdated returns the places that are not updated, the highest first; the pods that are not
// available before the others, if they are to go first.
func (t task) outdated(unavailableFirst bool) choice {
	var free, rest choice
	for i := int32(len(t.slots)) - 1; i >= 0; i-- {
		switch s := t.slots[i]; {
		case s.updated:
		case unavailableFirst && !s.available():
			free = append(free, i)
		default:
			rest = append(rest, i)
		}
	}
	return append(free, rest...)
}

// choose takes places in order, as far as there is room. A pod that is not available costs none: it
// counts as missing already. In a row it goes no further than the first that does not fit. While
// another pod is not available, one that is stays, if the native controller would not make it again
// before (S4).
func (t task) choose(most int32, candidates choice, inRow bool) choice {
	var taken choice
	room, down := t.room(), int32(len(t.slots))-t.available()
	for _, i := range candidates {
		enough := int32(len(taken)) >= most
		switch {
		case !t.slots[i].available() && (!enough || t.Rollback && !inRow):
			down--
			taken = append(taken, i)
		case enough:
			return taken
		case room > 0 && (down == 0 || !t.set.OrderedReady):
			room--
			taken = append(taken, i)
		case inRow:
			return taken
		}
	}
	return taken
}

// lost returns updated pods that are going away and would come back as they were before.
func (t task) lost(most int32) choice {
	var lost choice
	for i := int32(len(t.slots)) - 1; i >= 0 && int32(len(lost)) < most; i-- {
		s := t.slots[i]
		switch {
		case s.updated:
		case s.pod != nil && s.pod.Terminating && s.pod.Revision == t.set.Update:
			lost = append(lost, i)
		default: // a window would reach it too
			return lost
		}
	}
	return lost
}

// standing returns the pods of places, without those that are going away already.
func (t task) standing(places choice) []inplace.Pod {
	var pods []inplace.Pod
	for _, i := range places {
		if s := t.slots[i]; s.stands() {
			pods = append(pods, *s.pod)
		}
	}
	return pods
}
