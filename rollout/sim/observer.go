package sim

import (
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// observer watches a world. The tests check their laws with one; sluice simulate has none.
type observer interface {
	// see takes one of the incidents below, when it happens.
	see(w *World, incident any)
	// stateKey tells two states apart by what can matter for what comes next.
	stateKey(*State) string
	clone() observer
}

// happened follows an event that has changed the world, and holds parts of it as they were before.
type happened struct {
	event    Event
	release  Release
	workload Workload
	gates    []Gate
	nodes    int
}

// templateCopied follows a copy of the workload's template to spec.template.
type templateCopied struct{ template string }

// podMade follows a pod, or a ReplicaSet, that a native controller has made by the spec it sees.
type podMade struct {
	revision string
	sees     Spec
}

// setResized comes before the Deployment controller changes the size of a ReplicaSet.
type setResized struct {
	native   native
	set      *Set
	replicas int32
}

// othersEmptied comes before that controller empties all others, as the new ReplicaSet is complete.
type othersEmptied struct{ native native }

// passBegun follows the reads of a pass from the caches.
type passBegun struct{ pass *pass }

// factRead follows a read of the workload or of its pods from the API server.
type factRead struct{ what plan.Reads }

// raced follows changes between a request and its answer, and holds the world before them.
type raced struct{ before *World }

// actionSent comes before an action is carried out, and actionDone follows it.
type actionSent struct {
	pass   *pass
	action plan.Action
}
type actionDone struct{ pass *pass }

// templateRewritten follows a write whose template the API server has changed.
type templateRewritten struct{}

// statusSent comes before a status is stored.
type statusSent struct {
	pass   *pass
	status *v1alpha1.BatchReleaseStatus
}

// passSettled follows the status of a pass that has nothing left to do.
type passSettled struct {
	pass *pass
	last plan.Plan
}

// passEnded follows the last pass of an event.
type passEnded struct {
	state  *State
	event  Event
	report Report
}

// processEnded follows the end of a process.
type processEnded struct{}

// timeWatched follows time in which a process was there.
type timeWatched struct{ time.Duration }

// see shows an incident to the observer, if there is one.
func (w *World) see(incident any) {
	if w.observer != nil {
		w.observer.see(w, incident)
	}
}

// key tells two states apart; empty without an observer.
func (s *State) key() string {
	if s.observer == nil {
		return ""
	}
	return s.observer.stateKey(s)
}

// Apply lets the event happen. It reports whether it changed anything.
func (e Event) Apply(s *State) bool {
	if s.observer == nil {
		return e.happen(s)
	}
	before := happened{event: e, release: s.Release, workload: s.Workload, gates: slices.Clone(s.Gates), nodes: len(s.Nodes)}
	changed := e.happen(s)
	if changed {
		s.see(before)
	}
	return changed
}
