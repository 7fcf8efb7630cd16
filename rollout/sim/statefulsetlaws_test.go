package sim

import (
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

func (lawsOfStatefulSets) exposed(d *Workload) bool { return !d.kind.secured(d) }

func (lawsOfStatefulSets) settled(w *World) bool {
	return !slices.ContainsFunc(w.Places, func(p Place) bool { return p.Going || p.Stage == Ended }) && !w.Workload.kind.turn(unobserved(w), w.Workload.Spec)
}

// comes returns the revision in which a pod comes back.
func (lawsOfStatefulSets) comes(d *Workload, spec *Spec, p *Place) string {
	if current := d.Status.Current; spec.Strategy == RollingUpdate && p.Index < spec.Partition && current != "" {
		return current
	}
	return spec.Template
}

// reached counts the places of a revision: from the partition up all come to be updated.
func (k lawsOfStatefulSets) reached(d *Workload, places []Place, revision string) int32 {
	n := int32(0)
	stand := map[int32]string{}
	for i := range places {
		if p := &places[i]; p.stands() {
			stand[p.Index] = p.Revision
		}
	}
	for i := range d.Replicas {
		has, stands := stand[i]
		comes := k.comes(d, &d.Spec, &Place{Index: i})
		open := d.Strategy == RollingUpdate && i >= d.Partition
		if stands && same(has, revision) || same(comes, revision) && (open || !stands) {
			n++
		}
	}
	return n
}

// serving returns the available pods that the native controller leaves alone.
func (lawsOfStatefulSets) serving(d *Workload, places []Place) int32 {
	n := int32(0)
	for i := range places {
		p := &places[i]
		leaves := d.Strategy == OnDelete || p.Index < d.Partition || same(p.Revision, d.Template)
		if p.available() && p.inside(d.Replicas) && leaves {
			n++
		}
	}
	return n
}

func (lawsOfStatefulSets) closes(d *Workload) { d.Strategy, d.Partition = RollingUpdate, inplace.Held }

func (lawsOfStatefulSets) goesBack() bool { return true }

// single reports whether every pod comes in one version.
func (lawsOfStatefulSets) single(w *World) bool {
	return w.Workload.Status.Current == w.Workload.Status.Update && w.Workload.behind() <= 0
}

// lacks reports whether a pod is missing, and can't be made.
func (lawsOfStatefulSets) lacks(w *World) bool {
	for i := range w.Workload.Replicas {
		if !podAt(w, i).stands() {
			return true
		}
	}
	return false
}

// open says how far pods may be updated without a write. It does no harm where all may be, and some
// are not.
func (k lawsOfStatefulSets) open(w *World) string {
	d, status := &w.Workload, w.Release.Status
	all := status.Rollback != nil || approvedPods(w, status, d.Replicas) >= d.Replicas
	if all && podsOf(w, status.UpdateRevision) < d.Replicas {
		return ""
	}
	if d.Strategy == OnDelete || d.Partition != inplace.Held {
		return strategyText(&d.Spec)
	}
	return ""
}

// mayLose reports whether pods may go. Where they are made one after the other that is only while
// all others are available.
func mayLose(w *World) bool {
	d := &w.Workload
	_, unavailable := d.bounds(d.Replicas)
	least := d.Replicas - unavailable
	if w.Ordered {
		least = d.Replicas - 1
	}
	return d.places().serving(d, w.Places) > least
}
