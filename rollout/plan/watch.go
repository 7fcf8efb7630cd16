package plan

import (
	"cmp"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A progress deadline is counted by looks: it is over when processes have watched a release for so long without progress. What
// a wall clock says, when one process ended and another began, and the time in which nobody looked do not count: a clock
// may jump, another node has another one, and pods may have been about to come when the controller was away.

// longestLook is the longest time between two looks at a release that waits for pods, and as much as one look counts.
const longestLook = time.Minute

// Watched is for how long a process has watched a release wait, since the status was written that it waits by.
type Watched struct {
	// Progress is the wait for one more updated pod, Refusal that for a write to be taken, and Queue that of a new template.
	Progress, Refusal, Queue time.Duration
	// Timed is how much more it has watched the wait for a pod, in which the release waited for a time that it says itself.
	Timed time.Duration
	// Ending is how long old pods have been kept at the end of a release with traffic.
	Ending time.Duration
}

// Watches are the waits that a process watches, for one release. The zero value is none. The times given to it must be
// those of one clock that does not jump.
type Watches struct{ progress, refusal, queue, ending watch }

// watch is how long a process has waited for one thing.
type watch struct {
	mark  mark
	last  time.Time
	total time.Duration
	// timed does not count in total, nor does what comes next for as long as ahead.
	timed, ahead time.Duration
}

// mark tells a wait from another. The zero value is none.
type mark struct {
	attempt, since    int64
	available, waited int32
	write             string
}

// Watched is how long the waits of a status have been watched until now.
func (w Watches) Watched(status *v1alpha1.BatchReleaseStatus, now time.Time) Watched {
	next := w.Looked(status, now)
	return Watched{next.progress.total, next.refusal.total, next.queue.total, next.progress.timed, next.ending.total}
}

// Looked notes that the process has looked at a release, and found nothing more to do.
func (w Watches) Looked(status *v1alpha1.BatchReleaseStatus, now time.Time) Watches {
	return Watches{
		w.progress.looked(progressMark(status), now), w.refusal.looked(refusalMark(status), now), w.queue.looked(queueMark(status), now),
		w.ending.looked(endingMark(status), now),
	}
}

// Timed notes for how long from that look the release waits for a time that it says itself (Plan.Timed).
func (w Watches) Timed(ahead time.Duration) Watches {
	w.progress.ahead = ahead
	return w
}

// Interrupted notes that the process could not look: until the next time that it can, nothing counts.
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

// begun tells a wait from another whatever of it is on record.
func (m mark) begun() mark {
	m.waited = 0
	return m
}

// progressMark is the wait for one more updated pod; none if the step does not wait for pods.
func progressMark(status *v1alpha1.BatchReleaseStatus) mark {
	p := status.Progress
	if p == nil || status.CurrentStepState != v1alpha1.StepUpgrade {
		return mark{}
	}
	return mark{attempt: status.Attempt, since: p.Since.Unix(), available: p.Available, waited: p.WaitedSeconds}
}

// refusalMark is the wait for a write that is refused.
func refusalMark(status *v1alpha1.BatchReleaseStatus) mark {
	r := status.RefusedWrite
	if r == nil {
		return mark{}
	}
	return mark{attempt: status.Attempt, since: r.Since.Unix(), write: cmp.Or(r.Key, r.Write), waited: r.WaitedSeconds}
}

// queueMark is the wait of a new template for something on the workload; none if it waits for something else.
func queueMark(status *v1alpha1.BatchReleaseStatus) mark {
	q := status.Queued
	if q == nil || q.Awaits == "" {
		return mark{}
	}
	return mark{attempt: status.Attempt, since: q.Since.Unix(), write: q.Given, waited: q.WaitedSeconds}
}

// endingMark is the wait for the end of the delay after which old pods go; none if the release is not at its end.
func endingMark(status *v1alpha1.BatchReleaseStatus) mark {
	if status.Traffic == nil || status.Traffic.Ending == nil {
		return mark{}
	}
	ending := status.Traffic.Ending
	return mark{attempt: status.Attempt, since: ending.Since.Unix(), waited: ending.WaitedSeconds}
}
