package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// setOrDrop keeps a condition only while it is true, as kstatus requires.
func (t *telling) setOrDrop(kind string, why *Event) {
	if why == nil {
		t.drop(kind)
		return
	}
	t.set(kind, true, why.Message, why.Reason)
}

func (t *telling) set(kind string, is bool, message, reason string) {
	value := metav1.ConditionFalse
	if is {
		value = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&t.status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: reason, Message: bounded(message),
		ObservedGeneration: t.Release.Generation, LastTransitionTime: *t.time(),
	})
}

// drop removes a condition that is kept only while it is true. Removing one that is not there would copy all others.
func (t *telling) drop(kind string) {
	if meta.FindStatusCondition(t.status.Conditions, kind) != nil {
		meta.RemoveStatusCondition(&t.status.Conditions, kind)
	}
}

// stall is what needs a change by somebody; its cause is empty if there is nothing.
type stall struct {
	cause   v1alpha1.StallCause
	message string
	// told says that the state tells people of it already.
	told bool
}

// event is what people read of it; nil if there is nothing.
func (s stall) event() *Event {
	if s.cause == "" {
		return nil
	}
	return &Event{Warning: !s.told, Reason: string(s.cause), Message: bounded(s.message)}
}

// stalled is what needs a change by somebody.
func (t *telling) stalled() stall {
	switch s := t.state.(type) {
	case Failed:
		return stall{v1alpha1.StallDeadlineExceeded, t.status.Message, true}
	case WorkloadHeld:
		return stall{v1alpha1.StallWorkloadHeld, t.status.Message, false}
	case Absent:
		if !t.goesAway() {
			return stall{}
		}
	case Idle:
		if cause := s.Because.stalls(); cause != "" && t.refused == nil {
			return stall{cause, t.status.Message, false}
		}
	case Starting:
		if s.At == WouldMixVersions {
			return stall{v1alpha1.StallWouldMixVersions, t.mixingWords(), false}
		}
	case Preparing:
		if s.Late && t.refused == nil {
			return stall{v1alpha1.StallDeadlineExceeded, t.status.Message, false}
		}
	case Leaving, Replaced, Unsecured, Completed, Drifted, Waiting, PastGit, Arriving, Entering, Rolling, Paused, Blocked, Shifting, Stopped, Finishing:
	}
	if !t.statusFirst && t.refused != nil {
		return stall{v1alpha1.StallWriteRefused, refusalWords(t.refused), false}
	}
	return t.stalledBeside()
}

// stalls is what somebody has to change before anything can be released; empty if it is nothing.
func (i Idleness) stalls() v1alpha1.StallCause {
	switch i {
	case NoTemplate:
		return v1alpha1.StallNoTemplate
	case Refused:
		return v1alpha1.StallInvalidTemplate
	case RolledBack, Resolving:
	}
	return ""
}

// stalledBeside is what stalls a release beside where it stands.
func (t *telling) stalledBeside() stall {
	blocked, waits := t.state.(Blocked)
	switch refused := t.refusedTemplate(); {
	case t.unreadable != nil:
		return stall{v1alpha1.StallInvalidStrategy, t.unreadable.Error(), false}
	case refused != nil:
		return stall{v1alpha1.StallInvalidTemplate, refused.words(), false}
	case t.drifts() && t.Release.Spec.Drift == v1alpha1.DriftRevert && t.decider() != "":
		return stall{v1alpha1.StallWorkloadShared, fmt.Sprintf(
			"%s %q also belongs to BatchRelease %q, and only that one reverts changes (the one created first, or of the same second the first by name); delete one of the two",
			t.kind(), t.Workload.Name, t.decider()), false}
	case t.record.Traffic != nil && t.record.Traffic.Problem != nil:
		return stall{v1alpha1.StallTrafficBlocked, t.record.Traffic.Problem.Words(), false}
	case waits && rejectedOf(blocked.By) != nil:
		return stall{v1alpha1.StallGateRejected, t.status.Message, true}
	default:
		return stall{}
	}
}

// quarantine says that the given template was rolled back, for as long as it is given; nil if it was not.
func (t *telling) quarantine() *Event {
	back := t.record.Rollback
	switch {
	case !t.quarantined():
		return nil
	case back == nil || back.Trigger == v1alpha1.TriggerDrift || back.Trigger == v1alpha1.TriggerGitRevert:
		return &Event{Reason: v1alpha1.ReasonRolledBack, Message: "spec.template was rolled back and is not released again: a different template starts the next release"}
	}
	return &Event{Reason: v1alpha1.ReasonRolledBack, Message: fmt.Sprintf(
		"revision %s%s was rolled back and is not released again: a different template starts the next release", back.From, ofCommit(t.record.Commit))}
}

func ofCommit(commit string) string {
	if commit == "" {
		return ""
	}
	return " of commit " + commit
}

// preflight is what was found in the namespace; nil if it is nothing.
func (l *look) preflight() *Event {
	if l.Preflight == nil || len(l.Preflight.All()) == 0 {
		return nil
	}
	reason := v1alpha1.ReasonWarnings
	if l.Preflight.Fails() {
		reason = v1alpha1.ReasonWillNotFit
	}
	return &Event{Warning: true, Reason: reason, Message: bounded(joined(l.Preflight.All()))}
}

// preflightIsTold reports whether people can read what was found.
func preflightIsTold(l *look) bool {
	told := meta.FindStatusCondition(l.Release.Status.Conditions, v1alpha1.ConditionPreflightFailed)
	now := l.preflight()
	return now == nil || told != nil && told.Message == now.Message
}

// wake is after how long to look again, at the end of a freeze at the latest.
func (t *telling) wake() time.Duration {
	d := t.Decision
	if freeze := t.Release.Frozen(t.Now); freeze != nil && freeze.Until != nil {
		d = d.wakeAt(freeze.Until.Time)
	}
	return d.wake
}
