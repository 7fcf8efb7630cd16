package preview

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// unknownSize returns a note where the pods are not known.
func (c *Change) unknownSize() string {
	if c.WorkloadKind == "DaemonSet" {
		return "A DaemonSet has a pod on each of its nodes: how many there are is not known without --cluster."
	}
	return "The " + c.WorkloadKind + " is not in the repository: how many pods it has is not known."
}

// foresee adds the batches, with pods where the workload's manifest says how many there are.
func (c *Change) foresee() {
	if !c.release.HasWorkload() || c.WorkloadKind == "DaemonSet" {
		c.note(c.unknownSize())
		c.batches(nil)
		return
	}
	workload, err := workloadOf(c.release)
	if err != nil {
		c.note("The " + c.WorkloadKind + " can't be read: the API server refuses it, and sluice lint says why.")
		return
	}
	c.batches(workload)
}

// batches foresees them for a workload; nil if it is not known.
func (c *Change) batches(workload *plan.Workload) {
	known := workload != nil
	if known {
		c.Replicas = new(workload.Replicas)
	} else {
		workload = &plan.Workload{Mover: moverOf(c.WorkloadKind)}
	}
	rollback := c.Kind == RolledBack
	forecast := plan.ForecastOf(c.object, workload, rollback)
	c.Surge, c.Unavailable, c.Batches = forecast.Surge, forecast.Unavailable, nil
	for i, share := range plan.Shares(c.object, rollback) {
		c.Batches = append(c.Batches, batchOf(&forecast.Batches[i], share, known))
	}
	c.share(rollback, forecast.Batches)
}

// moverOf returns the mover of a kind, which knows what limits come to.
func moverOf(kind string) mover.Mover {
	switch kind {
	case kinds.StatefulSet:
		return statefulset.Mover{}
	case kinds.DaemonSet:
		return daemonset.Mover{}
	default:
		return deployment.Mover{}
	}
}

// workloadOf returns what the manifest of a workload says of its size, with the API server's
// defaults.
func workloadOf(release *spec.Release) (*plan.Workload, error) {
	workload := &plan.Workload{Name: release.Workload, Replicas: 1, Mover: moverOf(release.WorkloadKind)}
	if release.WorkloadKind == kinds.StatefulSet {
		return workload, sizeOfStatefulSet(workload, release)
	}
	d, err := decode[appsv1.Deployment](release.WorkloadObject())
	if err != nil {
		return nil, err
	}
	if d.Spec.Replicas != nil {
		workload.Replicas = *d.Spec.Replicas
	}
	if rolling := d.Spec.Strategy.RollingUpdate; rolling != nil {
		workload.MaxSurge, workload.MaxUnavailable = rolling.MaxSurge, rolling.MaxUnavailable
	}
	return workload, nil
}

func sizeOfStatefulSet(workload *plan.Workload, release *spec.Release) error {
	s, err := decode[appsv1.StatefulSet](release.WorkloadObject())
	if err != nil {
		return err
	}
	if s.Spec.Replicas != nil {
		workload.Replicas = *s.Spec.Replicas
	}
	if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		workload.MaxUnavailable = rolling.MaxUnavailable
	}
	return nil
}
