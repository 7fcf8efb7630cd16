package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// count records the numbers of the update revision, also while the workload has another writer's
// template, if its kind can tell which pods those are then.
func count(d Decision) Decision {
	updated := d.snap.pods.Updated
	if released := d.snap.record.Resolved.Digest; d.snap.workload.Digest != released {
		updated = d.snap.workload.Mover.Count(released).Updated
	}
	return d.with(func(r *record) {
		if updated.Known {
			r.UpdatedReplicas = updated.Current
			r.UpdatedReadyReplicas = updated.Ready
			r.UpdatedAvailableReplicas = updated.Available
		}
	})
}

// countAll records the totals of all versions.
func countAll(d Decision) Decision {
	all := d.snap.pods.All
	return d.with(func(r *record) {
		r.ReadyReplicas, r.AvailableReplicas, r.UnavailableReplicas = all.StayingReady, all.Staying, all.Wanted-all.Staying
	})
}

// taskOf returns the task of a target for the pods.
func taskOf(s *snapshot, target int32) mover.Task {
	t := mover.Task{
		Digest:   s.workload.Digest,
		Revision: s.record.UpdateRevision,
		Replicas: s.workload.Replicas,
		Bounds:   s.steps().bounds(),
		Target:   target,
		Stable:   s.record.StableRevision,
		Mode: mover.Mode{
			Rollback:     s.record.isRollback(),
			Rescaling:    rescaling(s),
			Grown:        hasGrown(s),
			SteppingBack: s.steps().steppingBack(),

			AwaitTermination: awaitsTermination(s),
		},
	}
	if t.Grown {
		t.Reach = reach(s, target)
	}
	if s.hold().held() && !knownRevision(s, s.workload.Hold.Foreign) {
		t.Foreign = s.workload.Hold.Foreign
	}
	return t
}

// awaitsTermination reports whether a pod makes room for another only once it is gone.
func awaitsTermination(s *snapshot) bool {
	return s.release.Spec.Strategy.PodReplacement == v1alpha1.ReplaceWhenTerminated
}

// More pods than a step says may run the new revision without an approval: where updated pods stay
// updated (mover.Counts.Final), the native controller makes them for any that it lacks. That is
// reported, and the release goes on: the step's share is approved, and no more.

// podsAtEntry returns how many of the updated pods belong to a step that is entered now. If updated
// pods stay updated, only as many as were approved before belong to it.
func podsAtEntry(s *snapshot) int32 {
	switch updated := s.pods.Updated.Wanted; {
	case !s.pods.Final || s.record.isRollback():
		return updated
	case s.record.entered():
		return min(updated, s.record.TargetReplicas)
	default:
		return 0
	}
}

// approvedPods returns how many pods the step lets run the new revision.
func approvedPods(s *snapshot) int32 {
	return max(s.record.TargetReplicas, s.steps().share().entered(s.workload.Replicas))
}

// beyondStep reports that more pods run the new revision than are approved, and stay; nil if not.
func beyondStep(r *report) *Event {
	s := r.s
	if !mayGoBeyond(s) || !s.pods.hasUpdated() || s.pods.updated() <= approvedPods(s) || !runBeyond(s) {
		return nil
	}
	kind := s.release.Spec.WorkloadRef.Kind
	return &Event{Warning: true, Reason: v1alpha1.ReasonCameUpdated, Message: bounded(fmt.Sprintf(
		"%d of %d pods run revision %s, and batch %s approves %d: pods were added or lost while the %s was taken over, "+
			"and its controller makes pods of the new revision; they stay; to remove them: sluice rollback %s -n %s",
		s.pods.updated(), s.workload.Replicas, s.record.UpdateRevision, batchNumber(s), approvedPods(s), kind, s.release.Name, s.release.Namespace))}
}

// runBeyond reports whether pods beyond the step were seen to run. Expected pods don't count: a
// DaemonSet whose template names fewer nodes counts those that it has left until its next sync
// (D6).
func runBeyond(s *snapshot) bool {
	seen := meta.IsStatusConditionTrue(s.release.Status.Conditions, v1alpha1.ConditionBeyondStep)
	return seen || s.pods.Updated.Current > approvedPods(s)
}

// mayGoBeyond reports whether a release is in a step of a workload whose updated pods stay updated.
func mayGoBeyond(s *snapshot) bool {
	return s.workload != nil && s.pods.Final && s.hold().held() && s.record.underWay() && s.record.entered() && !s.record.isRollback()
}
