package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// State is a world and the process that works on it.
type State struct {
	*World
	Process *Process
	// Next, if not nil, stands in for plan.Next.
	Next func(plan.Observation) plan.Plan
	// elsewhere lets something happen to others of the fleet in a pass that races.
	elsewhere func()
}

// NewState makes a state in which nothing has happened yet.
func NewState(s Setup) *State { return &State{World: New(s), Process: &Process{}} }

// Clone returns a copy that shares nothing that can change.
func (s *State) Clone() *State {
	return &State{World: s.World.Clone(), Process: s.Process.Clone(), Next: s.Next}
}

// Kind is a kind of event.
type Kind uint8

// Kinds of events. The Text of the event says what it does with a Subject.
const (
	Pass             Kind = iota // the controller looks at the release
	PassDies                     // the same, and the process stops after write number N
	PassRaces                    // the same, and request number N finds that Race has just happened
	Restart                      // the process stops between two passes
	SyncSet                      // the ReplicaSet controller looks at a ReplicaSet
	SyncWorkload                 // the Deployment controller looks at the workload
	SyncWorkloadLate             // the same, and sees it as it was N changes of its spec ago
	PodReady                     // a pending pod comes up
	PodAvailable                 // a ready pod counts as available
	PodGone                      // a pod that is going away is gone
	PodFails                     // an available pod fails
	PodHeals                     // a failing pod becomes available
	PodLost                      // an available pod vanishes
	PodEnds                      // an available pod fails for good, as one that its node evicts
	Refuse                       // some writes are refused, or changed to something else
	Crowd                        // a quota leaves no room for a release
	Cure                         // the sick revision's pods can become available, and what was refused is not
	Scale                        // spec.replicas becomes N
	Shift                        // the first ordinal becomes N more
	Give                         // the release gets another template
	Rollback                     // somebody asks for a rollback
	Retry                        // somebody asks for a retry
	Suspend                      // somebody suspends the release
	Resume                       // somebody lets it go on
	Spoil                        // somebody makes its steps invalid, in the way N
	Repair                       // somebody makes them valid again
	EditStep                     // somebody edits what the step in progress says: more if N is 1, and fewer requests otherwise
	Jump                         // somebody asks for a step
	ReleaseTo                    // Git asks for step N, for none if it is less than 0
	Confirm                      // somebody confirms the step
	Approve                      // the approvals part looks at the gates
	Reject                       // a gate is rejected
	Unpause                      // somebody resumes the workload, and gives it the template of the text, if any
	EditTemplate                 // somebody edits the workload's template
	StripHold                    // somebody removes our annotation
	Drift                        // somebody edits the template of a workload that no release holds
	DeleteRelease                // somebody deletes the release
	DeleteWorkload               // somebody deletes the workload
	CreateWorkload               // somebody creates it again
	Freeze                       // a cache begins to lag
	Thaw                         // the caches catch up
	LoseStatus                   // somebody clears the whole status
	Touch                        // somebody writes the release without changing what counts
	Elapse                       // the progress deadline goes by, and the controller looks all the time
	Away                         // it goes by, and nobody looks
	Leap                         // the clock of the controller's node goes N hours ahead, or back
	Wait                         // time goes by: of a soak gate, until a refused write is sent again, or drift reverted
	SyncSlices                   // the EndpointSlice controller looks at the Service of a side
	Accept                       // the status of a route tells that it is in effect as it is
	Settle                       // what is in effect has been so for a while, and the controller looks all the time
	RestoreRoute                 // somebody applies a route as it was, and takes the hold off if N is 1
	DeleteRoute                  // somebody deletes a route
	CreateRoute                  // somebody creates it again
	DeleteService                // somebody deletes the Service of a side
	ForgetTraffic                // somebody takes the traffic out of the release
	Silence                      // the Gateway of a route dies, and its entry in the status stays
	Speak                        // it comes back, and tells again
	StripRoute                   // somebody takes the annotation off a route by which the release holds it
	ShareRouteAgain              // somebody applies rules to a route that it had in mid-release
	EditService                  // somebody edits the selector of the Service of a side
	TurnOff                      // the controller starts again without --traffic
	TurnOn                       // it starts again with it
	Admit                        // a policy begins to write a stamp into the templates of workloads, or ends where the text is empty
	TouchWorkload                // somebody writes the workload without changing what counts
	Apply                        // somebody applies the workload's manifest with a template
	kinds
)

var kindNames = [kinds]string{
	"pass", "pass that dies", "pass that races", "restart", "sync", "sync workload",
	"sync workload late", "pod ready", "pod available", "pod gone", "pod fails", "pod heals", "pod lost", "pod ends", "refuse", "crowd", "cure", "scale", "shift", "give", "rollback", "retry", "suspend", "resume", "spoil", "repair", "edit step", "jump", "release to", "confirm", "approve", "reject", "unpause",
	"edit template", "strip hold", "drift", "delete release", "delete workload", "create workload", "freeze", "thaw",
	"lose status", "touch", "elapse", "away", "leap", "wait",
	"sync slices", "accept", "settle", "restore route", "delete route", "create route", "delete service", "forget traffic", "silence", "speak",
	"strip route", "share route again", "edit service", "turn off", "turn on",
	"admit", "touch workload", "apply",
}

func (k Kind) String() string { return kindNames[k] }

// Event is one thing that happens.
type Event struct {
	Kind Kind
	// Text is the revision, object or value that the event is about.
	Text string
	// N is a number of pods, of writes or of requests.
	N int32
	// Race is the event that happens in a pass that races.
	Race *Event
}

func (e Event) String() string {
	text := e.Kind.String()
	if e.Text != "" {
		text += " " + e.Text
	}
	if e.N != 0 || e.Kind == Scale || e.Kind == Jump || e.Kind == ReleaseTo || e.Kind == Leap {
		text += fmt.Sprintf(" %d", e.N)
	}
	if e.Race != nil {
		text += " with " + e.Race.String()
	}
	return text
}

// happen lets the event happen. It reports whether it changed anything.
func (e Event) happen(s *State) bool {
	switch e.Kind {
	case Pass, PassDies, PassRaces:
		return e.pass(s)
	case Restart:
		s.Process = &Process{}
		return true
	case SyncSet, PodReady, PodAvailable, PodGone, PodFails, PodHeals, PodLost, PodEnds:
		return s.Workload.kind.podEvent(s.World, e)
	case Scale, Shift, SyncWorkload, SyncWorkloadLate, Unpause, EditTemplate, StripHold, Drift, DeleteWorkload, CreateWorkload, TouchWorkload, Apply:
		return e.applyToWorkload(s)
	case Give, Rollback, Retry, Suspend, Resume, Spoil, Repair, EditStep, Jump, ReleaseTo, Confirm, Approve, Reject, DeleteRelease:
		return e.applyToRelease(s)
	case SyncSlices, Accept, Settle, RestoreRoute, DeleteRoute, CreateRoute, DeleteService, ForgetTraffic, Silence, Speak, StripRoute, ShareRouteAgain, EditService,
		TurnOff, TurnOn:
		return e.applyToTraffic(s)
	default:
		return e.applyToCaches(s)
	}
}

// idle reports, at little cost, that the event would change nothing.
func (e Event) idle(s *State) bool {
	switch e.Kind {
	case SyncSet, PodReady, PodAvailable, PodGone, PodHeals:
		return s.Workload.kind.podIdle(s.World, e)
	case SyncWorkloadLate:
		return len(s.Workload.Earlier) < int(e.N)
	case Approve:
		return !slices.ContainsFunc(s.Gates, func(g Gate) bool { return g.Decision != v1alpha1.DecisionPassed })
	case Thaw:
		return !s.Lag.any()
	case SyncSlices, Accept, Settle, CreateRoute, TurnOn, Speak:
		return e.trafficIdle(s)
	case Wait:
		return !slices.ContainsFunc(s.Gates, func(g Gate) bool { return soaking(s.World, g) }) && !s.awaitsRetry() && !s.awaitsRevert() && !s.Process.vacant.Any()
	default:
		return false
	}
}

func (e Event) applyToWorkload(s *State) bool {
	if s.isWritten(e.Kind) {
		return false
	}
	switch e.Kind {
	case Apply:
		return apply(s.World, e.Text)
	case Scale:
		return scaleTo(s.World, e.N)
	case Shift:
		return shiftOrdinals(s.World, e.N)
	case SyncWorkload:
		return syncWorkload(s.World)
	case SyncWorkloadLate:
		return syncWorkloadLate(s.World, int(e.N))
	case Unpause:
		return unpause(s.World, e.Text)
	case EditTemplate:
		return editTemplate(s.World, e.Text)
	case StripHold:
		return stripHold(s.World)
	case Drift:
		return drift(s.World, e.Text)
	case DeleteWorkload:
		return deleteWorkload(s.World)
	case TouchWorkload:
		return touchWorkload(s.World)
	default:
		return createWorkload(s.World, e.Text)
	}
}

func (e Event) applyToRelease(s *State) bool {
	switch e.Kind {
	case Give:
		return give(s.World, e.Text)
	case Rollback:
		return s.Annotate(v1alpha1.RollbackAnnotation, e.Text)
	case Retry:
		return s.Annotate(v1alpha1.RetryAnnotation, "true")
	case Jump:
		return jump(s.World, e.N)
	case ReleaseTo:
		return releaseTo(s.World, e.N)
	case Suspend, Resume:
		return suspend(s.World, e.Kind == Suspend)
	case Spoil:
		return spoil(s.World, e.N)
	case Repair:
		return repair(s.World)
	case EditStep:
		return editStep(s.World, e.N == 1)
	case Confirm:
		return confirm(s.World)
	case Approve:
		return approve(s.World)
	case Reject:
		return reject(s.World)
	default:
		return deleteRelease(s.World)
	}
}

func (e Event) applyToCaches(s *State) bool {
	switch e.Kind {
	case Freeze:
		return freezeCache(s.World, Object(e.Text))
	case Thaw:
		return thaw(s.World)
	case LoseStatus:
		return loseStatus(s.World)
	case Touch:
		return touchRelease(s.World)
	case Crowd:
		return s.API.crowd()
	case Refuse:
		return s.API.refuse(Writes(e.Text))
	case Admit:
		return s.API.admit(e.Text)
	case Cure:
		return cure(s.World)
	case Wait:
		s.Now = s.Now.Add(Soak)
		return true
	case Leap:
		s.Skew += time.Duration(e.N) * time.Hour
		return true
	case Away:
		s.Now = s.Now.Add(s.deadline() + time.Second)
		return true
	default:
		s.watch(s.deadline() + time.Second)
		return true
	}
}

// tick is how long a pass takes: longer than a plan collects small changes for.
const tick = time.Second

// soon is how long a pass may put off what the native controller is about to do by itself.
const soon = 5 * time.Second

// pass runs one pass. It changed nothing if nothing was written and nothing new remembered.
func (e Event) pass(s *State) bool {
	s.Process.recall(s.World)
	before := s.Process.known()
	s.Now = s.Now.Add(tick)
	left := e.N
	mishaps := Mishaps{Next: s.Next}
	switch e.Kind {
	case PassDies:
		mishaps.Dies = func() bool { left--; return left == 0 }
	case PassRaces:
		mishaps.Before = func(*World) {
			if left--; left == 0 && e.Race != nil {
				e.Race.Apply(s)
			} else if left == 0 && s.elsewhere != nil {
				s.elsewhere()
			}
		}
	}
	s.watched(tick)
	report := s.Process.passUnasked(s.World, mishaps)
	if e.Kind == Pass && len(report.Done)+report.Refused == 0 && report.Wake > 0 && report.Wake <= soon {
		s.Until(s.Now.Add(report.Wake)) // nobody else has done anything until then
		report = s.Process.Pass(s.World, mishaps)
	}
	s.see(passEnded{s, e, report})
	s.Process.recall(s.World)
	return len(report.Done) > 0 || s.Process.known() != before
}

// known tells two memories of a process apart by the versions they hold.
func (p *Process) known() [6]int64 {
	known := [6]int64{}
	if p.release != nil {
		known[0] = p.release.Version
	}
	if p.workload != nil {
		known[1] = p.workload.Version
	}
	for i := range p.sets {
		known[2] += p.sets[i].Version
	}
	known[3] = int64(len(p.gates))
	known[5] = int64(len(p.vacant.Nodes()))
	if p.unwritten != nil {
		known[4]++
	}
	known[4] += int64(p.waited)
	return known
}
