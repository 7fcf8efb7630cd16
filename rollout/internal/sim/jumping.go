package sim

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// jumpedBack reports whether a step stands as passed by the record of a jump back to one after it.
func jumpedBack(status *v1alpha1.BatchReleaseStatus, index int) bool {
	jump := status.Jump
	return jump != nil && jump.Attempt == status.Attempt && jump.To <= jump.From && int32(index) < jump.To
}

// jumpedOver reports whether the gates of a step that can be skipped are answered by the record of a jump beyond it.
func jumpedOver(status *v1alpha1.BatchReleaseStatus, index int) bool {
	jump := status.Jump
	return jump != nil && jump.Attempt == status.Attempt && jump.From <= int32(index) && int32(index) < jump.To
}

// judgeJump: what counts as evidence a person has asked for.
func (w *World) judgeJump(status *v1alpha1.BatchReleaseStatus) {
	was := w.Release.Status.Jump
	if jump := status.Jump; jump != nil && jump.Attempt > 0 && (was == nil || *was != *jump) && w.Past.Asked&(1<<jump.To) == 0 {
		w.breach("I3 a jump is asked for", fmt.Sprintf("to step %d", jump.To))
	}
}
