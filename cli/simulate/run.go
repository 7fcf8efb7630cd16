package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/sim"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// run is a simulation in progress.
type run struct {
	*sim.State

	trace *Trace
	// events that are still to come.
	events   []Event
	began    time.Time
	timeline *Timeline
	// readyAfter is how long pods that are made now take; coming, when those that were made are ready.
	readyAfter time.Duration
	coming     map[string][]time.Time
	named      naming
	// wake is when the plan wants to be asked again; zero if never.
	wake time.Time
	// newest is the template that is given now.
	newest string
	// members and fleet belong to a train; a release without a train has none.
	members []*run
	fleet   *sim.Fleet
	// last is the last row of this release.
	last *Row
	// foreseen has the forecasts of metrics gates, by their names.
	foreseen map[string][]gate.MetricForecast
	// inTrain is the name of a train, or of a member of one.
	inTrain string
}

// all returns the train and its members, or the release alone.
func (r *run) all() []*run { return append([]*run{r}, r.members...) }

// The bounds of a simulation that does not come to rest.
const (
	maxTurns = 1_000
	maxRows  = 20_000
)

var errRestless = errors.New("it does not come to rest: there are more changes than are shown")

// happens lets an event happen. It reports whether it changed anything.
func (r *run) happens(event sim.Event) bool { return event.Apply(r.State) }

// toEnd lets time go by until nothing happens any more.
func (r *run) toEnd() error {
	for _, one := range r.all() {
		one.newest = given
	}
	r.tell("release " + given)
	end := r.began.Add(orElse(r.trace.Until, defaultUntil))
	for len(r.timeline.Rows) < maxRows {
		if err := r.settle(); err != nil {
			return err
		}
		r.meetExpectations()
		next := r.next()
		if next.IsZero() || next.After(end) {
			return nil
		}
		for _, one := range r.all() {
			one.Until(next)
			one.comeUp()
		}
		r.happen()
	}
	return errRestless
}

// settle lets all controllers act until there is nothing to do now.
func (r *run) settle() error {
	for range maxTurns {
		changed := false
		for _, one := range r.all() {
			changed = one.act() || changed
		}
		if !changed {
			return nil
		}
	}
	return errRestless
}

// act lets all controllers of one release act. It reports whether there was anything to do.
func (r *run) act() bool {
	changed := r.happens(sim.Event{Kind: sim.SyncWorkload})
	for i := range r.Sets {
		changed = r.happens(sim.Event{Kind: sim.SyncSet, Text: r.Sets[i].Revision}) || changed
	}
	r.expectPods()
	changed = r.followRoutes() || changed
	changed = r.decideGates() || changed
	changed = r.pass() || changed
	if !changed {
		r.tell("")
	}
	return changed
}

// followRoutes has EndpointSlices and data planes follow what is written.
func (r *run) followRoutes() bool {
	if r.Traffic == nil {
		return false
	}
	changed := r.happens(sim.Event{Kind: sim.SyncSlices, Text: string(traffic.StableSide)})
	changed = r.happens(sim.Event{Kind: sim.SyncSlices, Text: string(traffic.CanarySide)}) || changed
	for i := range r.Traffic.Routes {
		changed = r.happens(sim.Event{Kind: sim.Accept, Text: r.Traffic.Routes[i].Name}) || changed
	}
	return changed
}

// pass runs one pass of the controller.
func (r *run) pass() bool {
	r.wake = time.Time{}
	report := r.Process.Pass(r.World, sim.Mishaps{Next: func(o plan.Observation) plan.Plan {
		next := plan.Next(o)
		r.wake = time.Time{}
		if next.Wake() > 0 {
			r.wake = o.Now.Add(next.Wake())
		}
		return next
	}})
	var done []string
	for _, write := range report.Done {
		if shown(write.Action) {
			done = append(done, r.named.text(write.Action))
		}
	}
	r.tell("", done...)
	return len(report.Done) > 0 || report.Ended != ""
}

// shown reports whether people see an action in the cluster.
func shown(action plan.Action) bool {
	switch action.(type) {
	case plan.TakeOver, plan.HandBack, plan.MovePods, plan.OpenGate, plan.CloseGate, plan.Traffic:
		return true
	case plan.Annotate, plan.RecordRevision, plan.UpdateRevision, plan.PruneRevision, plan.RetryMember, plan.Follow, plan.CopyTemplate:
	}
	return false // as for the status, which is no action
}

// decideGates passes the gates whose time has come, and those that people let pass by now.
func (r *run) decideGates() bool {
	decided := false
	for i := range r.Gates {
		g := &r.Gates[i]
		if verdict := r.verdict(g); g.Decision == "" && !verdict.IsZero() && !r.Now.Before(verdict) {
			g.Decision, decided = v1alpha1.DecisionPassed, true
		} else if approval := r.approval(g); !approval.IsZero() && !r.Now.Before(approval) {
			r.approve()
			decided = true
			break
		}
	}
	for r.happens(sim.Event{Kind: sim.Approve}) {
		decided = true
	}
	for i := range r.Gates {
		g := &r.Gates[i]
		if g.Decision == "" && g.Spec.Type == v1alpha1.GateWindow && r.window(g).Status.Decision == v1alpha1.DecisionPassed {
			g.Decision, decided = v1alpha1.DecisionPassed, true
		}
	}
	return decided
}

// approval returns when people will let a gate pass by themselves; zero if they won't.
func (r *run) approval(g *sim.Gate) time.Time {
	if r.trace.ApproveAfter == nil || g.Decision != "" || r.timed(g) || isGuard(g) || r.Release.Status.CurrentStepState != v1alpha1.StepBlocking {
		return time.Time{}
	}
	return g.Made.Add(r.trace.ApproveAfter.Duration)
}

// timed reports whether a gate passes by itself.
func (r *run) timed(g *sim.Gate) bool {
	return g.Spec.Type == v1alpha1.GateSoak || g.Spec.Type == v1alpha1.GateWindow || !r.verdict(g).IsZero()
}

// isGuard reports whether a gate is a guard, for which no batch waits.
func isGuard(g *sim.Gate) bool { return g.Spec.Index >= v1alpha1.GuardIndex }

// approve passes all gates that wait for people or CI. It reports whether there was one.
func (r *run) approve() bool {
	approved := false
	for i := range r.Gates {
		g := &r.Gates[i]
		switch {
		case g.Decision != "" || r.timed(g) || isGuard(g):
			continue
		case g.Spec.Type == v1alpha1.GateManual:
			r.happens(sim.Event{Kind: sim.Confirm})
		default:
			g.Decision = v1alpha1.DecisionPassed
		}
		approved = true
	}
	return approved
}

// window returns what the rules for gates say of one now.
func (r *run) window(g *sim.Gate) gate.Decision {
	release := &v1alpha1.BatchRelease{Spec: *r.Release.Spec, Status: *r.Release.Status}
	release.UID, release.Annotations = g.Spec.ReleaseRef.UID, r.Release.Annotations
	object := &v1alpha1.Gate{Spec: *g.Spec}
	object.Name = g.Name
	object.CreationTimestamp.Time = g.Made
	return gate.Evaluate(object, gate.Facts{Release: release}, r.Now)
}

// next returns when something happens next; zero if nothing does.
func (r *run) next() time.Time {
	if r.due() {
		return r.Now
	}
	var times []time.Time
	if len(r.events) > 0 {
		times = append(times, r.timeOf(&r.events[0]))
	}
	for _, one := range r.all() {
		times = append(times, one.awaited()...)
	}
	times = slices.DeleteFunc(times, func(t time.Time) bool { return !t.After(r.Now) })
	if len(times) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(times, time.Time.Compare)
}

// awaited returns when something happens to one release by itself.
func (r *run) awaited() []time.Time {
	times := []time.Time{r.wake}
	for _, coming := range r.coming {
		times = append(times, coming...)
	}
	for i := range r.Gates {
		times = append(times, r.opens(&r.Gates[i]))
	}
	return times
}

// opens returns when a gate that waits is to be looked at again.
func (r *run) opens(g *sim.Gate) time.Time {
	switch {
	case g.Decision != "":
		return time.Time{}
	case g.Spec.Type == v1alpha1.GateSoak:
		return g.Made.Add(g.Spec.Policy.Soak.Duration.Duration)
	case g.Spec.Type == v1alpha1.GateWindow:
		return r.window(g).WakeUp
	}
	return cmp.Or(r.verdict(g), r.approval(g))
}

// happen lets the events happen that are due.
func (r *run) happen() {
	for r.due() && r.events[0].Expect == nil { // expectations come once all that happens before has had its effect
		event := r.events[0]
		r.events = r.events[1:]
		for _, one := range r.about(&event) {
			for _, told := range one.apply(&event) {
				one.tell(told)
			}
		}
		asked := r.subject(event.Member)
		if event.Template != "" {
			r.give(event.Template, event.Member)
			asked.tell("release " + event.Template)
		}
		for _, told := range asked.ask(&event) {
			asked.tell(told)
		}
	}
}

// due reports whether it is time for the next event of the trace.
func (r *run) due() bool { return len(r.events) > 0 && !r.timeOf(&r.events[0]).After(r.Now) }

func (r *run) timeOf(event *Event) time.Time { return r.began.Add(event.At.Duration) }

// meetExpectations compares with what is expected by now.
func (r *run) meetExpectations() {
	for r.due() && r.events[0].Expect != nil {
		event := r.events[0]
		r.events = r.events[1:]
		for _, unmet := range event.Expect.compare(r.subject(event.Member).row()) {
			r.timeline.Unmet = append(r.timeline.Unmet, fmt.Sprintf("at %s: %s", event.At.Duration, unmet))
		}
	}
}
