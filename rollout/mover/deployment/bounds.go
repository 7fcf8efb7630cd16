package deployment

import (
	"cmp"
	"math"

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

// space limits the pods of all versions together.
type space struct {
	replicas int32
	// most limits the pods: replicas + maxSurge (maxTotalPods in NewRSNewReplicas of the native
	// controller), or more if the steps ask for it.
	most int32
	// least counts the pods that must be available: replicas - maxUnavailable (minAvailable in
	// reconcileOldReplicaSets of the native controller).
	least int32
	// awaitTermination reports whether a pod makes room only once it is gone.
	awaitTermination bool
}

func spaceOf(t *mover.Task) space {
	return space{t.Replicas, max(t.Replicas+t.Surge, t.Most), t.Replicas - t.Unavailable, t.AwaitTermination}
}

// tight reports whether there may be no pod beyond replicas.
func (s space) tight() bool { return s.most <= s.replicas }

// room returns how many pods may be added to a set: most - all (NewRSNewReplicas). It is less than
// 0 if there are too many already. Unlike the native controller, which reckons with sizes alone, it
// counts what runs: pods that a write has taken away count until the ReplicaSet controller has
// deleted them. Where it is unknown how many that are, there is none, and nothing is known.
func (s space) room(t *table, of *row) (pods int32, known bool) {
	left := int64(s.most)
	for _, r := range t.rows() {
		if r != of && r.unsure() {
			return 0, false
		}
		left -= int64(r.peak())
		if s.awaitTermination && r.Terminating != nil {
			left -= int64(*r.Terminating)
		}
	}
	return int32(max(left, math.MinInt32)), true
}

// spare returns how many available pods may go: available - (replicas - maxUnavailable)
// (totalScaleDownCount in scaleDownOldReplicaSetsForRollingUpdate of the native controller).
func (s space) spare(t *table) int32 { return max(t.available()-s.least, 0) }

// brokenRoom returns how many unavailable old pods may go (maxScaledDown in reconcileOldReplicaSets
// of the native controller): all - (replicas - maxUnavailable) - unavailable updated pods.
func (s space) brokenRoom(t *table) int32 {
	missing := max(t.updated.want-t.updated.Available, 0)
	return max(t.total()-s.least-missing, 0)
}
