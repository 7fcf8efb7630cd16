package plan

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// news is what the new status means to people, told once.
func (t *telling) news() []Event {
	events := t.progressed()
	if stalled := t.stalled(); stalled.cause != "" && !stalled.told && !t.toldStalled(stalled) {
		events = append(events, *stalled.event())
	}
	if found := t.preflight(); found != nil && t.preflightBegins() {
		events = append(events, *found)
	}
	if beyond := t.beyond(); beyond != nil && t.beyondBegins() {
		events = append(events, *beyond)
	}
	if undone := t.undoneServes(); undone != nil && t.undoneBegins() {
		events = append(events, *undone)
	}
	if dropped := t.dropped(); dropped != nil && t.droppedBegins() {
		events = append(events, *dropped)
	}
	if trouble := t.troubleBegins(); trouble != nil {
		events = append(events, *trouble)
	}
	told := noticeOf(t.state)
	if t.refusalIsTold() {
		told = notice{tell: never}
	}
	if !t.worthTelling(told) {
		return events
	}
	return append(events, Event{Warning: told.warning || t.turnedBack(), Reason: t.status.Reason, Message: t.status.Message})
}

// preflightBegins reports whether preflight finds something that it did not find before, or finds now that there is no room, or is
// some. A release that waits for room tells that itself.
func (t *telling) preflightBegins() bool {
	if starting, starts := t.state.(Starting); starts && starting.At == WillNotFit {
		return false
	}
	told := meta.FindStatusCondition(t.before.Conditions, v1alpha1.ConditionPreflightFailed)
	return told == nil || (told.Status == metav1.ConditionTrue) != t.Preflight.Fails()
}

// notice says when a state becomes an event, and of which type. Releases and batches begin with their own events.
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
	// onChange: whenever there is something else to say.
	onChange
)

// noticeOf says how a state becomes an event: a release blocks, stops, fails or ends.
func noticeOf(state State) notice {
	switch s := state.(type) {
	case Blocked:
		return notice{onEntry, needsPeople(s.By)}
	case Absent, Failed, PastGit:
		return notice{onEntry, true}
	case Completed:
		return notice{onEntry, false}
	case Drifted:
		return notice{onChange, true}
	case Idle:
		if s.Because == RolledBack {
			return notice{onEntry, false}
		}
	case Starting:
		if s.At == NotAsInGit {
			return notice{onEntry, true}
		}
		if s.At == WillNotFit || s.At == NoTraffic {
			return notice{onChange, true}
		}
	case Waiting:
		return s.Stop.notice()
	case Stopped:
		return s.Stop.notice()
	case Leaving, Replaced, WorkloadHeld, Unsecured, Preparing, Arriving, Entering, Rolling, Paused, Shifting, Finishing:
	}
	return notice{tell: never}
}

// notice is that of the first cause.
func (s Stop) notice() notice {
	if !s.any() {
		return notice{tell: never}
	}
	switch s[0].(type) {
	case Suspended, Frozen:
		return notice{onEntry, false}
	case ChangedPastGit:
		return notice{onEntry, true}
	case Changed:
		return notice{onChange, true}
	case UnreadableSteps:
	}
	return notice{tell: never}
}

// needsPeople reports whether a gate was rejected, or an approval that came does not count.
func needsPeople(waiting []waitingGate) bool {
	return rejectedOf(waiting) != nil || refusedOf(waiting)
}

// worthTelling reports whether the state is news.
func (t *telling) worthTelling(n notice) bool {
	started := t.record.Attempt != t.before.Attempt
	again := t.sameState() && t.status.CurrentStepIndex == t.before.CurrentStepIndex
	switch n.tell {
	case onEntry:
		return started || !again
	case onChange:
		if t.change() != nil && t.changeIsTold() {
			return false // though it says by now that pods were lost, or no more
		}
		if s, starting := t.state.(Starting); starting && s.At == NoTraffic && t.sameState() && sameProblem(t.before, t.status) {
			return false // whatever the Gateway says this time; what else is news in the meantime is told
		}
		return t.status.Message != t.before.Message
	case never:
	}
	return false
}

// turnedBack reports whether the release rolls back without a request.
func (t *telling) turnedBack() bool {
	back := t.record.Rollback
	return t.rollingBack() && (back.Trigger == v1alpha1.TriggerDeadline || back.Trigger == v1alpha1.TriggerGateRejected)
}

// sameState reports whether people know of the state: it is the one of before, stopped by the same, and no refused write was told
// in its place.
func (t *telling) sameState() bool {
	was := t.before
	if was.State == "" { // written by a version that did not record it: whoever upgrades is not told everything again
		return was.Reason == t.status.Reason
	}
	hidden := was.StalledBy == v1alpha1.StallWriteRefused && was.Phase != v1alpha1.PhaseCompleted
	return was.State == t.status.State && was.Stops() == t.status.Stops() && !hidden
}

// toldStalled reports whether people know why the release is stalled. They know of a refused write even though the
// API server says so in other words each time, for example with what a quota has left, or of a problem of the traffic though a Gateway does.
func (t *telling) toldStalled(stalled stall) bool {
	if sameProblem(t.before, t.status) {
		return true
	}
	if now, was := t.record.RefusedWrite, t.before.RefusedWrite; now != nil && !t.statusFirst && t.refused != nil {
		return sameWrite(was, now)
	}
	old := meta.FindStatusCondition(t.before.Conditions, v1alpha1.ConditionStalled)
	return old != nil && old.Message == stalled.event().Message
}

// changeIsTold reports whether people know what somebody else changed of the workload.
func (t *telling) changeIsTold() bool {
	was := meta.FindStatusCondition(t.before.Conditions, v1alpha1.ConditionDrifted)
	is := meta.FindStatusCondition(t.status.Conditions, v1alpha1.ConditionDrifted)
	return was != nil && is != nil && was.Status == metav1.ConditionTrue && was.Message == is.Message
}
