package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// State is what a release is doing or waiting for. The set of states is closed: those of this file. Of computes it, decide and
// proceed say what to do in each, and only tell puts it into words.
//
//sumtype:decl
type State interface{ isState() }

// Obstacle is a State in which the workload is not there, or not ours to move: no request is answered.
//
//sumtype:decl
type Obstacle interface {
	State
	isObstacle()
}

type (
	// Leaving says that the release is being deleted.
	Leaving struct{}
	// Absent says that there is no workload.
	Absent struct{ Kind, Name string }
	// Replaced says that according to a cache that may lag, the workload of this name is another one.
	Replaced struct{}
	// WorkloadHeld says that another release holds the workload.
	WorkloadHeld struct{ Workload, Holder string }
	// Unsecured says that somebody let the native controller loose on a workload that is held.
	Unsecured struct{ Change string }
)

// Preparing says that another template is given, whose release may not begin yet on a workload that is held. What was in progress
// does not go on.
type Preparing struct {
	Revision string
	Awaits   v1alpha1.Awaited
	// Late says that it has waited for as long as the progress deadline.
	Late bool
}

// Rest is a State in which no release is in progress.
//
//sumtype:decl
type Rest interface {
	State
	isRest()
}

type (
	// Idle says that nothing has been released yet.
	Idle struct{ Because Idleness }
	// Completed says that all pods run what was released, or was rolled back to.
	Completed struct{ Rollback bool }
	// Drifted says that somebody gave the workload another template since.
	Drifted struct{ Fields []string }
	// Waiting says that a template is given, and the release of it is stopped.
	Waiting struct {
		Revision string
		Stop     Stop
	}
	// PastGit says that spec.template is not what Git gives.
	PastGit struct{}
)

// Progress is a State in which a release, or a rollback, is in progress.
//
//sumtype:decl
type Progress interface {
	State
	isProgress()
}

type (
	// Arriving says that the workload runs the template under the native controller.
	Arriving struct{ At Arrival }
	// Starting says that the workload is to be taken over, or to get another template.
	Starting struct{ At Start }
	// Entering says that the workload is taken over, and no step is entered.
	Entering struct{}
	// Rolling says that pods are moved to what the step says.
	Rolling struct{ Back bool }
	// Paused says that the next pod to go has a pause point.
	Paused struct{ At v1alpha1.PausePoint }
	// Blocked says that the step is done, and waits for its gates.
	Blocked struct{ By []waitingGate }
	// Stopped says that the release waits until what stops it is gone.
	Stopped struct {
		At   Standstill
		Stop Stop
	}
	// Failed says that the release made no progress within its deadline.
	Failed struct{ At Standstill }
	// Shifting says that the pods are there, and that requests are moved between versions.
	Shifting struct{ Awaits v1alpha1.TrafficAwaited }
	// Finishing says that every pod runs the new revision, and the workload is handed back.
	Finishing struct{}
)

// Idleness is why nothing has been released yet.
type Idleness int

// The reasons of Idle.
const (
	// NoTemplate: spec.template is missing.
	NoTemplate Idleness = iota
	// RolledBack: spec.template was rolled back.
	RolledBack
	// Refused: the API server refuses spec.template.
	Refused
	// Resolving: the API server has not defaulted spec.template yet.
	Resolving
)

// Arrival is how far a workload is that runs the template under the native controller.
type Arrival int

// The arrivals.
const (
	// Arrived: there is nothing left to wait for.
	Arrived Arrival = iota
	// Unseen: the native controller has not seen the workload as it is.
	Unseen
	// NativeRollout: the native controller is still rolling the template out.
	NativeRollout
)

// Start is what a workload waits for that is to be taken over.
type Start int

// The starts.
const (
	// Ready: nothing.
	Ready Start = iota
	// Behind: the native controller has not seen the workload as it is.
	Behind
	// WouldMixVersions: the workload must not run two versions at once.
	WouldMixVersions
	// NotAsInGit: a person is to say that the template in Git may replace one that Git did not have.
	NotAsInGit
	// WillNotFit: the namespace has no room for the release.
	WillNotFit
	// NoTraffic: the routes can't share requests.
	NoTraffic
)

// Standstill is how far a release is that is stopped.
type Standstill int

// The standstills.
const (
	// NotTakenOver: the workload is not taken over.
	NotTakenOver Standstill = iota
	// NotBegun: no step is entered.
	NotBegun
	// InBatch: a step is entered.
	InBatch
)

func (Leaving) isState()      {}
func (Absent) isState()       {}
func (Replaced) isState()     {}
func (WorkloadHeld) isState() {}
func (Unsecured) isState()    {}
func (Preparing) isState()    {}
func (Idle) isState()         {}
func (Completed) isState()    {}
func (Drifted) isState()      {}
func (Waiting) isState()      {}
func (PastGit) isState()      {}
func (Arriving) isState()     {}
func (Starting) isState()     {}
func (Entering) isState()     {}
func (Rolling) isState()      {}
func (Paused) isState()       {}
func (Blocked) isState()      {}
func (Stopped) isState()      {}
func (Failed) isState()       {}
func (Shifting) isState()     {}
func (Finishing) isState()    {}

func (Leaving) isObstacle()      {}
func (Absent) isObstacle()       {}
func (Replaced) isObstacle()     {}
func (WorkloadHeld) isObstacle() {}
func (Unsecured) isObstacle()    {}

func (Idle) isRest()      {}
func (Completed) isRest() {}
func (Drifted) isRest()   {}
func (Waiting) isRest()   {}
func (PastGit) isRest()   {}

func (Arriving) isProgress()  {}
func (Starting) isProgress()  {}
func (Entering) isProgress()  {}
func (Rolling) isProgress()   {}
func (Paused) isProgress()    {}
func (Blocked) isProgress()   {}
func (Stopped) isProgress()   {}
func (Failed) isProgress()    {}
func (Shifting) isProgress()  {}
func (Finishing) isProgress() {}

// Of computes the state of a release from what is observed.
func Of(o Observation) State { return stateOf(lookAt(o)) }

func stateOf(l *look) State {
	if s := found(l); s != nil {
		return s
	}
	return reached(l)
}

// found is the state of a release whose workload is not there, or not ours to move; nil if it is.
func found(l *look) Obstacle {
	ref := l.Release.Spec.WorkloadRef
	switch w := l.Workload; {
	case l.Release.DeletionTimestamp != nil:
		return Leaving{}
	case w == nil || w.Deleting:
		return Absent{ref.Kind, ref.Name}
	case l.anotherWorkload():
		return Replaced{}
	case w.Hold != nil && !l.held():
		return WorkloadHeld{w.Name, w.Hold.Release}
	case l.held() && !w.secured() && !l.completed():
		return Unsecured{l.unsecuring()}
	default:
		return nil
	}
}

// reached is how far a release is.
func reached(l *look) State {
	if s, preparing := l.preparing(); preparing {
		return s
	}
	if l.idle() {
		return resting(l)
	}
	return underWay(l)
}

// underWay is how far a release is that has begun, and has not ended.
func underWay(l *look) Progress {
	switch {
	case l.arrives():
		return Arriving{l.arrival()}
	case !l.takenOver():
		return starting(l)
	default:
		return rolling(l)
	}
}

// resting is the state of a release that has not begun, or has ended.
func resting(l *look) Rest {
	stop := l.stop()
	switch {
	case l.record.Queued != nil && stop.any():
		return Waiting{l.record.Queued.Revision, stop}
	case l.drifts():
		return Drifted{l.driftFields()}
	case l.pastGit:
		return PastGit{}
	case l.completed():
		return Completed{l.isRollback()}
	case l.Given == "":
		return Idle{NoTemplate}
	case l.quarantined():
		return Idle{RolledBack}
	case l.refusedTemplate() != nil:
		return Idle{Refused}
	default:
		return Idle{Resolving}
	}
}

// starting is the state of a release whose workload is to be taken over, or to get another template.
func starting(l *look) Progress {
	held := l.held()
	fresh := !held && l.record.Held == nil
	switch stop := l.stopped(); {
	case stop.any() && !l.rollingBack() && !l.entered() && (l.record.Held == nil || held):
		return Stopped{NotTakenOver, stop}
	case fresh && l.failed():
		return Failed{NotTakenOver}
	case !held && l.Workload.Behind > 0, held && l.record.Phase == v1alpha1.PhaseInitial && l.Workload.native().Stale:
		return Starting{Behind}
	case fresh && l.mixesVersions():
		return Starting{WouldMixVersions}
	case fresh && l.notAsInGit():
		return Starting{NotAsInGit}
	case fresh && l.wontFit():
		return Starting{WillNotFit}
	case fresh && l.trafficProblem() != nil:
		return Starting{NoTraffic}
	default:
		return Starting{Ready}
	}
}

// rolling is the state of a release that holds its workload.
func rolling(l *look) Progress {
	stop := l.stopped()
	switch {
	case l.failed():
		return Failed{InBatch}
	case stop.any() && !l.entered():
		return Stopped{NotBegun, stop}
	case stop.any():
		return Stopped{InBatch, stop}
	case !l.entered():
		return Entering{}
	case l.record.Phase == v1alpha1.PhaseFinalizing:
		return Finishing{}
	case l.paused():
		return Paused{*l.record.PausePoint}
	}
	if len(l.record.Gates) > 0 {
		if waiting := l.waitsFor(); len(waiting) > 0 {
			return Blocked{waiting}
		}
	}
	if l.shifts() {
		return Shifting{l.record.Traffic.Awaits}
	}
	return Rolling{Back: l.goingBack()}
}
