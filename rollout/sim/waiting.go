package sim

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// endlessScaling reports whether the native controller has brought itself to see a scaling event
// for ever. It never renews the note of a lone active ReplicaSet which has the size that somebody
// scales to (scale and scaleReplicaSet in sync.go), and rolls nothing until somebody scales to
// another size. Sluice leaves no such note behind; of a workload that nobody has held since, it is
// between the native controller and its user.
func endlessScaling(w *World) bool {
	return w.noted && w.Workload.Hold == nil && w.native().scalingEvent()
}

// revertPause is how long the planner keeps a template reverted before it reverts it again.
const revertPause = 10 * time.Minute

// awaitsRevert reports whether drift is reverted only once time has passed.
func (s *State) awaitsRevert() bool {
	status := s.Release.Status
	return saidDrifted(s.World) && s.Release.Spec.Drift == v1alpha1.DriftRevert && status.Rollback != nil &&
		status.Rollback.Trigger == v1alpha1.TriggerDrift && s.Now.Before(status.LastUpdateTime.Add(revertPause))
}

// saidDrifted reports whether the status says that the workload does not run what was released.
func saidDrifted(w *World) bool {
	return meta.IsStatusConditionTrue(w.Release.Status.Conditions, v1alpha1.ConditionDrifted)
}
