package hold

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// Mover returns a workload as its mover sees it, without its pods and what they are in.
func Mover(w workload.Workload) mover.Mover {
	switch o := w.(type) {
	case *workload.StatefulSet:
		return StatefulSet(o)
	case *workload.DaemonSet:
		return DaemonSet(o)
	case *workload.Deployment:
		return Deployment(o)
	default:
		return nil
	}
}

// Deployment returns a Deployment as its mover sees it, without its ReplicaSets.
func Deployment(d *workload.Deployment) deployment.Mover {
	return deployment.Mover{Paused: d.Spec.Paused, Recreate: d.Recreate(), Strategy: d.Own().Strategy}
}

// StatefulSet returns a StatefulSet as its mover sees it, without its pods and the digest of its
// template.
func StatefulSet(s *workload.StatefulSet) statefulset.Mover {
	partition, rolling := s.Rolling()
	status := &s.Status
	return statefulset.Mover{
		RollingUpdate: rolling, Partition: partition, AtOnce: atOnce(s), Window: window(s),
		OrderedReady: s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement, Current: s.Revision(status.CurrentRevision),
		Workload: inplace.Workload{
			Strategy: s.Own().Strategy, Observed: s.Seen() >= s.Generation && status.UpdateRevision != "", Replicas: s.Size(),
			Update: s.Revision(status.UpdateRevision), Status: inplace.Status{
				Current: status.Replicas, Ready: status.ReadyReplicas, Available: status.AvailableReplicas, Updated: status.UpdatedReplicas,
			},
		},
	}
}

// atOnce returns maxUnavailable that Sluice wrote: a number.
func atOnce(s *workload.StatefulSet) int32 {
	if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.MaxUnavailable != nil {
		return rolling.MaxUnavailable.IntVal
	}
	return 0
}

// window returns the partition that Sluice opened a StatefulSet to, as the annotation says. One
// that can't be read counts as none.
func window(s *workload.StatefulSet) int32 {
	held := Of(s)
	if held == nil || held.Window == "" {
		return inplace.Held
	}
	partition, err := strconv.ParseInt(held.Window, 10, 32)
	if err != nil || partition < inplace.Anywhere {
		return inplace.Held
	}
	return int32(partition)
}

// DaemonSet returns a DaemonSet as its mover sees it, without its pods, and the digest of its
// template and its name.
func DaemonSet(d *workload.DaemonSet) daemonset.Mover {
	status := &d.Status
	return daemonset.Mover{
		OnDelete: d.OnDelete(),
		Workload: inplace.Workload{
			Strategy: d.Own().Strategy, Observed: d.Seen() >= d.Generation, Replicas: d.Size(), Status: inplace.Status{
				Updated: status.UpdatedNumberScheduled, Ready: status.NumberReady, Available: status.NumberAvailable,
				Current: status.CurrentNumberScheduled, Misscheduled: status.NumberMisscheduled,
			},
		},
	}
}
