package story

import (
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// OfRelease returns what happened to a release between two of its versions, in order. The first
// version that a process sees (before is nil) gives no facts. Facts for which the status has no
// time get the time now.
func OfRelease(before, after *v1alpha1.BatchRelease, now time.Time) []Fact {
	if before == nil || after == nil || before.UID != after.UID {
		return nil
	}
	c := change{before: &before.Status, after: &after.Status, release: after, now: now}
	return c.facts()
}

// Made returns what happened to a release before its first version was seen, if it was created
// while the process watched.
func Made(first *v1alpha1.BatchRelease, now time.Time) []Fact {
	return OfRelease(&v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{UID: first.UID}}, first, now)
}

// Deleted returns what happened when the object of a release went away.
func Deleted(last *v1alpha1.BatchRelease, now time.Time) []Fact {
	if !underWay(&last.Status) || last.Status.Adopted {
		return nil
	}
	c := change{before: &last.Status, after: &last.Status, release: last, now: now}
	fact := c.fact(ReleaseDeleted, &last.Status)
	fact.Since = timeOf(last.Status.StartedAt)
	return []Fact{fact}
}

// change is a step from one status to the next.
type change struct {
	before, after *v1alpha1.BatchReleaseStatus
	release       *v1alpha1.BatchRelease
	now           time.Time
}

func (c *change) facts() []Fact {
	switch {
	case c.after.Attempt < c.before.Attempt: // somebody removed the status: what it reported has happened all the same
		return nil
	case c.after.Attempt > c.before.Attempt:
		return append(c.left(), c.begun()...)
	case underWay(c.before) && !c.before.Adopted && !begun(c.after): // its workload is gone, and nothing is released to the next one yet
		return []Fact{c.superseded(ReleaseSuperseded)}
	}
	var facts []Fact
	if c.before.Adopted && !c.after.Adopted && underWay(c.after) { // the workload does not run the template after all
		facts = append(facts, c.start(ReleaseStarted))
	}
	return slices.Concat(facts, c.batches(), c.stops(), c.ends())
}

// jumpedBack reports whether the next attempt is of the same release, from an earlier batch.
func (c *change) jumpedBack() bool {
	return underWay(c.before) && c.before.UpdateRevision == c.after.UpdateRevision && c.before.StartedAt.Equal(c.after.StartedAt) &&
		len(c.after.Jumps()) > 0
}

// left returns how a release ended that another attempt replaced.
func (c *change) left() []Fact {
	if !underWay(c.before) {
		return nil
	}
	if done := c.unseenEnd(); done != nil {
		ended := *c
		ended.after = done
		return ended.facts()
	}
	// The fact that a rollback began also reports the release that it leaves.
	if c.after.Rollback != nil && c.before.Rollback == nil || c.before.Adopted {
		return nil
	}
	kind := ReleaseSuperseded
	if c.jumpedBack() {
		kind = JumpedBack
	}
	return []Fact{c.superseded(kind)}
}

// superseded returns the fact that something else took the place of a release.
func (c *change) superseded(kind Kind) Fact {
	fact := c.fact(kind, c.before)
	fact.Since, fact.Failed = timeOf(c.before.StartedAt), c.before.HasFailed()
	return fact
}

// unseenEnd returns the release before as it completed, if the status says that it did: the next
// one may begin with the same write, as where it was queued. Nil if the next one took its place.
func (c *change) unseenEnd() *v1alpha1.BatchReleaseStatus {
	ended := c.after.Ended
	if len(ended) == 0 || c.after.Attempt != c.before.Attempt+1 || c.jumpedBack() || reflect.DeepEqual(ended, c.before.Ended) {
		return nil
	}
	var trigger v1alpha1.RollbackTrigger
	if c.before.Rollback != nil {
		trigger = c.before.Rollback.Trigger
	}
	if last := ended[len(ended)-1]; last.Revision != c.before.UpdateRevision || last.Trigger != trigger {
		return nil
	}
	done := c.before.DeepCopy()
	done.Phase, done.State, done.StoppedBy, done.StalledBy = v1alpha1.PhaseCompleted, v1alpha1.StateCompleted, nil, ""
	done.LastUpdateTime = c.after.StartedAt
	if last := int32(len(c.release.Spec.Steps(c.before.Rollback != nil))) - 1; last > c.before.CurrentStepIndex || last >= 0 && !c.before.Entered() {
		done.CurrentStepIndex, done.StepStartedAt = last, &metav1.Time{}
	}
	return done
}

func (c *change) begun() []Fact {
	if !begun(c.after) {
		return nil
	}
	kind := ReleaseStarted
	if c.after.Rollback != nil {
		kind = RollbackStarted
	}
	start := c.start(kind)
	if back := c.after.Rollback; back != nil && back.From == c.before.UpdateRevision {
		start.Since, start.Failed = timeOf(c.before.StartedAt), c.before.HasFailed()
	}
	// One write of the status can cover several steps of a release.
	fresh := *c
	fresh.before = &v1alpha1.BatchReleaseStatus{Attempt: c.after.Attempt, Phase: v1alpha1.PhaseInitial, Rollback: c.after.Rollback}
	facts := slices.Concat(fresh.batches(), fresh.stops(), fresh.ends())
	if c.jumpedBack() || c.after.Adopted {
		return facts
	}
	return slices.Insert(facts, 0, start)
}

// start returns the fact that a release began.
func (c *change) start(kind Kind) Fact {
	start := c.fact(kind, c.after)
	start.Batch = 0
	start.Time = c.at(c.after.StartedAt)
	return start
}

// batches returns the facts about batches that began and ended.
func (c *change) batches() []Fact {
	if c.after.Adopted { // it has gone through no batches
		return nil
	}
	var facts []Fact
	entered := c.after.Entered() && (!c.before.Entered() || c.before.CurrentStepIndex != c.after.CurrentStepIndex)
	if c.before.Entered() && !stepDone(c.before) && (stepDone(c.after) || entered && c.after.CurrentStepIndex > c.before.CurrentStepIndex) {
		done := c.fact(BatchDone, c.before)
		done.Since, done.Time = timeOf(c.before.StepStartedAt), c.at(c.after.LastUpdateTime)
		facts = append(facts, done)
	}
	if !entered {
		return facts
	}
	facts = append(facts, c.passed()...)
	began := c.fact(BatchStarted, c.after)
	began.Time = c.at(c.after.StepStartedAt)
	facts = append(facts, began)
	if stepDone(c.after) {
		done := c.fact(BatchDone, c.after)
		done.Since, done.Time = timeOf(c.after.StepStartedAt), c.at(c.after.LastUpdateTime)
		facts = append(facts, done)
	}
	return facts
}

// passed returns the facts about batches that no version of the status showed: their pods existed
// already, as at the start of a rollback, or versions were missed. Their durations are not known.
// Batches that a jump skipped did not happen.
func (c *change) passed() []Fact {
	if slices.ContainsFunc(c.after.Jumps(), func(jump v1alpha1.EarlierJump) bool { return jump.To == c.after.CurrentStepIndex }) {
		return nil
	}
	first := int32(0)
	if c.before.Entered() {
		first = c.before.CurrentStepIndex + 1
	}
	last := min(c.after.CurrentStepIndex, int32(len(c.release.Spec.Steps(c.after.Rollback != nil)))) // people can write the status too
	var facts []Fact
	for step := first; step < last; step++ {
		for _, kind := range []Kind{BatchStarted, BatchDone} {
			fact := c.fact(kind, c.after)
			fact.Batch, fact.Time = int(step)+1, c.at(c.after.StepStartedAt)
			facts = append(facts, fact)
		}
	}
	return facts
}

// stepDone reports whether the pods of the current step are available. A user who confirms a step
// sets its state to completed: before its gates are open, that means nothing, and the controller
// takes it back.
func stepDone(s *v1alpha1.BatchReleaseStatus) bool {
	switch s.Phase {
	case v1alpha1.PhaseFinalizing, v1alpha1.PhaseCompleted:
		return true
	case v1alpha1.PhaseInitial, v1alpha1.PhaseRollingUpdate, v1alpha1.PhaseRollingBack, v1alpha1.PhaseFailed:
	}
	switch s.CurrentStepState {
	case v1alpha1.StepBlocking:
		return true
	case v1alpha1.StepCompleted:
		return len(s.Gates) > 0 || s.Traffic != nil && s.Traffic.Ending != nil
	case v1alpha1.StepInitial, v1alpha1.StepUpgrade:
	}
	return false
}

// stops returns the facts that a release does not advance until somebody acts, or that it advances
// again.
func (c *change) stops() []Fact {
	was, is := stopOf(c.before), stopOf(c.after)
	var facts []Fact
	switch {
	case is == was:
	case is == (stop{}):
		facts = append(facts, c.fact(ReleaseResumed, c.after))
	default:
		fact := c.fact(ReleaseStopped, c.after)
		fact.StoppedBy, fact.StalledBy = is.stopped, is.stalled
		facts = append(facts, fact)
	}
	if c.after.State == v1alpha1.StateApprovalRefused && c.before.State != v1alpha1.StateApprovalRefused {
		facts = append(facts, c.fact(ApprovalRefused, c.after))
	}
	return facts
}

type stop struct {
	stopped v1alpha1.StopCause
	stalled v1alpha1.StallCause
}

// stopOf returns why a release does not advance; a failure and a rejection are facts of their own.
func stopOf(s *v1alpha1.BatchReleaseStatus) stop {
	why := stop{stopped: s.Stops(), stalled: s.StalledBy}
	switch why.stalled {
	case v1alpha1.StallDeadlineExceeded, v1alpha1.StallGateRejected:
		why.stalled = ""
	case v1alpha1.StallWriteRefused, v1alpha1.StallInvalidStrategy, v1alpha1.StallInvalidTemplate, v1alpha1.StallNoTemplate,
		v1alpha1.StallWouldMixVersions, v1alpha1.StallWorkloadHeld, v1alpha1.StallWorkloadShared, v1alpha1.StallTrafficBlocked, v1alpha1.StallUnguarded:
	}
	return why
}

// ends returns the facts about how a release ended, or that it drifted afterwards.
func (c *change) ends() []Fact {
	var facts []Fact
	switch {
	case c.after.Phase != c.before.Phase:
		facts = c.comesTo(c.after.Phase)
	case c.release.IsTrain() && c.after.HasFailed() && !c.before.HasFailed():
		facts = []Fact{c.end(ReleaseFailed)}
	}
	if c.after.State == v1alpha1.StateDrifted && c.before.State != v1alpha1.StateDrifted {
		facts = append(facts, c.fact(Drifted, c.after))
	}
	return facts
}

// comesTo returns the fact that a release has come to a phase at which it ends.
func (c *change) comesTo(phase v1alpha1.Phase) []Fact {
	switch phase {
	case v1alpha1.PhaseFailed:
		return []Fact{c.end(ReleaseFailed)}
	case v1alpha1.PhaseCompleted:
		if c.before.Phase != "" {
			return []Fact{c.completed()}
		}
	case v1alpha1.PhaseInitial, v1alpha1.PhaseRollingUpdate, v1alpha1.PhaseRollingBack, v1alpha1.PhaseFinalizing:
	}
	return nil
}

func (c *change) completed() Fact {
	switch {
	case c.after.Rollback != nil:
		return c.end(RolledBack)
	case c.after.Adopted:
		adopted := c.end(ReleaseAdopted)
		adopted.Batch = 0
		return adopted
	default:
		return c.end(ReleaseCompleted)
	}
}

func (c *change) end(kind Kind) Fact {
	fact := c.fact(kind, c.after)
	fact.Since, fact.Time = timeOf(c.after.StartedAt), c.at(c.after.LastUpdateTime)
	return fact
}

// fact returns a fact of a kind, filled with what a status says about the release.
func (c *change) fact(kind Kind, status *v1alpha1.BatchReleaseStatus) Fact {
	fact := Fact{
		Kind: kind, Release: types.NamespacedName{Namespace: c.release.Namespace, Name: c.release.Name}, UID: c.release.UID,
		Attempt: status.Attempt, Train: c.release.Spec.Train, Workload: c.release.Spec.WorkloadRef, Revision: status.UpdateRevision,
		Commit: status.Commit, Author: status.CommitAuthor, Subject: status.CommitSubject, CommittedAt: timeOf(status.CommitTime),
		Message: status.Message, Time: c.now,
	}
	if status.Entered() {
		fact.Batch = int(status.CurrentStepIndex) + 1
	}
	fact.Batches = len(c.release.Spec.Steps(status.Rollback != nil))
	if status.Rollback != nil {
		fact.Trigger, fact.From = status.Rollback.Trigger, status.Rollback.From
	}
	return fact
}

// at returns a time of the status, or now if it has none.
func (c *change) at(t *metav1.Time) time.Time {
	if t == nil || t.IsZero() {
		return c.now
	}
	return t.Time
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// begun reports whether a status is about a release. If another workload has taken the place of the
// one that was released, it is not until something is released to that: only the count of attempts
// stays.
func begun(s *v1alpha1.BatchReleaseStatus) bool { return s.Attempt > 0 && s.Phase != "" }

// underWay reports whether a release has begun and not ended.
func underWay(s *v1alpha1.BatchReleaseStatus) bool {
	return begun(s) && s.Phase != v1alpha1.PhaseCompleted
}
