package deployment

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// DefaultBound is what a Deployment has for maxSurge and maxUnavailable by default.
var DefaultBound = intstr.FromString("25%")

// Bounds makes pods of maxSurge (rounded up) and maxUnavailable (rounded down) as the native
// controller does (ResolveFenceposts in pkg/controller/deployment/util): where both come out as 0,
// one pod may be unavailable.
func (Mover) Bounds(surge, unavailable *intstr.IntOrString, replicas int32) mover.Bounds {
	b := mover.Bounds{
		Surge:       scaled(surge, replicas, true),
		Unavailable: min(scaled(unavailable, replicas, false), replicas),
	}
	if b.Surge == 0 && b.Unavailable == 0 {
		b.Unavailable = 1
	}
	return b
}

// scaled returns 0 for a value that can't be read; the API refuses such a value on input.
func scaled(value *intstr.IntOrString, replicas int32, roundUp bool) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(cmp.Or(value, &DefaultBound), int(replicas), roundUp)
	if err != nil {
		return 0
	}
	return max(int32(n), 0)
}
