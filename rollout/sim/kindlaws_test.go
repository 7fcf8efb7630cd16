package sim

import (
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// kindLaws holds what the laws ask of the pods of a kind.
type kindLaws interface {
	laws() []law
	// settled reports whether the native controllers have nothing to do with the pods.
	settled(*World) bool
	// exposed reports whether a workload that is held loses pods to its native controller.
	exposed(*Workload) bool
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
	// counts returns what a status may report of the pods.
	counts(w *World, update string) counts
	judgeRest(*World, heldBack)
	judgeFollowed(*World, heldBack)
	judgeCompleted(*pass, *v1alpha1.BatchReleaseStatus)
	// left says what is missing from the clean end.
	left(*World) []string
	// tellEnd describes the pods at the end of a run, and key tells two states of them apart.
	tellEnd(*World, *strings.Builder)
	key(*encoder, *State)
}

// The laws of each kind.
type (
	lawsOfSets         struct{}
	lawsOfPlaces       struct{}
	lawsOfStatefulSets struct{ lawsOfPlaces }
	lawsOfDaemonSets   struct{ lawsOfPlaces }
)

var lawsOfKinds = map[string]kindLaws{Deployment: lawsOfSets{}, StatefulSet: lawsOfStatefulSets{}, DaemonSet: lawsOfDaemonSets{}}

// byKind returns the laws of a workload's kind.
func byKind(d *Workload) kindLaws { return lawsOfKinds[d.kind.name()] }

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
	_, placed := byKind(d).(placeKind)
	return placed
}

// places returns the pods of a workload whose pods have places.
func (d *Workload) places() placeKind { return byKind(d).(placeKind) }

// exposed reports whether the workload is held and loses pods to its native controller all the
// same.
func (d *Workload) exposed() bool { return !d.Absent && d.Hold != nil && byKind(d).exposed(d) }
