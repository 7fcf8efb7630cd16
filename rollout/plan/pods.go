package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// hasUpdated reports whether there is something for updated pods to be in.
func (l *look) hasUpdated() bool { return l.pods.Updated.Known }

// updated is how many of spec.replicas are wanted of the update revision.
func (l *look) updated() int32 { return min(l.pods.Updated.Wanted, l.Workload.Replicas) }

// updatedAvailable is how many updated pods are available, except those on their way out.
func (l *look) updatedAvailable() int32 { return l.pods.Updated.Staying }

// oldReplicas is how many pods are wanted of all versions except the one that is released.
func (l *look) oldReplicas() int32 { return l.pods.Others.Wanted }

// count records the numbers of the update revision, also while the workload has somebody else's template, as far as its kind can tell
// which pods those are then.
func count(d Decision) Decision {
	updated := d.pods.Updated
	if released := d.record.Resolved.Digest; d.Workload.Digest != released {
		updated = d.Workload.Mover.Count(released).Updated
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
	all := d.pods.All
	return d.with(func(r *record) {
		r.ReadyReplicas, r.AvailableReplicas, r.UnavailableReplicas = all.StayingReady, all.Staying, all.Wanted-all.Staying
	})
}

// task is the target for the pods.
func (l *look) task(target int32) mover.Task {
	t := mover.Task{
		Digest:   l.Workload.Digest,
		Revision: l.record.UpdateRevision,
		Replicas: l.Workload.Replicas,
		Bounds:   l.bounds(),
		Target:   target,
		Stable:   l.record.StableRevision,
		Mode: mover.Mode{
			Rollback:     l.isRollback(),
			Rescaling:    l.rescaling(),
			Grown:        l.grown(),
			SteppingBack: l.stepsBack(),

			AwaitTermination: l.awaitsTermination(),
		},
	}
	if t.Grown {
		t.Reach = l.reach(target)
	}
	if l.held() && !l.known(l.Workload.Hold.Foreign) {
		t.Foreign = l.Workload.Hold.Foreign
	}
	return t
}

// awaitsTermination reports whether a pod makes room for another only once it is gone.
func (l *look) awaitsTermination() bool {
	return l.Release.Spec.Strategy.PodReplacement == v1alpha1.ReplaceWhenTerminated
}
