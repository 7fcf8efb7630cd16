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
	nativeKind
	strategyKind
	shellKind
	lawKind
}

// nativeKind is the native controller of a kind, and its pods.
type nativeKind interface {
	nativeController
	podEvents

	// scale asks for another number of pods.
	scale(*World, int32) bool
	// settled reports whether the native controllers have nothing to do with the pods.
	settled(*World) bool
}

// nativeController makes pods.
type nativeController interface {
	// born is the spec of a new workload, and start gives one that is not new its pods.
	born(Spec) Spec
	start(w *World, newborn bool)
	// turn is one turn of the native controller with the spec that it sees, and turnLate one with an earlier spec. They report
	// whether anything changed.
	turn(*World, Spec) bool
	turnLate(*World, Spec) bool
}

// podEvents are what happens to pods.
type podEvents interface {
	// podEvents are those of these kinds that may happen. podEvent lets one happen, and podIdle reports, at little cost, that it
	// would change nothing.
	podEvents(*World, ...Kind) []Event
	podEvent(*World, Event) bool
	podIdle(*World, Event) bool
	// freeze lets the cache lag behind on pods, or on what they are in.
	freeze(w *World, revision string) bool
}

// strategyKind is what keeps a native controller from rolling a workload.
type strategyKind interface {
	holdingKind

	// loosen lets the native controller go on, and loosens reports whether somebody may do that.
	loosen(*Workload)
	loosens(*World) bool
	bounds(d *Workload, replicas int32) (surge, unavailable int32)
}

// holdingKind is what take-over and hand-back do.
type holdingKind interface {
	secure(*Workload)
	giveBack(*Workload, v1alpha1.HeldWorkload)
	// secured reports whether the native controller is kept from rolling the workload.
	secured(*Workload) bool
	// exposed reports whether a workload that is held loses pods to its native controller.
	exposed(*Workload) bool
}

// shellKind is how a process sees and moves the pods.
type shellKind interface {
	movingKind

	mover(*pass) mover.Mover
	// observe takes the pods from a cache, and read from the API server.
	observe(*pass)
	read(*pass)
}

// movingKind carries out the writes of a mover.
type movingKind interface {
	// size is how many pods there are to be, as far as a process knows.
	size(*Workload, []Place) int32
	move(*pass, mover.Write)
	// refused is what refusals of a write are called; empty if it is taken always.
	refused(mover.Write) Writes
}

// lawKind is what the laws ask of the pods.
type lawKind interface {
	judgedKind
	countedKind
	restingKind
	toldKind
}

// judgedKind is about writes.
type judgedKind interface {
	laws() []law
	// passed is how many pods others have added, and how many available ones they have taken, between two requests.
	passed(before, after *World) (grown, lost int32)
	// allUpdated reports whether all pods that the pass can know to be wanted are of the workload's template, and no others.
	allUpdated(change) bool
}

// countedKind counts pods.
type countedKind interface {
	// has reports whether there is anything for pods of a revision to be in, and running is how many there are, or come; wanted is
	// how many of all revisions there are to be.
	has(w *World, revision string) bool
	running(w *World, revision string) int32
	wanted(*World) int32
	// counts is what a status may tell of the pods.
	counts(w *World, update string) counts
}

// restingKind is about what is left as it is: by a pass, at the end of a release, and at the end of all.
type restingKind interface {
	judgeRest(*World, heldBack)
	judgeFollowed(*World, heldBack)
	judgeCompleted(*pass, *v1alpha1.BatchReleaseStatus)
	// left says what is missing from the clean end.
	left(*World) []string
}

// toldKind is what people are shown of pods.
type toldKind interface {
	// name is that of a workloadRef.
	name() string
	// show and tellEnd tell of the pods, in a world's line and in how it ends, and key tells two states of them apart.
	show(*World, *strings.Builder)
	tellEnd(*World, *strings.Builder)
	key(*encoder, *State)
}

// placeKind is what the laws ask of pods with places, beside the rest.
type placeKind interface {
	placeCounts
	placeWays
}

// placeCounts counts places.
type placeCounts interface {
	// comes is the revision in which a pod comes back.
	comes(d *Workload, spec *Spec, p *Place) string
	// reached is how many places have, or get without another write, a pod of a revision, and serving how many available pods stay.
	reached(d *Workload, places []Place, revision string) int32
	serving(d *Workload, places []Place) int32
	// lacks reports whether a place has no pod.
	lacks(*World) bool
}

// placeWays says how pods with places may be updated.
type placeWays interface {
	// closes makes a workload one whose native controller updates nothing more, and open says how far it may without a write.
	closes(*Workload)
	open(*World) string
	// goesBack reports whether updated pods may go back, and single whether each pod comes in the same version.
	goesBack() bool
	single(*World) bool
}

// models are those of workload.Kinds.
var models = map[string]kind{Deployment: deployments{}, StatefulSet: statefulSets{}, DaemonSet: daemonSets{}}

// kindOf is the kind of a name, Deployment if it is empty. Another name is a fault of who asks.
func kindOf(name string) kind {
	k, found := models[or(name, Deployment)]
	if !found {
		panic("no model of kind " + name)
	}
	return k
}

// places are the pods of a workload whose pods have places.
func (d *Workload) places() placeKind { return d.kind.(placeKind) }

// exposed reports whether the workload is held and loses pods to its native controller all the same.
func (d *Workload) exposed() bool { return !d.Absent && d.Hold != nil && d.kind.exposed(d) }

// Kind is that of the workload.
func (w *World) Kind() string { return w.Workload.kind.name() }
