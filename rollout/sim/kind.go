package sim

import (
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// The names of kinds.
const (
	Deployment  = "Deployment"
	StatefulSet = "StatefulSet"
	DaemonSet   = "DaemonSet"
)

// kind holds the differences of the kinds of workloads. All else in a world is the same for each.
type kind interface {
	// born returns the spec of a new workload, and start gives one that is not new its pods.
	born(Spec) Spec
	start(w *World, newborn bool)
	// turn runs one turn of the native controller with the spec that it sees, and turnLate one with an
	// earlier spec. They report whether anything changed.
	turn(*World, Spec) bool
	turnLate(*World, Spec) bool
	// podEvents returns those of these kinds that may happen. podEvent lets one happen, and podIdle
	// reports, at little cost, that it would change nothing.
	podEvents(*World, ...Kind) []Event
	podEvent(*World, Event) bool
	podIdle(*World, Event) bool
	// freeze lets the cache lag behind on pods, or on what they are in.
	freeze(w *World, revision string) bool

	// scale asks for another number of pods.
	scale(*World, int32) bool
	secure(*Workload)
	giveBack(*Workload, v1alpha1.HeldWorkload)
	// secured reports whether the native controller is kept from rolling the workload.
	secured(*Workload) bool

	// close keeps the native controller from rolling a new template out, as the policies do, and
	// contained reports whether it is kept from that.
	close(*Workload)
	contained(*Workload) bool

	// loosen lets the native controller go on, and loosens reports whether somebody may do that.
	loosen(*Workload)
	loosens(*World) bool
	bounds(d *Workload, replicas int32) (surge, unavailable int32)
	// size returns how many pods there are to be, as far as a process knows.
	size(*Workload, []Place) int32
	move(*pass, mover.Write)
	// refused returns what refusals of a write are called; empty if it is taken always.
	refused(mover.Write) Writes

	mover(*pass) mover.Mover
	// observe takes the pods from a cache, and read from the API server.
	observe(*pass)
	read(*pass)
	// name returns that of a workloadRef.
	name() string
	// show describes the pods, in the line of a world.
	show(*World, *strings.Builder)
}

// models are those of workload.Kinds.
var models = map[string]kind{Deployment: deployments{}, StatefulSet: statefulSets{}, DaemonSet: daemonSets{}}

// kindOf returns the kind of a name, Deployment if it is empty. Another name is a fault of who
// asks.
func kindOf(name string) kind {
	k, found := models[or(name, Deployment)]
	if !found {
		panic("no model of kind " + name)
	}
	return k
}

// Kind returns that of the workload.
func (w *World) Kind() string { return w.Workload.kind.name() }
