package plan

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Prospect is what happens to a template that a release is given.
type Prospect string

// The prospects.
const (
	// Begins: nothing is in its way.
	Begins Prospect = "Begins"
	// Supersedes: it takes the place of what is in progress.
	Supersedes Prospect = "Supersedes"
	// Queues: what is in progress is finished first.
	Queues Prospect = "Queues"
	// Waits: the release is stopped.
	Waits Prospect = "Waits"
	// Known: it is what is being, or was last, released.
	Known Prospect = "Known"
	// Quarantined: it was rolled back, and is not released again until another one is given.
	Quarantined Prospect = "Quarantined"
)

// Expect says what happens to a template, by the digest of it as given, if the release is given it now, and why
// if it has to wait. The release has its status and the rules that it is going to have; there need be no workload.
// It assumes that the template is new: one that was stable before waits for nothing.
func Expect(release *v1alpha1.BatchRelease, workload *Workload, given string, now time.Time) (prospect Prospect, why string) {
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
