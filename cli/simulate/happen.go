package simulate

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/rollout/sim"
)

// apply changes pods as an event says, and returns a line for each change.
func (r *run) apply(event *Event) []string {
	var told []string
	tell := func(is bool, text string, args ...any) {
		if is {
			told = append(told, fmt.Sprintf(text, args...))
		}
	}
	if event.Scale != nil {
		r.happens(sim.Event{Kind: sim.Scale, N: *event.Scale})
		tell(!r.onNodes(), "scale to %d", *event.Scale)
		tell(r.onNodes(), "there are %d nodes", *event.Scale)
	}
	if event.Broken != nil {
		r.Sick = *event.Broken
		tell(true, "pods of %q are never ready", *event.Broken)
	}
	if event.ReadyAfter != nil {
		r.readyAfter = event.ReadyAfter.Duration
		tell(true, "new pods are ready after %s", event.ReadyAfter.Duration)
	}
	tell(event.Crash > 0, "%d pods fail", r.pods(event.Crash, sim.PodFails))
	tell(event.Heal > 0, "%d pods heal", r.pods(event.Heal, sim.PodHeals))
	return told
}

// ask lets people request something. A request in vain is reported as such.
func (r *run) ask(event *Event) []string {
	asked := []struct {
		is   bool
		text string
		does func() bool
	}{
		{event.Approve, "approve", r.approve},
		{event.Reject, "reject", func() bool { return r.happens(sim.Event{Kind: sim.Reject}) }},
		{event.Rollback, "rollback", func() bool { return r.Annotate(v1alpha1.RollbackAnnotation, "true") }},
		{event.Retry, "retry", func() bool { return r.Annotate(v1alpha1.RetryAnnotation, "true") }},
		{event.Suspend != nil && *event.Suspend, "suspend", func() bool { return r.happens(sim.Event{Kind: sim.Suspend}) }},
		{event.Suspend != nil && !*event.Suspend, "resume", func() bool { return r.happens(sim.Event{Kind: sim.Resume}) }},
	}
	var told []string
	for _, one := range asked {
		if !one.is {
			continue
		}
		if !one.does() {
			one.text += ": there is nothing to do"
		}
		told = append(told, one.text)
	}
	return told
}

// pods lets something happen to pods of the newest template, and counts those that it happened to.
func (r *run) pods(n int32, happens sim.Kind) int32 {
	done := int32(0)
	for done < n && r.happens(sim.Event{Kind: happens, Text: r.newest}) {
		done++
	}
	return done
}

// row returns the present situation.
func (r *run) row() Row {
	status := r.Release.Status
	row := Row{
		At: r.Now.Sub(r.began).String(), Release: r.inTrain, Replicas: r.Workload.Replicas, Status: show.Standing(&v1alpha1.BatchRelease{Status: *status}),
		Phase: string(status.Phase), Batch: status.Batch, State: string(status.CurrentStepState), Why: status.Message,
	}
	r.count(&row)
	row.Requests = r.requests()
	for i := range r.Gates {
		if g := &r.Gates[i]; g.Decision == "" && status.CurrentStepState == v1alpha1.StepBlocking {
			row.Gates = append(row.Gates, string(g.Spec.Type))
		}
	}
	return row
}

// note says something about the whole simulation.
func (r *run) note(text string, args ...any) {
	r.timeline.Notes = append(r.timeline.Notes, fmt.Sprintf(text, args...))
}

// tell adds a row, if it says something that the last one does not.
func (r *run) tell(event string, done ...string) {
	row := r.row()
	row.Event, row.Done = event, done
	if event == "" && len(done) == 0 && r.last != nil && row.same(r.last) {
		return
	}
	r.last = &row
	r.timeline.Rows = append(r.timeline.Rows, row)
}

// same reports whether the situation is that of another row.
func (row *Row) same(other *Row) bool {
	return row.Replicas == other.Replicas && row.Old == other.Old && row.New == other.New && row.Available == other.Available &&
		row.Requests == other.Requests && row.Status == other.Status && row.Phase == other.Phase && row.Batch == other.Batch && row.State == other.State && row.Why == other.Why && slices.Equal(row.Gates, other.Gates)
}

// compare says in what a row is not as expected.
func (e *Expectation) compare(row Row) []string {
	var unmet []string
	for _, text := range []struct {
		field string
		want  *string
		got   string
	}{{"phase", e.Phase, row.Phase}, {"batch", e.Batch, row.Batch}, {"state", e.State, row.State}, {"requests", e.Requests, row.Requests}} {
		if text.want != nil && *text.want != text.got {
			unmet = append(unmet, fmt.Sprintf("%s is %q, not %q", text.field, text.got, *text.want))
		}
	}
	for _, count := range []struct {
		field string
		want  *int32
		got   int32
	}{{"old", e.Old, row.Old}, {"new", e.New, row.New}, {"available", e.Available, row.Available}} {
		if count.want != nil && *count.want != count.got {
			unmet = append(unmet, fmt.Sprintf("%s is %d, not %d", count.field, count.got, *count.want))
		}
	}
	return unmet
}
