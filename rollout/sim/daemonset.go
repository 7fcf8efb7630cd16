package sim

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// daemonSets is the kind DaemonSet. Its native controller is that of pkg/controller/daemon of
// Kubernetes 1.36, with one pod on each node, or two that maxSurge has made. Nodes come and go,
// and lost nodes are left out.
type daemonSets struct{ placed }

// Leaving is the fate of the pods of nodes that leave.
type Leaving uint8

// With the node they go, unless it is tainted: then the native controller leaves them there. PodGC
// takes its time with those of a node that is deleted.
const (
	PodsGo Leaving = iota
	PodsStayAWhile
	PodsStay
)

var _ kind = daemonSets{}

func (daemonSets) name() string { return DaemonSet }

// born counts no nodes, as the status of a new DaemonSet does.
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

// joinNodes makes nodes.
func joinNodes(w *World, n int32) {
	w.Nodes = slices.Clone(w.Nodes)
	for range n {
		w.joined++
		w.Nodes = append(w.Nodes, fmt.Sprintf("n%02d", w.joined))
	}
}

// scale makes nodes come, or go: the first, which a release takes first, or the last. Their pods go
// with them.
func (daemonSets) scale(w *World, nodes int32) bool {
	n := int32(len(w.Nodes))
	if n == nodes {
		return false
	}
	joinNodes(w, max(nodes-n, 0))
	for n = int32(len(w.Nodes)); n > nodes; n-- {
		at := n - 1
		if n%2 == 0 {
			at = 0
		}
		node := w.Nodes[at]
		w.Nodes = slices.Delete(slices.Clone(w.Nodes), int(at), int(at)+1)
		leaveNode(w, node)
	}
	if w.Leaving != PodsGo {
		w.Workload.nodes = nodes
	}
	w.next()
	return true
}

// leaveNode marks or deletes the pods of a node that is gone or tainted. They go at once, unless
// pods take a while to go.
func leaveNode(w *World, node string) {
	for _, p := range slices.Clone(w.Places) {
		switch {
		case p.Node != node:
		case w.Leaving != PodsGo:
			at := findPlace(w.Places, p.UID)
			at.Orphan, at.Misplaced, at.Uncounted = w.Leaving == PodsStayAWhile, w.Leaving == PodsStay, true
		case !p.Going:
			findPlace(w.Places, p.UID).Orphan = true
			w.deletePlace(p.UID)
		}
	}
}

func (daemonSets) secure(d *Workload) { d.Strategy = OnDelete }

func (daemonSets) secured(d *Workload) bool { return d.Strategy == OnDelete }

func (k daemonSets) close(d *Workload) { k.secure(d) }

func (daemonSets) contained(d *Workload) bool { return d.Strategy == OnDelete }

func (daemonSets) loosen(d *Workload) { d.Strategy = RollingUpdate }

// bounds mirrors updatedDesiredNodeCounts.
func (daemonSets) bounds(d *Workload, replicas int32) (surge, unavailable int32) {
	return 0, max(min(d.unavailable(replicas, true), replicas), 1)
}

func (daemonSets) mover(x *pass) mover.Mover {
	d := &x.workload
	m := daemonset.Mover{
		OnDelete: d.Strategy == OnDelete, Vacant: x.process.vacant.Nodes(),
		Workload: inplace.Workload{
			Strategy: d.own().Strategy, Observed: d.behind() <= 0, Replicas: d.kind.size(d, x.places),
			Digest: Digest(d.Template), Update: d.Template, Status: d.Status.inPlace(), Listed: x.listed, Live: x.live,
		},
	}
	if x.listed {
		m.Pods = podsSeen(x)
	}
	return m
}

// size returns how many nodes count by what a process sees: a status does not count one with a pod
// that the native controller has not seen yet, or that is deleted.
func (daemonSets) size(d *Workload, places []Place) int32 {
	standing := int32(0)
	for i := range places {
		standing += one(places[i].stands())
	}
	return max(d.Replicas, standing-d.Status.Misscheduled)
}

func (k daemonSets) observe(x *pass) {
	k.placed.observe(x)
	k.see(x)
}

func (k daemonSets) read(x *pass) {
	k.placed.read(x)
	k.see(x)
}

// see notes which nodes lack their pod. Where pods go with their nodes it would tell the same.
func (daemonSets) see(x *pass) {
	if x.world.Leaving == PodsGo {
		return
	}
	if !x.listed {
		x.process.vacant = daemonset.Vacancies{}
		return
	}
	occupied := map[string]bool{}
	for i := range x.places {
		occupied[x.places[i].Node] = true
	}
	d := &x.workload
	x.process.vacant = x.process.vacant.See(occupied, d.Replicas-d.Status.Replicas, x.world.Now)
}

// turn mirrors syncDaemonSet. It rolls only once it has seen what it made and deleted before.
func (daemonSets) turn(w *World, sees Spec) bool {
	before, n := w.version, nodes{w, sees}
	if !n.manage() && n.Strategy == RollingUpdate {
		n.roll()
	}
	n.count()
	return w.version != before
}

func (k daemonSets) turnLate(w *World, sees Spec) bool { return k.turn(w, sees) }

// nodes is the DaemonSet controller with the spec that it sees.
type nodes struct {
	*World
	Spec
}

// podOnNode returns the pod of a node; nil if there is none.
func podOnNode(w *World, node string) *Place {
	for i := range w.Places {
		if w.Places[i].Node == node {
			return &w.Places[i]
		}
	}
	return nil
}

// manage makes a pod for each node that lacks one, and deletes those that have ended, some of them
// later, and the younger of two on one node. It reports whether there are any.
func (n nodes) manage() bool {
	changed := false
	for _, node := range n.Nodes {
		switch p := podOnNode(n.World, node); {
		case p == nil:
			n.addPlace(Place{Name: podOn(node), Node: node, Revision: n.Template})
			n.see(podMade{n.Template, n.Spec})
			changed = true
		case p.Stage == Ended && !p.Going && !n.Backoff:
			n.deletePlace(p.UID)
			changed = true
		}
	}
	last := "" // node that has a pod, which is older: pods are in the order of nodes and of their age
	for _, p := range slices.Clone(n.Places) {
		switch {
		case p.Orphan || p.Going:
		case p.Misplaced && p.Stage == Ended && !n.Backoff, p.Stage != Ended && p.Node == last:
			n.deletePlace(p.UID)
			changed = true
		case p.Stage != Ended:
			last = p.Node
		}
	}
	return changed
}

// roll mirrors rollingUpdate: old pods go that are not available, and others as far as
// maxUnavailable allows.
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

// count mirrors updateDaemonSetStatus.
func (n nodes) count() {
	status := Places{}
	for i := range n.Places {
		p := &n.Places[i]
		p.Uncounted = false
		if status.Misscheduled += one(p.Misplaced); !p.belongs() {
			continue
		}
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
	d.Status, d.Replicas, d.Version = status, desired, n.next()
}
