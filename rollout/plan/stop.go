package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// stop lists the causes that keep a release from advancing now; empty if there is none. While it is
// not empty no template is released, no workload taken over, and no step entered or continued. The
// workload stays whole meanwhile: an unpaused workload is paused again, spec.replicas is followed,
// and a rollback is begun and continued.
type stop []*cause

// cause is a row of the table of what can stop a release.
type cause struct {
	when  func(*snapshot) bool
	value v1alpha1.StopCause
	// reason, event and words describe a release that it stops.
	reason string
	event  notice
	words  func(*snapshot) string
}

// The causes, in the order in which they count: the first gives its reason to the status.
var (
	stopInvalidSteps = &cause{
		when: func(s *snapshot) bool { return s.steps().unreadable() }, value: v1alpha1.StopInvalidStrategy,
		reason: v1alpha1.ReasonInvalidStrategy, words: func(s *snapshot) string { return s.problem.Error() },
	}
	stopSuspended = &cause{
		when: func(s *snapshot) bool { return s.release.Spec.Suspend }, value: v1alpha1.StopSuspended,
		reason: v1alpha1.ReasonSuspended, event: notice{onEntry, false}, words: func(*snapshot) string { return "spec.suspend is set" },
	}
	stopFrozen = &cause{
		when: func(s *snapshot) bool { return s.release.Frozen(s.now) != nil }, value: v1alpha1.StopFrozen,
		reason: v1alpha1.ReasonFrozen, event: notice{onEntry, false}, words: frozenWords,
	}
	stopChanged = &cause{
		when: func(s *snapshot) bool { return s.hold().change() != nil }, value: v1alpha1.StopWorkloadChanged,
		reason: v1alpha1.ReasonDrifted, event: notice{onChange, true}, words: changedWords,
	}
	stopPastGit = &cause{
		when: func(s *snapshot) bool { return s.pastGit }, value: v1alpha1.StopChangedPastGit,
		reason: v1alpha1.ReasonChangedPastGit, event: notice{onEntry, true}, words: func(*snapshot) string { return pastGitWords },
	}
	stopReturning = &cause{
		when: func(s *snapshot) bool { return s.ride().stops() }, value: v1alpha1.StopTrainReturns,
		reason: v1alpha1.ReasonTrainReturns, words: returningWords,
	}
	stopTooMany = &cause{
		when: tooManyMembers, value: v1alpha1.StopTooManyMembers,
		reason: v1alpha1.ReasonTooManyMembers, event: notice{onEntry, true}, words: tooManyWords,
	}
	stopGuardRejected = &cause{
		when: func(s *snapshot) bool { return s.gates().rejectedGuard() != nil }, value: v1alpha1.StopGuardRejected,
		reason: v1alpha1.ReasonGuardRejected, event: notice{onEntry, true}, words: guardWords,
	}
	causes = stop{stopInvalidSteps, stopSuspended, stopFrozen, stopChanged, stopPastGit, stopReturning, stopTooMany}
)

// stopCauses returns what stops a release now.
func stopCauses(s *snapshot) stop {
	var now stop
	for _, c := range causes {
		if c.when(s) {
			now = append(now, c)
		}
	}
	return now
}

// stopsNow returns the causes that stop a release now, and the attempt in progress. A guard stops
// no other template: the next one may fix this one.
func stopsNow(s *snapshot) stop {
	now := stopCauses(s)
	if stopGuardRejected.when(s) {
		now = append(now, stopGuardRejected)
	}
	return now
}

// stopsProgress returns what stops the attempt in progress: only invalid steps of its own stop a
// rollback.
func stopsProgress(s *snapshot) stop {
	switch {
	case s.record.idle():
		return stopCauses(s)
	case !s.record.rollingBack():
		return slices.DeleteFunc(stopsNow(s), func(c *cause) bool { return c == stopTooMany }) // that is about the next run
	case stopInvalidSteps.when(s):
		return stop{stopInvalidSteps}
	default:
		return nil
	}
}

func (s stop) any() bool { return len(s) > 0 }

// only returns the causes that are among others.
func (s stop) only(others ...*cause) stop {
	return slices.DeleteFunc(slices.Clone(s), func(c *cause) bool { return !slices.Contains(others, c) })
}

// values returns the causes as the API has them.
func (s stop) values() []v1alpha1.StopCause {
	var values []v1alpha1.StopCause
	for _, c := range s {
		values = append(values, c.value)
	}
	return values
}

// reason returns the reason of the first cause; empty if there is none.
func (s stop) reason() string {
	if !s.any() {
		return ""
	}
	return s[0].reason
}

// event returns when the first cause becomes an event.
func (s stop) event() notice {
	if !s.any() {
		return notice{tell: never}
	}
	return s[0].event
}

// words describes all causes.
func (s stop) words(of *snapshot) string {
	var words []string
	for _, c := range s {
		words = append(words, c.words(of))
	}
	return joined(words)
}

func guardWords(s *snapshot) string {
	guard := s.gates().rejectedGuard()
	return fmt.Sprintf("guard %s was rejected: %s", guard.Name, guard.Status.Message)
}

func frozenWords(s *snapshot) string {
	freeze := s.release.Frozen(s.now)
	words := "frozen"
	if freeze.Until != nil {
		words += " until " + freeze.Until.UTC().Format(time.RFC3339)
	}
	return words + ": " + freeze.Reason
}

// changedWords describes the external change, and how to continue.
func changedWords(s *snapshot) string {
	change := s.hold().change()
	words := change.Message
	if change.takesPods() && podsShort(s) {
		words += "; pods were lost and are being replaced"
	}
	return fmt.Sprintf("%s; to continue: sluice retry %s -n %s", words, s.release.Name, s.release.Namespace)
}

// podsShort reports whether fewer pods are available than maxUnavailable allows.
func podsShort(s *snapshot) bool {
	return s.pods.All.Staying < s.workload.Replicas-s.steps().bounds().Unavailable
}

// stand leaves a stopped release where it is. Its open gates may be decided meanwhile. The progress
// deadline does not run, and starts again when the release goes on.
func stand(d Decision) Decision {
	var t mover.Task
	switch {
	case d.snap.record.failed():
		d, t = follow(d)
	case d.snap.record.entered():
		d, t = follow(d)
		d = d.with(func(r *record) { r.Progress = nil })
		d = rollOn(d)
	default:
		// An earlier pass may have begun without a record, or the template has pods from before.
		t = taskOf(d.snap, max(min(d.snap.pods.updated(), d.snap.steps().share().most(d.snap.workload.Replicas)), minUpdated(d.snap)))
	}
	// Scale surplus updated pods back to the step's target, e.g. after an external unpause.
	t.Blocked = d.snap.gates().awaited() || d.snap.hold().change() != nil
	d, turns := turnRound(d, t.Blocked)
	if turns {
		return d
	}
	d, t, _ = moveTraffic(d, t)
	if d.snap.pods.hasUpdated() {
		return keepScale(count(d), t)
	}
	if d.snap.pods.Self {
		return d
	}
	return makeRoom(d, t)
}

// turnRound begins the rollback of a stopped release if it has failed, or a gate or a guard was
// rejected, and the strategy or the gate says so. It reports whether it does, or needs to read.
func turnRound(d Decision, blocked bool) (Decision, bool) {
	switch {
	case d.snap.record.failed():
		return rollBackFailed(d)
	case d.snap.gates().rejectedGuard() != nil:
		return rollBackGuarded(d, blocked)
	case blocked:
		return rollBackRejected(d)
	default:
		return d, false
	}
}
