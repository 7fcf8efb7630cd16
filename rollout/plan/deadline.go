package plan

import (
	"fmt"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// recordProgress notes when more updated pods are available than ever before in the release. Where they are taken
// back, by a jump or with spec.replicas, the mark comes down with them: the pods that come next are progress again.
func (p *pass) recordProgress() {
	update, progress := p.updateSet(), p.status.Progress
	available := min(update.Available, update.Replicas) // those on their way out are none
	switch {
	case progress == nil, available > progress.Available && !p.goingBack():
		p.status.Progress = &v1alpha1.Progress{Available: available, Since: *p.now()}
	case update.Replicas < progress.Available:
		p.status.Progress = &v1alpha1.Progress{Available: update.Replicas, Since: *p.now()}
	}
}

// checkDeadline fails a release that makes no progress.
func (p *pass) checkDeadline() {
	if p.status.CurrentStepState != v1alpha1.StepUpgrade || p.status.Progress == nil || p.paused() {
		return
	}
	watched := p.Watched.Progress
	if progressMark(&p.status) != progressMark(&p.Release.Status) {
		watched = 0 // the wait begins now
	}
	if !p.overdue(p.waited(watched, &p.status.Progress.WaitedSeconds)) {
		return
	}
	asks := p.Failing == nil && !p.goingBack() && p.refused == nil
	if needs := (Needs{Sets: !p.SetsLive, Failing: asks}); needs.Any() {
		p.need(needs)
		return
	}
	p.fail("batch "+p.status.Batch, p.whyLate())
	p.rollBackFailed()
}

// whyLate is what keeps a batch from making progress.
func (p *pass) whyLate() string {
	switch {
	case p.refused != nil:
		return refusalWords(p.refused)
	case p.goingBack():
		return "pods of the version before are not available"
	default:
		return *p.Failing
	}
}

// overdue reports whether a wait is longer than the progress deadline. Until it is, the release is looked at again and again.
func (p *pass) overdue(waited time.Duration) bool {
	left := p.progressDeadline() - waited
	if left > 0 {
		p.wakeAt(p.Now.Add(min(left, longestNap)))
		return false
	}
	return true
}

// fail ends the release where it stands.
func (p *pass) fail(what, why string) {
	p.status.Phase = v1alpha1.PhaseFailed
	p.say(v1alpha1.ReasonDeadlineExceeded, fmt.Sprintf("%s: no progress for %s: %s", what, p.progressDeadline(), why))
}

func (p *pass) progressDeadline() time.Duration {
	for _, seconds := range []*int32{p.Release.Spec.Strategy.ProgressDeadlineSeconds, p.Workload.ProgressDeadlineSeconds} {
		if seconds != nil {
			return time.Duration(*seconds) * time.Second
		}
	}
	return DefaultProgressDeadline
}
