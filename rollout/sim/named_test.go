package sim

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// judgeNamed checks I18: at rest, at a gate or at the end, the version that the status names has as
// many pods as the status says. At the end, a workload with the template of that version is left to
// the native controller, which never gets over a broken pod of a foreign template (S4).
func judgeNamed(w *World) {
	d, status := &w.Workload, w.Release.Status
	if w.Release.Purged || !allSettled(w) || doubled(w) {
		return
	}
	completed := status.State == v1alpha1.StateCompleted && d.Hold == nil && !saidDrifted(w) && !same(d.Template, status.UpdateRevision)
	if blocked := status.State == v1alpha1.StateBlocked && d.Hold != nil && !d.Hold.Emptied; !completed && !blocked {
		return
	}
	least := min(status.UpdatedReplicas, byKind(d).wanted(w))
	if n := podsOf(w, status.UpdateRevision); n < least {
		w.breach("I18 the pods run what the status names", fmt.Sprintf("%s has %d pods, the status tells of %d", status.UpdateRevision, n, least))
	}
}
