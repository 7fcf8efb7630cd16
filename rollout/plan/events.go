package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/internal/plain"
)

// notice says when a state becomes an event, and of which type. Releases and batches begin with
// events of their own.
type notice struct {
	tell    when
	warning bool
}

// when says at which time a state becomes an event.
type when int

const (
	// never: the state passes by.
	never when = iota
	// onEntry: when the release, or its step, comes to the state.
	onEntry
	// onChange: whenever the message changes.
	onChange
	// onChangeOfProblem: whenever the message changes, except that a Gateway rejects a route in
	// other words.
	onChangeOfProblem
)

// news returns the events of what is new in the status.
func news(r *report) []Event {
	events := progressed(r)
	if stalled := stalled(r); stalled.cause != "" && !stalled.told && !stallReported(r, stalled) {
		events = append(events, *stalled.event())
	}
	if found := preflightEvent(r.s); found != nil && preflightBegins(r) {
		events = append(events, *found)
	}
	for _, c := range whileTrue {
		if c.first == nil {
			continue
		}
		if why := c.why(r); why != nil && c.first(r) {
			events = append(events, *why)
		}
	}
	if trouble := troubleBegins(r); trouble != nil {
		events = append(events, *trouble)
	}
	n := noticeOf(r)
	if !isNews(r, n) {
		return events
	}
	return append(events, Event{Warning: n.warning || turnedBack(r), Reason: r.status.Reason, Message: r.status.Message})
}

// noticeOf returns when the state becomes an event. A refused write that hides the state has an
// event of its own.
func noticeOf(r *report) notice {
	switch {
	case refusalHides(r):
		return notice{tell: never}
	case r.state.traits.has(stops):
		return stopsProgress(r.s).event()
	default:
		return r.state.event
	}
}

// isNews reports whether the state is new.
func isNews(r *report, n notice) bool {
	again := sameState(r) && r.status.CurrentStepIndex == r.before.CurrentStepIndex
	switch n.tell {
	case onEntry:
		return attempted(r) || !again
	case onChangeOfProblem:
		if sameState(r) && sameProblem(r.before, r.status) {
			return false
		}
		return r.status.Message != r.before.Message && !changeReported(r)
	case onChange: // not again for an external change whose pods were lost since
		return r.status.Message != r.before.Message && !changeReported(r)
	case never:
	}
	return false
}

// preflightBegins reports whether preflight finds something for the first time, or room again, or
// no room any more. A release that waits for room tells that itself.
func preflightBegins(r *report) bool {
	if r.state.traits.has(tellsPreflight) {
		return false
	}
	stored := meta.FindStatusCondition(r.before.Conditions, v1alpha1.ConditionPreflightFailed)
	return stored == nil || (stored.Status == metav1.ConditionTrue) != r.s.obs.Preflight.Fails()
}

// turnedBack reports whether the release rolls back without a request.
func turnedBack(r *report) bool {
	back := r.s.record.Rollback
	return r.s.record.rollingBack() && (back.Trigger == v1alpha1.TriggerDeadline || back.Trigger == v1alpha1.TriggerGateRejected)
}

// sameState reports whether the stored status has the state, with the same cause of a stop, and no
// refused write in its place.
func sameState(r *report) bool {
	was := r.before
	hidden := was.StalledBy == v1alpha1.StallWriteRefused && was.Phase != v1alpha1.PhaseCompleted
	return was.State == r.status.State && was.Stops() == r.status.Stops() && !hidden
}

// stallReported reports whether the stored status has the cause of a stall. An API server may
// refuse a write in other words each time, for example with what a quota has left, and a Gateway a
// route.
func stallReported(r *report, stalled stall) bool {
	if sameProblem(r.before, r.status) {
		return true
	}
	if now, was := r.s.record.RefusedWrite, r.before.RefusedWrite; now != nil && !r.d.statusFirst && r.d.refused != nil {
		return sameWrite(was, now)
	}
	stored := meta.FindStatusCondition(r.before.Conditions, v1alpha1.ConditionStalled)
	return stored != nil && stored.Message == stalled.event().Message
}

// changeReported reports whether the stored status has the external change that is recorded on the
// workload.
func changeReported(r *report) bool {
	if r.s.hold().change() == nil {
		return false
	}
	was := meta.FindStatusCondition(r.before.Conditions, v1alpha1.ConditionDrifted)
	is := meta.FindStatusCondition(r.status.Conditions, v1alpha1.ConditionDrifted)
	return was != nil && is != nil && was.Status == metav1.ConditionTrue && was.Message == is.Message
}

// droppedBegins reports whether these fields were not dropped before.
func droppedBegins(r *report) bool {
	was := r.before.Resolved
	return was == nil || !slices.Equal(was.Dropped, r.s.record.Resolved.Dropped)
}

// progressed returns the events of a release that goes on: the one that it leaves behind, its
// begin, its next batch.
func progressed(r *report) []Event {
	var events []Event
	for _, event := range []*Event{supersededEvent(r), rollbackBegins(r), releaseBegins(r), stepEnds(r), stepBegins(r)} {
		if event != nil {
			events = append(events, *event)
		}
	}
	return events
}

// supersededEvent returns the event of a release that another one replaces after its take-over; nil
// if there is none.
func supersededEvent(r *report) *Event {
	was := r.before
	if was.Held == nil || !supersedes(r) {
		return nil
	}
	what := "the release of "
	if was.RolledBackTo() != "" {
		what = "the rollback to "
	}
	where := ""
	if was.StepStartedAt != nil {
		where = " at batch " + was.Batch
	}
	return &Event{Reason: v1alpha1.ReasonSuperseded, Message: bounded(fmt.Sprintf("%s%s%s is superseded by %s",
		what, versionWords(was.UpdateRevision, was.Commit), where, versionWords(r.status.UpdateRevision, r.status.Commit)))}
}

// rollbackBegins returns the event of a rollback that begins, even if it has to wait; nil if none
// does.
func rollbackBegins(r *report) *Event {
	if !attempted(r) || !r.s.record.isRollback() {
		return nil
	}
	return &Event{Warning: turnedBack(r), Reason: v1alpha1.ReasonRollingBack, Message: bounded(turnWords(r))}
}

// releaseBegins returns the event of a take-over for a release, or of a release that begins on a
// workload that is held; nil otherwise.
func releaseBegins(r *report) *Event {
	is, was := r.status, r.before
	goesOn := was.Held != nil && (!attempted(r) || was.UpdateRevision == is.UpdateRevision) // a jump back is another attempt
	if is.Held == nil || r.s.record.completed() || r.s.record.isRollback() || goesOn {
		return nil
	}
	return &Event{Reason: v1alpha1.ReasonTakingOver, Message: bounded(fmt.Sprintf("%s is released in %s",
		begunWords(r), plural(len(r.s.steps().list()), "batch", "batches")))}
}

// begunWords names a version that begins. The native controller of a DaemonSet gives it a name only
// later, by the Kubernetes version's own fields of a template: it may differ from the computed one.
func begunWords(r *report) string {
	if kindOf(r.s) == kinds.DaemonSet && r.s.history.of(r.status.UpdateRevision) == nil {
		return fromCommit("a new template", r.status.Commit)
	}
	return versionWords(r.status.UpdateRevision, r.status.Commit)
}

// stepBegins returns the event of a step that was entered; nil if none was. The status says the
// same, and what ended the step before has an event: its gates, or the begin of the release.
func stepBegins(r *report) *Event {
	is, was := r.status, r.before
	there := r.s.record.entered() && !r.s.record.completed() && is.Phase != v1alpha1.PhaseFinalizing
	again := was.StepStartedAt != nil && !was.StepStartedAt.Equal(is.StepStartedAt) // a step that was edited
	same := was.StepStartedAt != nil && !again && !attempted(r) && is.CurrentStepIndex == was.CurrentStepIndex && sameDirection(r)
	if !there || same {
		return nil
	}
	return &Event{Quiet: true, Reason: upgradeReason(r), Message: rollingWords(r)}
}

// stepEnds returns the event of a step without gates that is done; nil if none is. With gates the
// blocked state has an event.
func stepEnds(r *report) *Event {
	is, was := r.status, r.before
	on := is.Phase == v1alpha1.PhaseFinalizing || is.Phase == v1alpha1.PhaseCompleted || is.CurrentStepIndex == was.CurrentStepIndex+1
	rolled := was.Phase == v1alpha1.PhaseRollingUpdate || was.Phase == v1alpha1.PhaseRollingBack
	if !on || !rolled || was.StepStartedAt == nil || was.CurrentStepState != v1alpha1.StepUpgrade || attempted(r) || !sameDirection(r) {
		return nil
	}
	return &Event{Quiet: true, Reason: v1alpha1.ReasonStepDone, Message: fmt.Sprintf("batch %s done with %s of %d", was.Batch, podsWord(was.TargetReplicas), was.Replicas)}
}

// sameDirection reports whether the release was a rollback before if it is one now.
func sameDirection(r *report) bool { return (r.status.Rollback != nil) == (r.before.Rollback != nil) }

// versionWords names a version by its revision, and its commit if it has one.
func versionWords(revision, commit string) string { return fromCommit("revision "+revision, commit) }

func fromCommit(what, commit string) string {
	if commit == "" {
		return what
	}
	return what + " of commit " + plain.Commit(commit)
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// events returns the events of what happened in the pass.
func events(r *report) []Event {
	var events []Event
	for _, h := range r.d.happened {
		events = append(events, h.event(r))
	}
	return events
}

// happening is something that happened in a pass, and is reported once.
type happening interface{ event(*report) Event }

type (
	// retried: a user asked a failed release to go on.
	retried struct{}
	// notFound: the target of a rollback is missing.
	notFound struct{ problem noTargetError }
	// jumpMade: the release went from one step to another.
	jumpMade struct {
		from, to int32
		by       string
		steps    int
	}
	// jumpRefused: the release can't go to the requested step.
	jumpRefused struct {
		to    int32
		by    string
		why   JumpProblem
		steps int
	}
	// pausedBefore: the release came to a pod with a pause point.
	pausedBefore struct{ at v1alpha1.PausePoint }
	// gaveUp: the status of a route did not come in time.
	gaveUp struct {
		pending []string
		after   string
	}
	// pauseEnded: the pod is gone, or was confirmed.
	pauseEnded struct{ at v1alpha1.PausePoint }
)

func (retried) event(*report) Event {
	return Event{Reason: v1alpha1.ReasonRetrying, Message: "continuing: a retry was requested"}
}

func (h notFound) event(*report) Event {
	return Event{Warning: true, Reason: v1alpha1.ReasonRevisionNotFound, Message: h.problem.words()}
}

func (h jumpMade) event(*report) Event {
	return Event{Reason: v1alpha1.ReasonJumped, Message: fmt.Sprintf("from batch %d/%d to batch %d/%d, by %s", h.from+1, h.steps, h.to+1, h.steps, h.by)}
}

func (h jumpRefused) event(*report) Event {
	return Event{Warning: true, Reason: v1alpha1.ReasonJumpRefused, Message: fmt.Sprintf("%s %d: %s", h.by, h.to, h.words())}
}

func (h jumpRefused) words() string {
	switch h.why {
	case InRollback:
		return "a rollback has its own steps"
	case NoSuchStep:
		return fmt.Sprintf("steps count from 0: name one from 0 to %d", h.steps-1)
	case PresentStep:
		return "this is the current step"
	default:
		return "no release is in progress"
	}
}

func (h pausedBefore) event(r *report) Event {
	return Event{Reason: v1alpha1.ReasonPausePoint, Message: pauseWords(r.s, &h.at)}
}

func (h pauseEnded) event(*report) Event {
	how := "is gone"
	if h.at.Confirmed == h.at.Pod {
		how = "was confirmed"
	}
	return Event{Reason: v1alpha1.ReasonPausePoint, Message: "the pause point of pod " + h.at.Pod + " " + how}
}

func (h gaveUp) event(*report) Event {
	return Event{Warning: true, Reason: v1alpha1.ReasonGatewaySilent, Message: bounded(fmt.Sprintf(
		"continuing without Gateways whose status does not say within %s that they follow the route (%s): requests that they still "+
			"route as before may fail; repair them, or detach the route from them", h.after, joined(h.pending)))}
}
