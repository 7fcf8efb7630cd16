package sim

import (
	"fmt"
	"math"
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
)

// daemonSets is the kind DaemonSet. Its native controller is that of pkg/controller/daemon of Kubernetes 1.36, with one pod on each
// node. Nodes come and go; maxSurge, taints and nodes that are lost are left out.
type daemonSets struct{ placed }

var _ kind = daemonSets{}

func (daemonSets) name() string { return DaemonSet }

// born: of a new DaemonSet the status counts no nodes.
func (daemonSets) born(spec Spec) Spec {
	spec.Replicas = 0
	return spec
}

func (daemonSets) start(w *World, newborn bool) {
	d := &w.Workload
	if newborn {
		return
	}
	for _, node := range w.Nodes {
		w.addPlace(Place{Name: podOn(node), Node: node, Revision: d.Template, Stage: Available})
	}
	n := int32(len(w.Nodes))
	d.Replicas, d.Status = n, Places{Replicas: n, Ready: n, Available: n, Updated: n}
}

func podOn(node string) string { return Name + "-" + node }

// join makes nodes.
func (w *World) join(n int32) {
	w.Nodes = slices.Clone(w.Nodes)
	for range n {
		w.joined++
		w.Nodes = append(w.Nodes, fmt.Sprintf("n%02d", w.joined))
	}
}

// scale makes nodes come, or go: the first, which a release takes first, or the last. Their pods go with them.
func (daemonSets) scale(w *World, nodes int32) bool {
	n := int32(len(w.Nodes))
	if n == nodes {
		return false
	}
	w.join(max(nodes-n, 0))
	for n = int32(len(w.Nodes)); n > nodes; n-- {
		at := n - 1
		if n%2 == 0 {
			at = 0
		}
		node := w.Nodes[at]
		w.Nodes = slices.Delete(slices.Clone(w.Nodes), int(at), int(at)+1)
		w.leave(node)
		w.Past.Losses = true
	}
	w.next()
	return true
}

// leave has the pods of a node that is gone go: at once, unless pods take a while to go.
func (w *World) leave(node string) {
	for _, p := range slices.Clone(w.Places) {
		if p.Node == node && !p.Going {
			w.deletePlace(p.UID)
		}
	}
}

func (daemonSets) secure(d *Workload) { d.Strategy = OnDelete }

func (daemonSets) secured(d *Workload) bool { return d.Strategy == OnDelete }

func (k daemonSets) exposed(d *Workload) bool { return !k.secured(d) }

func (daemonSets) loosen(d *Workload) { d.Strategy = RollingUpdate }

// bounds is updatedDesiredNodeCounts.
func (daemonSets) bounds(d *Workload, replicas int32) (surge, unavailable int32) {
	return 0, max(min(d.unavailable(replicas, true), replicas), 1)
}

func (daemonSets) mover(x *pass) mover.Mover {
	d := &x.workload
	m := daemonset.Mover{
		OnDelete: d.Strategy == OnDelete, Strategy: strategyText(&d.Spec), Observed: d.behind() <= 0, Replicas: d.Replicas,
		Digest: Digest(d.Template), Update: d.Template,
		Status: daemonset.Status{Updated: d.Status.Updated, Ready: d.Status.Ready, Available: d.Status.Available, Current: d.Status.Replicas},
		Listed: x.listed, Live: x.live,
	}
	if x.listed {
		m.Pods = x.pods()
	}
	return m
}

// turn is syncDaemonSet. It rolls only once it has seen what it made and deleted before.
func (daemonSets) turn(w *World, sees Spec) bool {
	before, n := w.version, nodes{w, sees}
	if !n.manage() && n.Strategy == RollingUpdate {
		n.roll()
	}
	n.count()
	return w.version != before
}

func (k daemonSets) turnLate(w *World, sees Spec) bool { return k.turn(w, sees) }

func (k daemonSets) settled(w *World) bool {
	return !slices.ContainsFunc(w.Places, func(p Place) bool { return p.Going }) && !k.turn(w.Clone(), w.Workload.Spec)
}

// nodes is the DaemonSet controller with the spec that it sees.
type nodes struct {
	*World
	Spec
}

// on returns the pod of a node; nil if there is none.
func (w *World) on(node string) *Place {
	for i := range w.Places {
		if w.Places[i].Node == node {
			return &w.Places[i]
		}
	}
	return nil
}

// manage makes a pod for each node that lacks one, and deletes those that have ended. It reports whether there are any.
func (n nodes) manage() bool {
	changed := false
	for _, node := range n.Nodes {
		switch p := n.on(node); {
		case p == nil:
			n.addPlace(Place{Name: podOn(node), Node: node, Revision: n.Template})
			changed = true
		case p.Stage == Ended && !p.Going:
			n.deletePlace(p.UID)
			changed = true
		}
	}
	return changed
}

// roll is rollingUpdate: old pods go that are not available, and others as far as maxUnavailable allows.
func (n nodes) roll() {
	_, room := n.Workload.bounds(int32(len(n.Nodes)))
	var free, old []Place
	for i := range n.Places {
		switch p := &n.Places[i]; {
		case p.Going:
			room--
		case same(p.Revision, n.Template):
			if !p.available() {
				room--
			}
		case !p.available():
			free = append(free, *p)
			room--
		default:
			old = append(old, *p)
		}
	}
	for _, p := range append(free, old[:min(max(int(room), 0), len(old))]...) {
		n.deletePlace(p.UID)
	}
}

// count is updateDaemonSetStatus.
func (n nodes) count() {
	status := Places{}
	for i := range n.Places {
		p := &n.Places[i]
		status.Replicas++
		if p.ready() {
			status.Ready++
		}
		if p.Stage == Available {
			status.Available++
		}
		if same(p.Revision, n.Template) {
			status.Updated++
		}
	}
	d, desired := &n.Workload, int32(len(n.Nodes))
	if d.Status == status && d.Replicas == desired {
		return
	}
	if d.Replicas != desired {
		n.Past.Sizes.become(d.Replicas, desired)
	}
	d.Status, d.Replicas, d.Version = status, desired, n.next()
}

// comes is the revision in which a pod comes back.
func (daemonSets) comes(_ *Workload, spec *Spec, _ *Place) string { return spec.Template }

// reached counts the nodes of a revision: those that lack a pod get one of the template. Nodes count that the status counts, or that
// have a pod.
func (daemonSets) reached(d *Workload, places []Place, revision string) int32 {
	n, others := int32(0), int32(0)
	for i := range places {
		switch p := &places[i]; {
		case !p.stands():
		case same(p.Revision, revision):
			n++
		default:
			others++
		}
	}
	if same(d.Template, revision) {
		return max(d.Replicas, int32(len(places))) - others
	}
	return n
}

// serving are the available pods that the native controller leaves alone.
func (daemonSets) serving(_ *Workload, places []Place) int32 {
	return serving(places, math.MaxInt32)
}

func (daemonSets) closes(*Workload) {}

// goesBack: updated pods stay.
func (daemonSets) goesBack() bool { return false }

func (daemonSets) single(*World) bool { return false }

func (daemonSets) lacks(*World) bool { return false }

func (daemonSets) open(*World) string { return "" }
