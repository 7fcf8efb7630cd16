package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// LeavingGoal returns the goal of the traffic of a release that is handed back without a
// controller. Requests on their way get readySeconds where these are longer than drainSeconds. The
// release is nil if it is gone.
func LeavingGoal(release *v1alpha1.BatchRelease) traffic.Goal {
	var spec v1alpha1.Traffic
	if release != nil && release.Spec.Strategy.Traffic != nil {
		spec = *release.Spec.Strategy.Traffic
	}
	return traffic.Goal{
		Way: traffic.Leave, Patience: maxPatience,
		DrainFor: max(drainFor(spec.DrainSeconds), readyFor(spec.ReadySeconds)),
	}
}
