package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// checker checks the laws against what happens in a world, and remembers what they need.
type checker struct {
	Past

	// looked is how long the process has looked at a release that got no further.
	looked time.Duration
	// used counts the events of each kind in an exploration.
	used [kinds]uint8
	// writes and requests are the numbers of the last pass, and done are its writes.
	writes, requests int
	done             []Write

	window window
	// begun is the status that the pass has begun with.
	begun *v1alpha1.BatchReleaseStatus
	// judged says that the pass has sent an action.
	judged bool
	// fleet has the laws of the fleet that the world is in; nil if it is in none.
	fleet *fleetLaws
	// sent is the action that is being carried out, and excused says that OutOfBand was set before it.
	sent    change
	excused bool
}

// newChecker returns the checker of a world in which nothing has happened yet.
func newChecker(w *World) *checker {
	k := &checker{}
	k.born(w)
	if d := &w.Workload; d.kind.name() == StatefulSet && d.Strategy == OnDelete {
		k.brought(d.Status.Current)
	}
	return k
}

// checkerOf returns the checker of a world.
func checkerOf(w *World) *checker { return w.observer.(*checker) }

// past returns what the laws remember of a world.
func past(w *World) *Past { return &checkerOf(w).Past }

// clone leaves out what belongs to a pass in progress.
func (k *checker) clone() observer {
	return &checker{fleet: k.fleet, Past: k.Past, looked: k.looked, used: k.used, writes: k.writes, requests: k.requests}
}

func (k *checker) stateKey(s *State) string { key := s.Key(); return string(key[:]) }

func (k *checker) see(w *World, incident any) {
	if k.fleet != nil {
		k.fleet.see(w, incident)
	}
	if w.seat == 0 && k.fleet != nil {
		return // a train has no pods
	}
	switch i := incident.(type) {
	case happened:
		k.happened(w, i)
	case podMade:
		k.podMade(w, i)
	case setResized:
		k.setResized(i)
	case othersEmptied:
		judgeSaturated(i.native)
	case passBegun:
		k.passBegun(i.pass)
	case factRead:
		k.window.forget(i.what)
	case raced:
		k.window.passed(i.before, w)
	case actionSent:
		k.actionSent(i.pass, i.action)
	case actionDone:
		k.actionDone(i.pass)
	case templateCopied:
		k.given(i.template)
	case templateRewritten:
		k.changedOutOfBand()
		if w.Workload.Hold == nil && w.Release.Status.Held == nil { // nothing tells any more that it was held (stripHold)
			k.Own.Disputed = true
		}
	case statusSent:
		k.statusSent(i.pass, i.status)
	case passSettled:
		judgeTold(i.pass, i.last)
	case passEnded:
		k.passEnded(i.state, i.event, i.report)
	case processEnded:
		k.looked = 0
	case timeWatched:
		k.Watched, k.looked = k.Watched+i.Duration, k.looked+i.Duration
	default:
		panic(fmt.Sprintf("no law is about a %T", incident))
	}
}

func (k *checker) podMade(w *World, made podMade) {
	judgeMade(w, made.revision)
	if d := &w.Workload; d.kind.name() == StatefulSet && made.sees == d.Spec { // or it goes by a partition that was right when it was set
		judgeUpdated(w, made.revision)
		judgeUndone(w, made.revision)
	}
}

func (k *checker) setResized(r setResized) {
	n, s := r.native, r.set
	if r.replicas > s.Replicas {
		judgeNative(n, s, r.replicas)
	} else {
		judgeServing(n, s)
	}
	if n.Workload.Hold != nil && r.replicas == 0 && len(n.active()) == 1 && !same(s.Revision, n.Template) {
		k.Emptied = true
	}
}

func (k *checker) passBegun(x *pass) {
	k.window, k.judged, k.begun = window{}, false, x.release.Status
	if x.stored.Attempt == 0 {
		k.Attempt = -1 // the status may be lost: what begins now is another attempt, though it may have its number
	}
}

func (k *checker) actionSent(x *pass, action plan.Action) {
	w := x.world
	k.excused = k.OutOfBand
	k.sent = change{action: action, pass: x, sets: slices.Clone(w.Sets), places: slices.Clone(w.Places), workload: w.Workload}
	if w.Traffic != nil {
		k.sent.traffic, k.sent.seen, k.sent.view = w.Traffic.clone(), x.facts.Traffic, viewOfAll(w)
	}
}

func (k *checker) actionDone(x *pass) {
	ended := x.report.Ended != ""
	switch {
	case x.refused && !k.excused:
		judgeUnforeseen(x, k.sent)
	case ended && len(k.sent.replaced()) > 0: // some of the pods
		judgeAction(x.world, k.sent)
	case !ended && !x.refused:
		judgeAction(x.world, k.sent)
	}
}

func (k *checker) statusSent(x *pass, status *v1alpha1.BatchReleaseStatus) {
	w := x.world
	k.begin(x, status, !k.judged)
	k.recorded(w, status)
	judgeCompleted(x, status)
	judgeStep(x, status)
	judgeTurned(w, status)
	judgeFailed(x, status)
	judgeJump(w, status)
}

func (k *checker) passEnded(s *State, e Event, report Report) {
	k.Emptied = k.Emptied && (e.Kind != Pass || report.Ended != "" || s.Lag.any() || s.Workload.behind() > 0)
	k.writes, k.requests, k.done = len(report.Done)+report.Parts, report.Requests, report.Done
	if e.Kind == Pass && len(report.Done)+report.Refused == 0 && report.Ended == "" {
		judgeAnswers(s)
		judgeReturn(s)
	}
	if putsOff := report.Unasked || report.Wake > 0 && report.Wake <= soon; len(report.Done) == 0 && report.Ended == "" && !putsOff {
		back := s.Process.heldBack(s.Release.Generation, s.Now)
		back.forwards = mayForward(s)
		byKind(&s.Workload).judgeRest(s.World, back)
		byKind(&s.Workload).judgeFollowed(s.World, back)
		if e.Kind == Pass { // or the workload has changed since it was read
			judgeCapacity(s, back)
			judgeNumbers(s.World)
			judgeNamed(s.World)
		}
	}
}

// happened notes what an event means for the laws.
func (k *checker) happened(w *World, was happened) {
	k.exposed(w)
	switch was.event.Kind {
	case Scale, Shift, SyncWorkload, SyncWorkloadLate:
		k.scaled(w, was)
	case Give:
		k.given(w.Release.Template)
	case Apply:
		if w.Workload.Template != was.workload.Template {
			k.Applied = w.Workload.Template
		}
	case Jump:
		k.Asked |= 1 << was.event.N
	case ReleaseTo:
		if k.Answered = false; was.event.N >= 0 {
			k.Asked |= 1 << was.event.N
		}
	case Confirm:
		k.Confirmed = slices.Clone(k.Confirmed)
		for _, gate := range w.Release.Status.Gates {
			k.Confirmed = append(k.Confirmed, gate.Name)
		}
	case Approve:
		k.passedGates(w, was.gates)
	case LoseStatus:
		k.Turned = was.release.Status.Rollback != nil
		if same(w.Release.Annotations[v1alpha1.CurrentStableAnnotation], k.Undone) {
			k.Undone = "" // the annotation names it as stable, and only the status said that it was rolled back
		}
	case Spoil:
		k.Sizes.Spoilt = true
	case PodFails, PodEnds, PodLost:
		k.Losses = true
	case Restart, TurnOff, TurnOn:
		k.looked = 0
	default:
		k.written(w, was)
	}
}

// given notes that the release has another template.
func (p *Past) given(string) { p.Bad, p.Barred = "", "" }

// exposed notes whether the native controller of a followed workload may make a pod of a template
// that nobody has approved: one that is lost, or on a new node, and the first one of none.
func (p *Past) exposed(w *World) {
	d := &w.Workload
	known := func(r string) bool { return same(r, d.Template) }
	bare := d.kind.name() == DaemonSet || d.Replicas == 0 || d.kind.name() == Deployment && total(w.Sets) == 0
	brought := d.Hold != nil && slices.ContainsFunc(p.Brought, known)
	alone := (bare || p.Exposed) && d.Hold == nil && podsOf(w, d.Template) > 0 && runsAlone(w, d.Template)
	switch waits := !p.isStable(d.Template) && !brought; {
	case w.guards(d) && (waits && bare || alone && p.Exposed):
		p.Exposed = true
	case !waits && d.behind() <= 0 && d.Status.Current == d.Status.Update:
		p.Exposed = false
	}
	if w.guards(d) && alone { // the native controller has made all pods of it, on new nodes or for lost ones
		p.nowStable(d.Template)
	}
}

// scaled notes another number of pods, or of their places.
func (k *checker) scaled(w *World, was happened) {
	before, now := &was.workload, &w.Workload
	kind, rolls := now.kind.name(), !before.kind.secured(before) || windowOf(before.Hold) != inplace.Held || before.behind() > 0
	switch {
	case kind == DaemonSet && was.event.Kind == Scale: // its size is that of its status
		k.Losses = k.Losses || len(w.Nodes) < was.nodes
		return
	case was.event.Kind == Shift:
		k.Let, k.Losses = k.Let || rolls, true
		return
	case kind == StatefulSet && now.Replicas > before.Replicas:
		k.Let = k.Let || rolls
	}
	if now.Replicas != before.Replicas {
		k.Sizes.become(before.Replicas, now.Replicas)
	}
}

// passedGates notes whether the gates of the step have passed, and checks the one that has just
// passed.
func (k *checker) passedGates(w *World, before []Gate) {
	for i := range w.Gates {
		if gate := &w.Gates[i]; gate.Decision != before[i].Decision {
			k.judge(w, gate)
		}
	}
	status := w.Release.Status
	k.Cleared = k.Cleared || status.Entered() && gatesPassed(w, status, int(status.CurrentStepIndex))
}

// written notes a write of other people to the workload.
func (k *checker) written(w *World, was happened) {
	before, now := &was.workload, &w.Workload
	held := before.Hold != nil || was.release.Status.Held != nil
	switch was.event.Kind {
	case Unpause:
		if held {
			k.changedOutOfBand()
		}
		if before.Hold == nil {
			k.Own.Paused, k.Own.Disputed = false, k.Own.Disputed || held
			k.nowStable(w.API.admitted(before.Template))
		}
	case EditTemplate:
		k.changedOutOfBand()
	case StripHold:
		k.changedOutOfBand()
		k.Own.Disputed = k.Own.Disputed || !before.kind.secured(before) // what somebody has resumed, and let nobody hold, is theirs, as in the other order
		if !now.kind.secured(now) {                                     // the native controller rolls it out in full
			k.nowStable(now.Template)
		}
	case Drift:
		k.nowStable(now.Template)
		k.brought(now.Template) // the native controller may still act on it when it is rolled back
	case DeleteWorkload:
		k.changedOutOfBand()
		k.Answered = false
	case CreateWorkload:
		k.born(w)
		k.Answered = false // a process with a frozen cache may have answered it for the deleted one
	case TouchWorkload:
		if before.Hold != nil || !w.Release.Purged && was.release.Status.Held != nil {
			k.changedOutOfBand()
		} else {
			k.nowStable(now.Template)
		}
	}
}

// born notes a workload that its user has made.
func (p *Past) born(w *World) {
	p.Own = Own{Paused: w.Workload.Paused}
	p.nowStable(w.Workload.Template)
}

// changedOutOfBand suspends the laws that what the native controller does then breaks.
func (p *Past) changedOutOfBand() { p.OutOfBand, p.Acknowledged = true, false }
