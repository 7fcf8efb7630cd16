package plan

import (
	"fmt"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// recordProgress notes when more updated pods are available than ever before in the release. Where they are taken
// back, by a jump or with spec.replicas, the mark goes down with them: the pods that come next are progress again.
func recordProgress(d Decision) Decision {
	progress, available := d.record.Progress, d.updatedAvailable()
	mark := func(n int32) Decision {
		return d.with(func(r *record) { r.Progress = &v1alpha1.Progress{Available: n, Since: *d.time()} })
	}
	switch {
	case progress == nil, available > progress.Available && !d.goingBack():
		return mark(available)
	case d.pods.Updated.Wanted < progress.Available:
		return mark(d.pods.Updated.Wanted)
	default:
		return d
	}
}

// inTime is what is to be done next, unless the release makes no progress: then it fails.
func inTime(next Decision) Decision {
	progress := next.record.Progress
	if next.record.CurrentStepState != v1alpha1.StepUpgrade || progress == nil || next.paused() {
		return next
	}
	watched := next.Watched.Progress
	if progressMark(&next.record) != progressMark(&next.Release.Status) {
		watched = 0 // the wait begins now
	}
	waited, onRecord := next.waited(watched, progress.WaitedSeconds)
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
	if !next.goingBack() && next.refused == nil {
		reads |= ReadFailing
	}
	if !next.Live.Has(reads) {
		return next.read(reads)
	}
	failed := fail(next, next.whyLate())
	if back, turns := rollBackFailed(failed); turns {
		return back
	}
	return failed
}

// whyLate is what keeps a batch from making progress.
func (d Decision) whyLate() string {
	switch {
	case d.refused != nil:
		return refusalWords(d.refused)
	case d.record.Traffic != nil && d.record.Traffic.Problem != nil:
		return d.record.Traffic.Problem.Words()
	case d.crowdsOut():
		return fmt.Sprintf("%s of the new version leave no room for those of the old one with which routes begin to share requests, batch %s says %d: roll back",
			pods(d.updated()), d.batchWord(), d.record.TargetReplicas)
	case d.shifts():
		return awaited(d.record.Traffic)
	case d.goingBack():
		return "pods of the previous version are not available"
	default:
		return d.Failing
	}
}

// crowdsOut reports whether no route shares requests, and more pods run the new version than the step says, as somebody has let the native
// controller make them. Only a rollback takes them back.
func (l *look) crowdsOut() bool {
	return l.shares() && !heldRoutes(l.Traffic) && l.updated() > l.record.TargetReplicas
}

// excused is for how long from now nothing is missing but time that the release says to wait for. Pods that are not there yet, or are refused, are missing.
func (d Decision) excused() time.Duration {
	if d.Workload == nil || d.refused != nil || d.updatedAvailable() < d.pods.Updated.Wanted {
		return 0
	}
	return d.timed
}

// overdue reports whether a wait is longer than the progress deadline. Until it is, the release is checked again and again.
func overdue(d Decision, waited time.Duration) (Decision, bool) {
	left := d.progressDeadline() - waited
	if left > 0 {
		return d.wakeAt(d.Now.Add(min(left+d.excused(), longestLook))), false
	}
	return d, true
}

// fail ends the release where it is.
func fail(d Decision, cause string) Decision {
	deadline := int32(d.progressDeadline() / time.Second)
	return d.with(func(r *record) {
		r.Phase = v1alpha1.PhaseFailed
		r.Failure = &v1alpha1.Failure{DeadlineSeconds: deadline, Message: bounded(cause)}
	})
}

// progressDeadline is the release's, or that of its workload, which may be gone.
func (l *look) progressDeadline() time.Duration {
	seconds := l.Release.Spec.Strategy.ProgressDeadlineSeconds
	if seconds == nil && l.Workload != nil {
		seconds = l.Workload.ProgressDeadlineSeconds
	}
	if seconds == nil {
		return DefaultProgressDeadline
	}
	return time.Duration(*seconds) * time.Second
}

// waited adds what this process has watched of a wait to what is on record of it. The record is updated every quarter of
// the deadline, or every minute if that is longer: as much as is lost when the process ends.
func (l *look) waited(watched time.Duration, onRecord int32) (time.Duration, int32) {
	waited := time.Duration(onRecord)*time.Second + watched
	if watched >= max(l.progressDeadline()/4, longestLook) {
		onRecord = int32(waited / time.Second)
	}
	return waited, onRecord
}
