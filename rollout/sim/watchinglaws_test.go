package sim

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// wait is what a release waits for, by its status.
type wait struct {
	attempt, since, refused int64
	available, step         int32
	state                   v1alpha1.StepState
	write                   string
}

func waitOf(status *v1alpha1.BatchReleaseStatus) wait {
	w := wait{attempt: status.Attempt, step: status.CurrentStepIndex}
	if p := status.Progress; p != nil {
		w.available, w.since = p.Available, p.Since.Unix()
	}
	return w
}

// but counts as another wait to a process that starts to count.
func (w wait) but(status *v1alpha1.BatchReleaseStatus) wait {
	w.state = status.CurrentStepState
	if r := status.RefusedWrite; r != nil {
		w.write, w.refused = r.Write, r.Since.Unix()
	}
	return w
}

// refusedFor reports whether a write has been refused for the deadline, whatever step was entered
// meanwhile.
func refusedFor(w *World, status *v1alpha1.BatchReleaseStatus) bool {
	refused := status.RefusedWrite
	return refused != nil && w.Now.Sub(refused.Since.Time) >= w.deadline()
}

// judgeFailed: a release fails only once processes have looked at it for its deadline while it made
// no progress: no clock that jumps, and no time in which nobody looked, makes a healthy one fail.
func judgeFailed(x *pass, status *v1alpha1.BatchReleaseStatus) {
	w, was := x.world, x.world.Release.Status
	late := status.Rollback != nil && status.Rollback.Trigger == v1alpha1.TriggerDeadline && status.Attempt != was.Attempt && was.Phase != v1alpha1.PhaseFailed
	if status.Phase == v1alpha1.PhaseFailed && was.Phase != v1alpha1.PhaseFailed || late {
		if past(w).Watched < w.deadline() && !refusedFor(w, was) {
			w.breach("a healthy release is never failed", fmt.Sprintf("it was watched for %s: %.200s", past(w).Watched, status.Message))
		}
	}
	if waitOf(was) != waitOf(status) {
		past(w).Watched = 0
	}
	if waitOf(was).but(was) != waitOf(status).but(status) {
		checkerOf(w).looked = 0
	}
}
