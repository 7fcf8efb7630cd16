package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// task is what the pods of the workload are to come to in this pass.
func (p *pass) task() deployment.Task {
	t := deployment.Task{
		Sets: p.Sets, Digest: p.Workload.Digest,
		Replicas: p.Workload.Replicas, Bounds: p.fence(),
		Target: p.target, Stable: p.status.StableRevision,
		Mode: deployment.Mode{
			Rollback: p.status.RollbackTo != "", Rescaling: p.rescaling(), Grown: p.grown(),
			Blocked: p.blocked, SteppingBack: p.stepsBack(),
			AwaitTermination: p.Release.Spec.Strategy.PodReplacement == v1alpha1.ReplaceWhenTerminated,
		},
	}
	if t.Grown {
		t.Reach = p.reach()
	}
	return t
}

// move brings the sets nearer to the target and to the others that it leaves.
func (p *pass) move() {
	p.change(deployment.Task.Move, p.tooSmall)
	if p.paused() {
		p.say(v1alpha1.ReasonPausePoint, p.pauseMessage())
	}
}

// keepScale follows spec.replicas in a failed release and otherwise leaves the pods as they are.
func (p *pass) keepScale() {
	p.change(deployment.Task.Keep, func(deployment.Sizes) bool { return false })
}
