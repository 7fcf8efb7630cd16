package sim

import (
	"math"
	"slices"
)

func (lawsOfDaemonSets) exposed(d *Workload) bool { return !d.kind.secured(d) }

func (lawsOfDaemonSets) settled(w *World) bool {
	return !slices.ContainsFunc(w.Places, func(p Place) bool { return p.Going }) && !w.Workload.kind.turn(unobserved(w), w.Workload.Spec)
}

// comes returns the revision in which a pod comes back.
func (lawsOfDaemonSets) comes(_ *Workload, spec *Spec, _ *Place) string { return spec.Template }

// reached counts the nodes of a revision: those that lack a pod get one of the template. Nodes
// count that the status counts, or that have a pod.
func (lawsOfDaemonSets) reached(d *Workload, places []Place, revision string) int32 {
	n, others, gone := int32(0), int32(0), int32(0)
	for i := range places {
		switch p := &places[i]; {
		case !p.belongs():
		case !p.stands():
			gone++
		case same(p.Revision, revision):
			n++
		default:
			others++
		}
	}
	if same(d.Template, revision) {
		return max(min(or(d.nodes, d.Replicas), d.Replicas), n+others+gone) - others
	}
	return n
}

// serving returns the available pods that the native controller leaves alone, on the nodes that are
// to have one.
func (lawsOfDaemonSets) serving(_ *Workload, places []Place) int32 {
	return serving(places, math.MaxInt32)
}

func (lawsOfDaemonSets) closes(*Workload) {}

// goesBack: updated pods stay.
func (lawsOfDaemonSets) goesBack() bool { return false }

func (lawsOfDaemonSets) single(*World) bool { return false }

func (lawsOfDaemonSets) lacks(*World) bool { return false }

func (lawsOfDaemonSets) open(*World) string { return "" }
