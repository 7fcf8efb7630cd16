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

// kind is what kinds of workloads differ in. All else in a world is the same for each.
type kind interface {
	// born returns the spec of a new workload, and start gives one that is not new its pods.
	born(Spec) Spec
	start(w *World, newborn bool)
	// turn is one turn of the native controller with the spec that it sees, and turnLate one with an
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
	// settled reports whether the native controllers have nothing to do with the pods.
	settled(*World) bool
	secure(*Workload)
	giveBack(*Workload, v1alpha1.HeldWorkload)
	// secured reports whether the native controller is kept from rolling the workload.
	secured(*Workload) bool
	// exposed reports whether a workload that is held loses pods to its native controller.
	exposed(*Workload) bool

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
	laws() []law
	// passed returns how many pods others have added, and how many available ones they have taken,
	// between two requests.
	passed(before, after *World) (grown, lost int32)
	// allUpdated reports whether all pods that the pass can know to be wanted are of the workload's
	// template, and no others.
	allUpdated(change) bool
	// has reports whether there is anything for pods of a revision to be in, and running is how many
	// there are, or come; wanted is how many of all revisions there are to be.
	has(w *World, revision string) bool
	running(w *World, revision string) int32
	wanted(*World) int32
	// counts returns what a status may tell of the pods.
	counts(w *World, update string) counts
	judgeRest(*World, heldBack)
	judgeFollowed(*World, heldBack)
	judgeCompleted(*pass, *v1alpha1.BatchReleaseStatus)
	// left says what is missing from the clean end.
	left(*World) []string
	// name returns that of a workloadRef.
	name() string
	// show and tellEnd tell of the pods, in a world's line and in how it ends, and key tells two states
	// of them apart.
	show(*World, *strings.Builder)
	tellEnd(*World, *strings.Builder)
	key(*encoder, *State)
}

// placeKind is what the laws ask of pods with places, beside the rest.
type placeKind interface {
	// comes returns the revision in which a pod comes back.
	comes(d *Workload, spec *Spec, p *Place) string
	// reached returns how many places have, or get without another write, a pod of a revision, and
	// serving how many available pods stay.
	reached(d *Workload, places []Place, revision string) int32
	serving(d *Workload, places []Place) int32
	// lacks reports whether a place has no pod.
	lacks(*World) bool
	// closes makes a workload one whose native controller updates nothing more, and open says how far
	// it may without a write.
	closes(*Workload)
	open(*World) string
	// goesBack reports whether updated pods may go back, and single whether each pod comes in the same
	// version.
	goesBack() bool
	single(*World) bool
}

// inPlaces reports whether the pods of a workload have places of their own.
func inPlaces(d *Workload) bool {
	_, placed := d.kind.(placeKind)
	return placed
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

// places returns the pods of a workload whose pods have places.
func (d *Workload) places() placeKind { return d.kind.(placeKind) }

// exposed reports whether the workload is held and loses pods to its native controller all the
// same.
func (d *Workload) exposed() bool { return !d.Absent && d.Hold != nil && d.kind.exposed(d) }

// Kind returns that of the workload.
func (w *World) Kind() string { return w.Workload.kind.name() }
