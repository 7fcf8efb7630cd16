package plan

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Admission is what happens to a template that a release is given.
type Admission string

// The admissions.
const (
	// Begins: nothing is in its way.
	Begins Admission = "Begins"
	// Supersedes: it takes the place of what is in progress.
	Supersedes Admission = "Supersedes"
	// Queues: what is in progress is finished first.
	Queues Admission = "Queues"
	// Waits: the release is stopped.
	Waits Admission = "Waits"
	// Known: it is what is being, or was last, released.
	Known Admission = "Known"
	// Quarantined: it was rolled back, and is not released again until another one is given.
	Quarantined Admission = "Quarantined"
)

// AdmissionOf says what happens to a template, by the digest of it as given, if the release is given it now, and why
// if it has to wait. The release has its status and the rules that it is going to have; there need be no workload.
// It assumes that the template is new: one that was stable before waits for nothing.
func AdmissionOf(release *v1alpha1.BatchRelease, workload *Workload, given string, now time.Time) (admission Admission, why string) {
	l := &look{
		Observation: Observation{Now: now, Release: release, Workload: workload, Given: given},
		record:      recordOf(release),
	}
	current := l.record.Resolved
	switch stop := l.stop(); {
	case l.quarantined():
		return Quarantined, ""
	case current != nil && current.Given == given:
		return Known, ""
	case stop.any():
		return Waits, l.stopWords(stop)
	case l.finishesFirst():
		return Queues, ""
	case workload != nil && workload.heldBy(release) && !l.completed():
		return Supersedes, ""
	}
	return Begins, ""
}
