package sim

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
)

// statefulSets is the kind StatefulSet. Its native controller is that of pkg/controller/statefulset
// of Kubernetes 1.36, with and without the feature gate MaxUnavailableStatefulSet. Volumes are left
// out. It counts places, and partitions, from the first ordinal.
type statefulSets struct{ placed }

var _ kind = statefulSets{}

func (statefulSets) name() string { return StatefulSet }

func (statefulSets) born(spec Spec) Spec { return spec }

func (statefulSets) start(w *World, newborn bool) {
	d := &w.Workload
	if newborn {
		return
	}
	for i := range d.Replicas {
		w.addPlace(Place{Name: ordinalName(w, i), Index: i, Revision: d.Template, Stage: Available})
	}
	n := d.Replicas
	d.Status = Places{Current: d.Template, Update: d.Template, Replicas: n, Ready: n, Available: n, Updated: n}
	if d.Strategy == OnDelete { // people have updated the pods since, one by one
		d.Status.Current = "v0"
	}
}

func ordinalName(w *World, index int32) string { return fmt.Sprintf("%s-%d", Name, w.Start+index) }

func (statefulSets) scale(w *World, replicas int32) bool {
	d := &w.Workload
	if d.Replicas == replicas {
		return false
	}
	w.rescaleWorkload(func(d *Workload) { d.Replicas = replicas })
	return true
}

// shiftOrdinals changes the first ordinal (spec.ordinals.start): pods below go, and others are made
// at the end, or the other way round.
func shiftOrdinals(w *World, by int32) bool {
	d := &w.Workload
	if d.Absent || d.kind.name() != StatefulSet || w.Start+by < 0 {
		return false
	}
	w.Start += by
	w.Places = slices.Clone(w.Places)
	for i := range w.Places {
		w.Places[i].Index -= by
	}
	before := d.Spec
	w.updateWorkload(func(*Workload) {})
	d.Generation++
	d.Earlier = append(slices.Clip(d.Earlier), before)
	return true
}

func (statefulSets) secure(d *Workload) {
	d.Strategy, d.Partition, d.AtOnce = RollingUpdate, inplace.Held, 0
}

// secured reports whether the native controller updates no more than a window lets it.
func (statefulSets) secured(d *Workload) bool {
	open := windowOf(d.Hold)
	if d.Strategy == OnDelete {
		return open == inplace.Anywhere
	}
	return d.Partition == inplace.Held || open != inplace.Anywhere && d.Partition >= open
}

func (k statefulSets) close(d *Workload) { k.secure(d) }

func (statefulSets) contained(d *Workload) bool {
	return d.Strategy == RollingUpdate && d.Partition == inplace.Held
}

func (statefulSets) loosen(d *Workload) { d.Strategy, d.Partition, d.AtOnce = RollingUpdate, 0, 0 }

// bounds mirrors getStatefulSetMaxUnavailable.
func (statefulSets) bounds(d *Workload, replicas int32) (surge, unavailable int32) {
	return 0, min(max(d.unavailable(replicas, false), 1), replicas)
}

func (statefulSets) mover(x *pass) mover.Mover {
	d := &x.workload
	m := statefulset.Mover{
		RollingUpdate: d.Strategy == RollingUpdate, Partition: d.Partition, AtOnce: d.AtOnce, Window: windowOf(d.Hold),
		OrderedReady: x.world.Ordered, Current: d.Status.Current,
		Workload: inplace.Workload{
			Strategy: d.own().Strategy, Observed: d.behind() <= 0 && d.Status.Update != "", Replicas: d.Replicas,
			Digest: Digest(d.Template), Update: d.Status.Update, Status: d.Status.inPlace(), Listed: x.listed, Live: x.live,
		},
	}
	if x.listed {
		m.Pods = podsSeen(x)
	}
	return m
}

func (statefulSets) turn(w *World, sees Spec) bool {
	before := w.version
	ordinals{w, sees}.sync()
	return w.version != before
}

// turnLate notes in the status the generation that it has seen.
func (k statefulSets) turnLate(w *World, sees Spec) bool {
	d := &w.Workload
	changed, seen := k.turn(w, sees), d.Generation-int64(len(d.Earlier))
	if d.Seen < seen {
		d.Seen, d.Version, changed = seen, w.next(), true
	}
	return changed
}

// ordinals is the StatefulSet controller with the spec that it sees.
type ordinals struct {
	*World
	Spec
}

// sync mirrors updateStatefulSet with updateStatefulSetStatus.
func (n ordinals) sync() {
	status := n.found()
	if n.replicas() && n.condemned() && n.Strategy == RollingUpdate {
		if n.Several {
			n.rollSeveral(status.Update)
		} else {
			n.roll(status.Update)
		}
	}
	if r := n.Replicas; n.Strategy == RollingUpdate && status.Updated == r && status.Ready == r && status.Replicas == r { // completeRollingUpdate
		status.Current = status.Update
	}
	if d := &n.Workload; d.Status != status {
		d.Status, d.Version = status, n.next()
	}
}

// found returns the status with the pods as they are found: terminating ones are ready as long as
// they are there.
func (n ordinals) found() Places {
	status := Places{Current: n.Workload.Status.Current, Update: n.Template, Replicas: int32(len(n.Places))}
	if status.Current == "" {
		status.Current = status.Update
	}
	for i := range n.Places {
		p := &n.Places[i]
		if p.ready() {
			status.Ready++
		}
		if p.Stage == Available {
			status.Available++
		}
		if p.Revision == status.Update && !p.Going {
			status.Updated++
		}
	}
	return status
}

// podAt returns the pod of an ordinal; nil if there is none.
func podAt(w *World, index int32) *Place {
	for i := range w.Places {
		if w.Places[i].Index == index {
			return &w.Places[i]
		}
	}
	return nil
}

// replicas mirrors processReplica for each, in order or all at once. It reports whether the
// controller goes on.
func (n ordinals) replicas() bool {
	for i := range n.Replicas {
		p := podAt(n.World, i)
		switch {
		case p == nil:
			n.create(i)
		case p.Stage == Ended && !p.Going:
			n.deletePlace(p.UID)
		}
		if n.Ordered && !p.available() {
			return false
		}
	}
	return true
}

// create mirrors newVersionedStatefulSetPod.
func (n ordinals) create(index int32) {
	revision := n.Template
	if current := n.Workload.Status.Current; n.Strategy == RollingUpdate && index < n.Partition && current != "" {
		revision = current
	}
	n.addPlace(Place{Name: ordinalName(n.World, index), Index: index, Revision: revision})
	n.see(podMade{revision, n.Spec})
}

// condemned mirrors processCondemned for each. It reports whether the controller goes on.
func (n ordinals) condemned() bool {
	var pods []Place
	for _, p := range slices.Backward(n.Places) {
		if !p.inside(n.Replicas) {
			pods = append(pods, p)
		}
	}
	lowest := -1 // of those that are not available
	for i := range pods {
		if !pods[i].available() {
			lowest = i
		}
	}
	for i := range pods {
		p := &pods[i]
		switch {
		case p.Going && n.Ordered:
			return false
		case p.Going:
			continue
		case n.Ordered && !p.available() && i != lowest:
			return false
		}
		n.deletePlace(p.UID)
		if n.Ordered {
			return false
		}
	}
	return true
}

// roll mirrors the end of updateStatefulSet: the highest outdated pod goes, if none above it is
// missing.
func (n ordinals) roll(update string) {
	for i := n.Replicas - 1; i >= n.Partition; i-- {
		switch p := podAt(n.World, i); {
		case p.stands() && p.Revision != update:
			n.deletePlace(p.UID)
			return
		case !p.available():
			return
		}
	}
}

// rollSeveral mirrors updateStatefulSetAfterInvariantEstablished: the highest outdated pods go, as
// many as may be unavailable.
func (n ordinals) rollSeveral(update string) {
	room := max(n.AtOnce, 1)
	for i := range n.Replicas {
		if !podAt(n.World, i).available() {
			room--
		}
	}
	for i := n.Replicas - 1; i >= n.Partition && room > 0; i-- {
		if p := podAt(n.World, i); p.stands() && p.Revision != update {
			n.deletePlace(p.UID)
			room--
		}
	}
}
