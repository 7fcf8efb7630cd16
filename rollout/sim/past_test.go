package sim

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Past is what the laws remember of what has happened.
type Past struct {
	// Attempt is the last one that a write belonged to, and Had how many pods ran its revision before,
	// or were about to.
	Attempt int64
	Had     int32
	// Step is the step that the last write belonged to, and Sizes what spec.replicas have been since it
	// was entered.
	Step  int32
	Sizes Sizes
	// Watched is how long processes have looked at the release since it last made progress.
	Watched time.Duration
	// Bad is the revision that is being, or was last, rolled back, and Barred the template that was
	// given then: it is not released until another one is given.
	Bad, Barred string
	// Undone is the revision that was rolled back last, until it runs again without a rollback, or is
	// given again. Stuck says that another release began while that rollback could not go on: it had
	// failed, a gate of it was rejected, or its status was lost.
	Undone string
	// Unkept reports whether the API server has refused to record Undone in the history.
	Unkept bool
	Stuck  bool
	// Sent says that a rollback to Bad was sent elsewhere on its way: nobody has said anything against
	// what Bad was before.
	Sent bool
	// Confirmed are the gates that a person has confirmed while they were open.
	Confirmed []string
	// Asked has a bit for each step that a person has asked for, and Answered says that what Git asks
	// for was answered.
	Asked    uint64
	Answered bool
	// Allowed says that a person has let Git replace what no commit has brought, or that it runs since.
	Allowed bool
	// Losses says that available pods were lost without a deletion.
	Losses bool
	// OutOfBand says that somebody else changed what Sluice manages while the workload was held, and
	// that this is not made up for; Acknowledged that somebody has allowed the release to continue.
	OutOfBand, Acknowledged bool
	// Applied is the template that others have applied last to a followed workload.
	Applied string
	// Exposed says that a followed workload has had, since its native controller last saw an approved
	// template, one that waits, of which that controller makes the next pod.
	Exposed bool
	// Let says that somebody scaled a StatefulSet up in this attempt while pods of it were being
	// replaced.
	Let bool
	// Cleared says that the gates of the step in progress have passed, as far as it asked them by then.
	Cleared bool
	// Entered says that a status told of a step of this attempt.
	Entered bool
	// Turned says that a status was lost, and none written since, that told of a rollback.
	Turned bool
	// Opened is how many places a partition that is open was opened for, in the attempt that did it.
	Opened int32
	// Emptied says that the native controller has scaled a held workload to 0 that had no updated pod,
	// and that no pass has seen it since, or the native controller not what that has made of it.
	Emptied bool
	// Own is how the workload's user wants it while it is not held.
	Own Own
	// Full are the revisions that were approved for all pods and not rolled back since, though their
	// releases may have been superseded before their end.
	Full []string
	// Brought lists the revisions that the process has written to the workload, those written by others
	// while no release held it, and those of the pods at an acknowledged change.
	Brought []string
	// Stable are the revisions that ran, or were released in full, under the native controller, except
	// those that were rolled back since: what may be left of a release that nobody has approved in
	// full.
	Stable []string
}

// Own is what a user gave a workload that is handed back to them.
type Own struct {
	Paused bool
	// Disputed says that they changed it when nobody could know whether it was held.
	Disputed bool
}

// begin forgets what happened in an earlier attempt, and in an earlier step. First says that it is
// the first write of a pass.
func (p *Past) begin(x *pass, intent *v1alpha1.BatchReleaseStatus, first bool) {
	w := x.world
	if p.Attempt != intent.Attempt {
		p.Entered = false
		p.Attempt, p.Step, p.Let = intent.Attempt, -1, p.Let && w.Workload.isOpen() // the status may be lost while a partition is open
		p.Had = letPods(w, intent.UpdateRevision)
	}
	switch {
	case !intent.Entered(): // no step is entered yet
		p.Step = -1
	case first && !p.Entered && !w.Release.Status.Entered(): // a pass before may have opened a partition, and not have written that it has entered a step
		p.Step, p.Had = intent.CurrentStepIndex, max(p.Had, letPods(w, intent.UpdateRevision))
	case p.Step != intent.CurrentStepIndex:
		p.Step = intent.CurrentStepIndex
	case p.again(x, intent):
	default:
		return
	}
	p.approve(w)
	p.Sizes = enteredAt(x.workload.Replicas) // which somebody may have changed since the pass has read it
	if now := w.Workload.Replicas; now != p.Sizes.Entered {
		p.Sizes.become(p.Sizes.Entered, now)
	}
	p.Sizes.Spoilt = w.Release.Spoiled != 0
	p.Sizes.Kept = min(comingPods(w, intent.UpdateRevision), p.Had)
	if keptBack(intent) {
		p.Sizes.Kept = podsOf(w, intent.UpdateRevision)
	}
}
