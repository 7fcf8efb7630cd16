package preview

import (
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// unknownSize returns a note where the pods are not known.
func (c *Change) unknownSize() string {
	if preflight.FollowsNodes(c.WorkloadKind) {
		return "A " + c.WorkloadKind + " has a pod on each of its nodes: how many there are is not known without --cluster."
	}
	return "The " + c.WorkloadKind + " is not in the repository: how many pods it has is not known."
}

// foresee adds the batches, with pods where the workload's manifest says how many there are.
func (c *Change) foresee() {
	if !c.release.HasWorkload() || preflight.FollowsNodes(c.WorkloadKind) {
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
	w := workload.New(kind)
	if w == nil { // lint refuses it
		w = workload.New(kinds.All[0].Name)
	}
	return w.Mover("")
}

// workloadOf returns what the manifest of a workload says of its size, with the API server's
// defaults.
func workloadOf(release *spec.Release) (*plan.Workload, error) {
	kind, object := kinds.Named(release.WorkloadKind), release.WorkloadObject()
	w := kind.New()
	if err := decode(object, w); err != nil {
		return nil, err
	}
	sizes := kind.Sizes(w)
	sized := &plan.Workload{
		Name: release.Workload, Replicas: 1, Mover: moverOf(release.WorkloadKind), MaxSurge: sizes.MaxSurge, MaxUnavailable: sizes.MaxUnavailable,
	}
	if sizes.Replicas != nil {
		sized.Replicas = *sizes.Replicas
	}
	return sized, nil
}
