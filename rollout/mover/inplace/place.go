package inplace

import "github.com/sluice-dev/sluice/rollout/mover"

// Place is the place of a pod: an ordinal, or a node.
type Place struct {
	// Pod is nil if there is none.
	Pod *Pod
	// Index is, of a StatefulSet, the ordinal less spec.ordinals.start.
	Index int32
	// Updated reports whether the place has, or will have, a pod of the update revision.
	Updated bool
	// Crowded reports whether another pod has the same place, so that one of them goes.
	Crowded bool
}

// Stands reports whether there is a pod that is not going away.
func (p Place) Stands() bool { return p.Pod != nil && !p.Pod.Terminating }

// Missing reports whether there is no pod, or one that is going away.
func (p Place) Missing() bool { return !p.Stands() }

// Available reports whether the pod serves, and stays.
func (p Place) Available() bool { return p.Stands() && p.Pod.Available && !p.Crowded }

// Available counts the places whose pods serve, and stay.
func Available(places []Place) int32 {
	n := int32(0)
	for _, p := range places {
		n += one(p.Available())
	}
	return n
}

// Rule limits which places are chosen.
type Rule struct {
	// Most limits the chosen places, and Room those of them that have an available pod.
	Most, Room int32
	// Down counts the pods that are not available, if an available one goes only with all of these.
	Down int32
	// AllDown reports whether places without an available pod are chosen beyond Most.
	AllDown bool
	// InRow reports whether choosing ends at the first place that does not fit.
	InRow bool
}

// Choose takes places in order, as far as there is room. A pod that is not available costs none: it
// counts as missing already.
func Choose(queue []Place, rule Rule) []Place {
	var taken []Place
	for _, p := range queue {
		enough := int32(len(taken)) >= rule.Most
		switch {
		case !p.Available() && (!enough || rule.AllDown):
			rule.Down--
			taken = append(taken, p)
		case enough:
			return taken
		case rule.Room > 0 && rule.Down <= 0:
			rule.Room--
			taken = append(taken, p)
		case rule.InRow:
			return taken
		}
	}
	return taken
}

// Replacing returns the write that deletes the pods of places, without those that are going away
// already; nil if there are none.
func Replacing(places []Place, why mover.Why, updated bool) []mover.Write {
	var pods []Pod
	for _, p := range places {
		if p.Stands() {
			pods = append(pods, *p.Pod)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return []mover.Write{Replace{Pods: pods, Why: why, Updated: updated}}
}

func one(is bool) int32 {
	if is {
		return 1
	}
	return 0
}
