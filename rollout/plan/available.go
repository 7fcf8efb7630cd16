package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// tellPods says of the pods of all ReplicaSets what a Deployment says of its own: how many there are while a release
// is under way and at its end, and, whenever that changes, whether enough are available and why some can't be made.
// The Deployment itself can't: while it is held its strategy is another one, and of failures it says nothing.
func (p *pass) tellPods() {
	if p.Workload == nil || p.Workload.Deleting {
		p.drop(v1alpha1.ConditionAvailable)
		p.drop(v1alpha1.ConditionReplicaFailure)
		return
	}
	if p.status.Phase != v1alpha1.PhaseCompleted || p.Release.Status.Phase != v1alpha1.PhaseCompleted {
		p.countAll()
	}
	p.setAvailable()
	p.setReplicaFailure()
}

// countAll puts the totals of all ReplicaSets into the status.
func (p *pass) countAll() {
	var wanted, ready int32
	for i := range p.Sets {
		set := &p.Sets[i]
		wanted, ready = wanted+set.Replicas, ready+min(set.Ready, set.Replicas)
	}
	available := deployment.Available(p.Sets)
	p.status.ReadyReplicas, p.status.AvailableReplicas = ready, available
	p.status.UnavailableReplicas = wanted - available
}

// setAvailable says nothing of numbers: it is written when it changes, at rest too.
func (p *pass) setAvailable() {
	if deployment.Available(p.Sets) >= p.Workload.Replicas-p.fence().Unavailable {
		p.setCondition(v1alpha1.ConditionAvailable, true,
			"at least replicas - maxUnavailable pods are available", v1alpha1.ReasonMinimumAvailable)
		return
	}
	p.setCondition(v1alpha1.ConditionAvailable, false,
		"fewer than replicas - maxUnavailable pods are available", v1alpha1.ReasonMinimumUnavailable)
}

// setReplicaFailure keeps ReplicaFailure only while it is true, as a Deployment does. A ReplicaSet's own reason need
// not be one that a condition of ours may have.
func (p *pass) setReplicaFailure() {
	failure := deployment.NewestFailure(p.Sets)
	if failure == nil {
		p.drop(v1alpha1.ConditionReplicaFailure)
		return
	}
	reason := v1alpha1.ReasonFailedCreate
	if failure.Reason == v1alpha1.ReasonFailedDelete {
		reason = v1alpha1.ReasonFailedDelete
	}
	p.setCondition(v1alpha1.ConditionReplicaFailure, true, failure.Message, reason)
}
