package plan

import (
	"fmt"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// recordProgress records when more updated pods are available than ever before in the release. If a
// jump, or spec.replicas, takes pods back, the mark goes down with them: the next ones are progress
// again.
func recordProgress(d Decision) Decision {
	progress, available := d.snap.record.Progress, d.snap.pods.available()
	mark := func(n int32) Decision {
		return d.with(func(r *record) { r.Progress = &v1alpha1.Progress{Available: n, Since: *d.snap.time()} })
	}
	switch {
	case progress == nil, available > progress.Available && !goingBack(d.snap):
		return mark(available)
	case d.snap.pods.Updated.Wanted < progress.Available:
		return mark(d.snap.pods.Updated.Wanted)
	default:
		return d
	}
}

// inTime fails the release if it makes no progress within its deadline.
func inTime(next Decision) Decision {
	progress := next.snap.record.Progress
	if next.snap.record.CurrentStepState != v1alpha1.StepUpgrade || progress == nil || next.snap.record.paused() || heldInLockstep(next.snap) {
		return next
	}
	watched := next.snap.obs.Watched.Progress
	if progressMark(&next.snap.record.BatchReleaseStatus) != progressMark(&next.snap.release.Status) {
		watched = 0 // the wait begins now
	}
	waited, onRecord := addWatched(next.snap, watched, progress.WaitedSeconds)
	if onRecord != progress.WaitedSeconds {
		counted := *progress
		counted.WaitedSeconds = onRecord
		next = next.with(func(r *record) { r.Progress = &counted })
	}
	next, late := overdue(next, waited)
	if !late {
		return next
	}
	reads := ReadCounts
	if !goingBack(next.snap) && next.refused == nil {
		reads |= ReadFailing
	}
	if !next.snap.live(reads) {
		return next.read(reads)
	}
	failed := fail(next, next.whyLate())
	if back, turns := rollBackFailed(failed); turns {
		return back
	}
	return failed
}

// whyLate says what keeps a batch from making progress.
func (d Decision) whyLate() string {
	switch {
	case d.refused != nil:
		return refusalWords(d.refused)
	case d.snap.record.Traffic != nil && d.snap.record.Traffic.Problem != nil:
		return d.snap.record.Traffic.Problem.Words()
	case crowdsOut(d.snap):
		return fmt.Sprintf("%s of the new version leave no room for those of the old one with which routes begin to share requests, batch %s says %d: roll back",
			podsWord(d.snap.pods.updated()), batchNumber(d.snap), d.snap.record.TargetReplicas)
	case shifting(d.snap):
		return awaited(d.snap.record.Traffic)
	case goingBack(d.snap):
		return "pods of the previous version are not available"
	default:
		return d.snap.obs.Failing
	}
}

// crowdsOut reports whether no route shares requests, and more pods run the new version than the
// step says, because the native controller made them. Only a rollback takes them back.
func crowdsOut(s *snapshot) bool {
	return sharesTraffic(s) && !heldRoutes(s.obs.Traffic) && s.pods.updated() > s.record.TargetReplicas
}

// excused returns the configured waiting time that does not count toward the progress deadline. It
// is 0 while pods are missing or refused.
func (d Decision) excused() time.Duration {
	if d.snap.workload == nil || d.refused != nil || d.snap.pods.available() < d.snap.pods.Updated.Wanted {
		return 0
	}
	return d.timed
}

// overdue reports whether a wait is longer than the progress deadline. Until it is, the release is
// checked again.
func overdue(d Decision, waited time.Duration) (Decision, bool) {
	left := progressDeadline(d.snap) - waited
	if left > 0 {
		return d.wakeAt(d.snap.now.Add(min(left+d.excused(), longestLook)), WakeDeadline), false
	}
	return d, true
}

// fail ends the release where it is.
func fail(d Decision, cause string) Decision {
	deadline := int32(progressDeadline(d.snap) / time.Second)
	return d.with(func(r *record) {
		r.Phase = v1alpha1.PhaseFailed
		r.Failure = &v1alpha1.Failure{DeadlineSeconds: deadline, Message: bounded(cause)}
	})
}

// progressDeadline returns the deadline of the release, of its workload, or the default, in this
// order.
func progressDeadline(s *snapshot) time.Duration {
	seconds := s.release.Spec.Strategy.ProgressDeadlineSeconds
	if seconds == nil && s.workload != nil {
		seconds = s.workload.ProgressDeadlineSeconds
	}
	if seconds == nil {
		return DefaultProgressDeadline
	}
	return time.Duration(*seconds) * time.Second
}

// addWatched adds what this process has watched of a wait to what is recorded of it. It updates the
// record every quarter of the deadline, or every minute if that is longer: as much is lost when the
// process ends.
func addWatched(s *snapshot, watched time.Duration, onRecord int32) (time.Duration, int32) {
	waited := time.Duration(onRecord)*time.Second + watched
	if watched >= max(progressDeadline(s)/4, longestLook) {
		onRecord = int32(waited / time.Second)
	}
	return waited, onRecord
}

// A progress deadline is counted by checks: it is over when processes have watched a release for so
// long without progress. A wall clock does not count, nor does the time without a controller: a
// clock may jump, another node has another one, and pods may have been about to come.

// longestLook is the longest time between two checks of a release that waits for pods, and as much
// as one check counts.
const longestLook = time.Minute

// Watched is for how long a process has watched a release wait, since the status was written that
// it waits by.
type Watched struct {
	// Progress is the wait for one more updated pod, Refusal that for a write to be taken, and
	// Queue that of a new template.
	Progress, Refusal, Queue time.Duration
	// Timed is how much more it has watched the wait for a pod, in which the release waited for a
	// time that it says itself.
	Timed time.Duration
	// Ending is how long old pods have been kept at the end of a release with traffic.
	Ending time.Duration
}

// Watches holds the waits that a process watches for one release. The zero value is none. Times
// must come from one clock that does not jump.
type Watches struct{ progress, refusal, queue, ending watch }

// watch is how long a process has waited for one thing.
type watch struct {
	mark  mark
	last  time.Time
	total time.Duration
	// timed does not count in total, nor does what comes next for as long as ahead.
	timed, ahead time.Duration
}

// mark identifies a wait. The zero value is none.
type mark struct {
	attempt, since    int64
	available, waited int32
	write             string
}

// Watched returns how long the waits of a status have been watched until now.
func (w Watches) Watched(status *v1alpha1.BatchReleaseStatus, now time.Time) Watched {
	next := w.Looked(status, now)
	return Watched{next.progress.total, next.refusal.total, next.queue.total, next.progress.timed, next.ending.total}
}

// Looked records that the process has checked a release, and found nothing more to do.
func (w Watches) Looked(status *v1alpha1.BatchReleaseStatus, now time.Time) Watches {
	return Watches{
		w.progress.looked(progressMark(status), now), w.refusal.looked(refusalMark(status), now), w.queue.looked(queueMark(status), now),
		w.ending.looked(endingMark(status), now),
	}
}

// Timed records how long from that check the release waits for a time that it sets itself
// (Plan.Timed).
func (w Watches) Timed(ahead time.Duration) Watches {
	w.progress.ahead = ahead
	return w
}

// Interrupted records that the process could not check: nothing counts until it can again.
func (w Watches) Interrupted() Watches {
	w.progress.last, w.refusal.last, w.queue.last, w.ending.last = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return w
}

func (w watch) looked(m mark, now time.Time) watch {
	next := watch{mark: m, last: now}
	if m == (mark{}) || m.begun() != w.mark.begun() {
		return next
	}
	var passed time.Duration
	if !w.last.IsZero() {
		passed = min(max(now.Sub(w.last), 0), longestLook)
	}
	timed := min(passed, w.ahead)
	next.timed, next.ahead = w.timed+timed, w.ahead-timed
	if m == w.mark {
		next.total = w.total + passed - timed
	}
	return next
}

// begun returns the mark without what is recorded of the wait.
func (m mark) begun() mark {
	m.waited = 0
	return m
}

// progressMark identifies the wait for one more updated pod; none if the step does not wait for
// pods, or waits for other members of a train.
func progressMark(status *v1alpha1.BatchReleaseStatus) mark {
	p := status.Progress
	if p == nil || status.CurrentStepState != v1alpha1.StepUpgrade || status.State == v1alpha1.StateWaitingForTrain {
		return mark{}
	}
	return mark{attempt: status.Attempt, since: p.Since.Unix(), available: p.Available, waited: p.WaitedSeconds}
}

// refusalMark identifies the wait for a write that is refused.
func refusalMark(status *v1alpha1.BatchReleaseStatus) mark {
	r := status.RefusedWrite
	if r == nil {
		return mark{}
	}
	return mark{attempt: status.Attempt, since: r.Since.Unix(), write: r.Key, waited: r.WaitedSeconds}
}

// queueMark identifies the wait of a new template for something on the workload; none if it waits
// for something else.
func queueMark(status *v1alpha1.BatchReleaseStatus) mark {
	q := status.Queued
	if q == nil || q.Awaits == "" {
		return mark{}
	}
	return mark{attempt: status.Attempt, since: q.Since.Unix(), write: q.Given, waited: q.WaitedSeconds}
}

// endingMark identifies the wait for the end of the delay after which old pods go; none if the
// release is not at its end.
func endingMark(status *v1alpha1.BatchReleaseStatus) mark {
	if status.Traffic == nil || status.Traffic.Ending == nil {
		return mark{}
	}
	ending := status.Traffic.Ending
	return mark{attempt: status.Attempt, since: ending.Since.Unix(), waited: ending.WaitedSeconds}
}
