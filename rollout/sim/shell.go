package sim

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/turns"
)

// Process is one run of the controller, with its memory from pass to pass. A new one starts after a
// crash.
type Process struct {
	release  *Release
	workload *Workload
	sets     []Set
	gates    []Gate
	// gone are pods that it has deleted, and that the cache may still have, and vacant the nodes of
	// which it knows that they lack theirs.
	gone     []types.UID
	vacant   daemonset.Vacancies
	scaled   time.Time
	wrote    bool
	refusals plan.Refusals
	watches  plan.Watches
	// handed says that it has handed the workload back since it wrote the status. That, and a step that
	// nobody is asked about, is written a moment later, unless the end of the release, or the next
	// step, comes before: unwritten is the status until then, and writtenOver the one that is stored.
	// waited counts the passes that it has waited for.
	handed                 bool
	waited                 int
	unwritten, writtenOver *v1alpha1.BatchReleaseStatus
	// written are its own writes to routes and Services, and trafficWatch says for how long they have
	// been as they are.
	written      written
	trafficWatch traffic.Watch
}

// Clone returns a copy that shares nothing that can change.
func (p *Process) Clone() *Process {
	c := *p
	c.sets = slices.Clone(p.sets)
	c.gates = slices.Clone(p.gates)
	c.written = p.written.clone()
	return &c
}

// Mishaps go wrong in a pass. The zero value is none.
type Mishaps struct {
	// Before lets the world change before a request of the process.
	Before func(*World)
	// Dies is asked after each write whether the process ends there.
	Dies func() bool
	// Next stands in for plan.Next, to look at what goes in and what comes out.
	Next func(plan.Observation) plan.Plan
}

// Report holds the deeds of a pass.
type Report struct {
	// Done are the writes in their order.
	Done []Write
	// Parts are requests of writes that had more of them.
	Parts int
	// Events lists the published events.
	Events []plan.Event
	// Requests counts reads and writes.
	Requests int
	// Refused counts the writes that were refused.
	Refused int
	// Unasked says that the pass ended because a write was not answered.
	Unasked bool
	// Ended is the cause that ended the pass early; empty if none did.
	Ended string
	// Wake is after how long the process wants to look again; 0 if it need not.
	Wake time.Duration
}

// Write is one write of the process: an action, or the status.
type Write struct {
	Action plan.Action
	Status *v1alpha1.BatchReleaseStatus
}

// String returns a line with the write and its reason.
func (w Write) String() string {
	if w.Action != nil {
		return fmt.Sprintf("%-44s %s", w.Action, w.Action.Why())
	}
	return fmt.Sprintf("status %s %s: %s", w.Status.Phase, w.Status.CurrentStepState, w.Status.Message)
}

// pass holds the view of one pass of the process.
type pass struct {
	world   *World
	process *Process
	mishaps Mishaps
	report  Report

	release  Release // with the status of the plan before
	intent   *v1alpha1.BatchReleaseStatus
	timed    time.Duration // by the last plan
	stored   *v1alpha1.BatchReleaseStatus
	workload Workload
	sets     []Set
	setsLive []types.UID
	gates    []Gate
	// places are the pods of a workload whose pods have places: listed says that they are known, and
	// live that they were read.
	places       []Place
	listed, live bool
	// facts are passed on as they are.
	facts plan.Facts
	// sawTraffic is the traffic in the facts.
	sawTraffic *Traffic
	lastScale  time.Time
	// refused says that a write of this turn was refused, and refusedEver that one was refused and not
	// done since.
	refused, refusedEver bool
	// unasked says that it was not answered.
	unasked   bool
	refusedIn int64
	// partly says that others of its turn were done before it, or that pods were moved after
	// it.
	partly bool
	// raced says that a policy has changed between a dry run and its write.
	raced bool
	// died says that the process ended in this pass.
	died bool
}

// Pass observes, and asks and carries out the plan until there is nothing left to do now.
func (p *Process) Pass(w *World, mishaps Mishaps) Report {
	if w.Release.Purged {
		return Report{}
	}
	x := p.observe(w)
	x.mishaps = mishaps
	defer x.noteLook()
	if _, err := turns.Run(context.Background(), x); errors.Is(err, turns.ErrEndless) {
		w.breach("a pass comes to an end", "the plan was asked too often")
	}
	return x.report
}

// errEnded is why a turn fails: the report says more.
var errEnded = errors.New("the pass has ended")

// noteLook notes how a pass has ended, for deadlines.
func (x *pass) noteLook() {
	if x.report.Ended == "" {
		x.process.watches = x.process.watches.Looked(x.stored, x.world.Now).Timed(x.timed)
	}
}

// Plan returns what to do by what the pass sees.
func (x *pass) Plan() plan.Plan {
	next := plan.Next
	if x.mishaps.Next != nil {
		next = x.mishaps.Next
	}
	seen := observationOf(x)
	p := next(seen)
	for _, v := range plan.Violations(seen, p) {
		x.world.breach("the process sees no broken invariant: "+v.Invariant, v.How)
	}
	x.intent, x.timed = &p.Status, p.Timed
	return p
}

// observe reads the caches, and what the process remembers newer.
func (p *Process) observe(w *World) *pass {
	p.recall(w)
	x := &pass{world: w, process: p, lastScale: p.scaled}
	x.release = p.view(w)
	x.stored = x.release.Status
	if p.defers(x.stored) {
		x.release.Status = p.unwritten
	}
	x.workload = cached(w.Lag.Workload, w.Workload)
	if p.workload != nil {
		x.workload = *p.workload
	}
	x.sets = w.cachedSets()
	for i := range p.sets {
		x.putSet(p.sets[i])
	}
	x.workload.kind.observe(x)
	x.gates = slices.Clone(cached(w.Lag.Gates, w.Gates))
	for _, gate := range p.gates {
		if findGate(x.gates, gate.Name) == nil {
			x.gates = append(x.gates, gate)
		}
	}
	x.facts.Kept = slices.Clone(cached(w.Lag.Kept, w.Kept))
	lookAtTraffic(x)
	observeFleet(x)
	w.see(passBegun{x})
	return x
}

// defers reports whether the process has a status that is not written yet, in place of the one that
// is stored.
func (p *Process) defers(stored *v1alpha1.BatchReleaseStatus) bool {
	return p.unwritten != nil && p.writtenOver == stored
}

// entering reports whether the status that is not written yet is of a step that was entered.
func (p *Process) entering() bool { return p.unwritten != nil && !p.handed }

// mostWaits limits the passes that a status waits for.
const mostWaits = 2

// mayWait reports whether a status may still wait to be written.
func (x *pass) mayWait(status *v1alpha1.BatchReleaseStatus) bool {
	switch p := x.process; {
	case p.handed && plan.OnlyHandsBack(x.stored, status):
		return p.waited < 1
	case plan.OnlyEnters(x.stored, status):
		return p.wrote && p.waited < mostWaits
	default:
		return false
	}
}

// view returns the release as the process has it.
func (p *Process) view(w *World) Release {
	if p.release != nil {
		return *p.release
	}
	return cached(w.Lag.Release, w.Release)
}

// recall forgets what the caches have by now.
func (p *Process) recall(w *World) {
	if w.Lag.Release == nil || p.release != nil && p.release.Version <= w.Lag.Release.Version {
		p.release = nil
	}
	if w.Lag.Workload == nil || p.workload != nil && p.workload.Version <= w.Lag.Workload.Version {
		p.workload = nil
	}
	p.sets = slices.DeleteFunc(p.sets, func(s Set) bool {
		lag := w.Lag.set(s.UID)
		return lag == nil || lag.Set != nil && s.Version <= lag.Set.Version
	})
	p.forgetGone(w)
	p.recallTraffic(w)
	if w.Lag.Gates == nil {
		p.gates = nil
	}
}

// Act carries out actions up to the first that fails.
func (x *pass) Act(_ context.Context, actions []plan.Action) error {
	for i, action := range actions {
		switch carryOut(x, action); {
		case x.ended() != nil:
			return x.ended()
		case x.refused && x.unasked:
			x.refused, x.refusedEver, x.partly = false, true, x.partly || i > 0
			x.report.Unasked = true
			return turns.ErrUnasked
		case x.refused:
			x.refused, x.refusedEver, x.partly = false, true, x.partly || i > 0
			return turns.ErrRefused
		}
	}
	return nil
}

// ended returns the error of a turn that ends the pass; nil if it goes on.
func (x *pass) ended() error {
	if x.report.Ended != "" || x.world.Release.Purged {
		return errEnded
	}
	return nil
}

// Satisfy observes what a plan needs to know.
func (x *pass) Satisfy(_ context.Context, needs plan.Needs) error {
	if cantTry(x, needs) {
		x.report.Unasked = true
		return turns.ErrUnasked
	}
	satisfyNeeds(x, needs)
	return x.ended()
}

// WriteStatus writes a status.
func (x *pass) WriteStatus(_ context.Context, status *v1alpha1.BatchReleaseStatus) error {
	x.writeStatus(status)
	return x.ended()
}

// Intend has the next plan start from a status.
func (x *pass) Intend(status *v1alpha1.BatchReleaseStatus) {
	x.release.Status = status
	if x.process.handed && plan.OnlyHandsBack(x.stored, status) || plan.OnlyEnters(x.stored, status) {
		x.process.unwritten, x.process.writtenOver = status, x.stored
	}
}

// Tell reports events.
func (x *pass) Tell(events []plan.Event) { x.report.Events = append(x.report.Events, events...) }

// Settle writes the status of a pass that has nothing left to do, and then tells people. One that
// may wait does so for another pass.
func (x *pass) Settle(_ context.Context, last plan.Plan, told []plan.Event) ([]plan.Wake, error) {
	if x.mayWait(&last.Status) {
		x.process.waited++
		x.Tell(told)
		if x.process.entering() { // nobody else wakes it
			x.report.Wake = soon
		}
		return nil, nil
	}
	if sameStatus(x.stored, &last.Status) {
		x.process.handed, x.process.unwritten, x.process.writtenOver = false, nil, nil // somebody has written another one meanwhile
	} else {
		x.writeStatus(&last.Status)
	}
	if x.report.Ended == "" {
		x.Tell(told)
		x.world.see(passSettled{x, last})
		x.report.Wake = last.Wake()
	}
	return last.Wakes, x.ended()
}

// Keep writes the status that a pass had reached before an action ended it, unless its process has
// ended too.
func (x *pass) Keep(_ context.Context, told []plan.Event) error {
	if x.died || x.world.Release.Purged || plan.OnlyEnters(x.stored, x.release.Status) || sameStatus(x.stored, x.release.Status) {
		return nil
	}
	why := x.report.Ended
	x.report.Ended, x.intent = "", x.release.Status
	if x.writeStatus(x.release.Status); x.report.Ended == "" {
		x.Tell(told)
		x.report.Ended = why
	}
	return nil
}

// sameStatus makes the slow comparison only of two that are otherwise alike and not identical.
func sameStatus(a, b *v1alpha1.BatchReleaseStatus) bool {
	if a.Phase != b.Phase || a.Message != b.Message || a.UpdatedAvailableReplicas != b.UpdatedAvailableReplicas || a.ReadyReplicas != b.ReadyReplicas {
		return false
	}
	return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b)
}

// request counts one request to the API server: the world may change before it is answered.
func (x *pass) request() {
	x.report.Requests++
	if x.mishaps.Before != nil {
		before := x.world.Clone()
		x.mishaps.Before(x.world)
		x.world.see(raced{before})
	}
}

// wrote notes a write. The process may end after it.
func (x *pass) wrote(done Write) {
	x.report.Done = append(x.report.Done, done)
	if x.mishaps.Dies != nil && x.mishaps.Dies() {
		x.die()
	}
}

// die ends the process.
func (x *pass) die() {
	x.end("the process stopped")
	x.died = true
	*x.process = Process{}
	x.world.see(processEnded{})
}

// outdated ends the pass: an object is not what it was. It is known now as it is.
func (x *pass) outdated(what string) {
	x.end("conflict: " + what + " has changed")
}

func (x *pass) end(why string) {
	x.report.Ended = why
}

// wrotePart notes a request of a write that has more of them, and sends the next. It reports
// whether the process ends before that.
func (x *pass) wrotePart() bool {
	x.report.Parts++
	if x.mishaps.Dies == nil || !x.mishaps.Dies() {
		x.request()
		return false
	}
	x.die()
	return true
}

func (x *pass) writeStatus(status *v1alpha1.BatchReleaseStatus) {
	x.request()
	w := x.world
	if w.Release.Version != x.release.Version {
		x.rememberRelease()
		x.outdated("the release")
		return
	}
	w.see(statusSent{x, status})
	w.Release.Status, w.Release.Version = status, w.next()
	x.process.wrote, x.process.handed, x.process.waited, x.process.unwritten, x.process.writtenOver = true, false, 0, nil, nil
	x.sawRelease()
	x.wrote(Write{Status: status})
}

// sawRelease takes over the release as it is now; the status of the plan stays.
func (x *pass) sawRelease() {
	status := x.release.Status
	x.rememberRelease()
	x.release, x.stored = x.world.Release, x.world.Release.Status
	x.facts.Live |= plan.ReadRelease
	x.release.Status = status
}

func (x *pass) rememberRelease() {
	release := x.world.Release
	x.process.release = &release
}

func (x *pass) sawWorkload() {
	workload := x.world.Workload
	x.process.workload = &workload
	x.workload = workload
	x.facts.Live |= plan.ReadWorkload
}

func (x *pass) sawSet(s Set) {
	x.rememberSet(s)
	x.putSet(s)
	x.setsLive = append(x.setsLive, s.UID)
}

func (x *pass) rememberSet(s Set) {
	x.process.sets = slices.DeleteFunc(x.process.sets, func(o Set) bool { return o.UID == s.UID })
	x.process.sets = append(x.process.sets, s)
}

func (x *pass) putSet(s Set) {
	for i := range x.sets {
		if x.sets[i].UID == s.UID {
			x.sets[i] = s
			return
		}
	}
	x.sets = append(x.sets, s)
}
