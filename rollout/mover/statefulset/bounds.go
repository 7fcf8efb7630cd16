package statefulset

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// DefaultUnavailable is what a StatefulSet has for maxUnavailable by default.
var DefaultUnavailable = intstr.FromInt32(1)

// Bounds makes pods of maxUnavailable as the native controller does (getStatefulSetMaxUnavailable):
// rounded down, and at least one. A StatefulSet has no surge.
func (Mover) Bounds(_, unavailable *intstr.IntOrString, replicas int32) mover.Bounds {
	n, err := intstr.GetScaledValueFromIntOrPercent(cmp.Or(unavailable, &DefaultUnavailable), int(replicas), false)
	if err != nil { // whoever takes the value in refuses it
		n = 0
	}
	return mover.Bounds{Unavailable: int32(min(max(n, 1), int(replicas)))}
}
