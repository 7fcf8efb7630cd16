package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// More pods than a step says may run the new revision though nobody has approved them: where updated pods stay updated
// (mover.Counts.Final), the native controller makes them for what it lacks, whatever made room. That is told, and the release goes
// on: what the step says is approved, no more.

// stay is how many of the updated pods belong to a step that is entered now. Of those that stay updated whatever anybody
// does, it is only as many as were approved before.
func (l *look) stay() int32 {
	switch updated := l.pods.Updated.Wanted; {
	case !l.pods.Final || l.isRollback():
		return updated
	case l.entered():
		return min(updated, l.record.TargetReplicas)
	default:
		return 0
	}
}

// approved is how many pods the step lets run the new revision.
func (l *look) approved() int32 {
	return max(l.record.TargetReplicas, l.share().entered(l.Workload.Replicas))
}

// beyond says that more pods run the new revision than are approved, and stay; nil if it is not so.
func (l *look) beyond() *Event {
	if !l.mayGoBeyond() || !l.hasUpdated() || l.updated() <= l.approved() || !l.runBeyond() {
		return nil
	}
	kind := l.Release.Spec.WorkloadRef.Kind
	return &Event{Warning: true, Reason: v1alpha1.ReasonCameUpdated, Message: bounded(fmt.Sprintf(
		"%d of %d pods run revision %s, and batch %s approves %d: pods were added or lost while the %s was taken over, "+
			"and its controller makes pods of the new revision; they stay; to remove them: sluice rollback %s -n %s",
		l.updated(), l.Workload.Replicas, l.record.UpdateRevision, l.batchWord(), l.approved(), kind, l.Release.Name, l.Release.Namespace))}
}

// runBeyond reports whether pods beyond the step were seen to run. Pods that are only expected don't count: a DaemonSet whose
// template names fewer nodes counts those that it has left until its next sync (D6).
func (l *look) runBeyond() bool {
	seen := meta.IsStatusConditionTrue(l.Release.Status.Conditions, v1alpha1.ConditionBeyondStep)
	return seen || l.pods.Updated.Current > l.approved()
}

// mayGoBeyond reports whether a release is in a step of a workload whose updated pods stay updated.
func (l *look) mayGoBeyond() bool {
	return l.Workload != nil && l.pods.Final && l.held() && l.underWay() && l.entered() && !l.isRollback()
}

// setBeyond keeps the condition while it is so. While nobody can say which pods are updated, it stays as it is.
func (t *telling) setBeyond() {
	if t.mayGoBeyond() && !t.hasUpdated() {
		return
	}
	t.setOrDrop(v1alpha1.ConditionBeyondStep, t.beyond())
}

// beyondBegins reports whether people don't know yet that pods are beyond the step.
func (t *telling) beyondBegins() bool {
	return meta.FindStatusCondition(t.before.Conditions, v1alpha1.ConditionBeyondStep) == nil
}
