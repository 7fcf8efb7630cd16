package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// hasUpdated reports whether there is something for updated pods to be in.
func (l *look) hasUpdated() bool { return l.update != nil }

// updated is how many of spec.replicas are wanted of the update revision.
func (l *look) updated() int32 {
	if l.update == nil {
		return 0
	}
	return min(l.update.Replicas, l.Workload.Replicas)
}

// updatedAvailable is how many updated pods are available, except those on their way out.
func (l *look) updatedAvailable() int32 { return min(l.update.Available, l.update.Replicas) }

// oldReplicas is how many pods are wanted of all versions except the one that is released.
func (l *look) oldReplicas() int32 {
	var total int32
	for _, set := range l.old {
		total += set.Replicas
	}
	return total
}

// unobserved reports whether the status of a ReplicaSet with pods is of another size than the one that it has.
func (l *look) unobserved() bool {
	return slices.ContainsFunc(l.Sets, func(s Set) bool { return s.Replicas > 0 && !s.Observed })
}

// setOf returns the ReplicaSet of a revision, nil if there is none.
func (l *look) setOf(revision string) *Set {
	i := slices.IndexFunc(l.Sets, func(s Set) bool { return s.Revision == revision && !s.Deleting })
	if i < 0 {
		return nil
	}
	return &l.Sets[i]
}

// count records the numbers of the update revision.
func count(d Decision) Decision {
	b := d.bounds()
	return d.with(func(r *record) {
		if d.update != nil {
			r.UpdatedReplicas = d.update.Current
			r.UpdatedReadyReplicas = d.update.Ready
			r.UpdatedAvailableReplicas = d.update.Available
		}
		r.MaxSurge, r.MaxUnavailable = fromInt(b.Surge), fromInt(b.Unavailable)
	})
}

func fromInt(n int32) *intstr.IntOrString {
	value := intstr.FromInt32(n)
	return &value
}

// countAll records the totals of all ReplicaSets.
func countAll(d Decision) Decision {
	var wanted, ready int32
	for i := range d.Sets {
		set := &d.Sets[i]
		wanted, ready = wanted+set.Replicas, ready+min(set.Ready, set.Replicas)
	}
	available := deployment.Available(d.Sets)
	return d.with(func(r *record) {
		r.ReadyReplicas, r.AvailableReplicas, r.UnavailableReplicas = ready, available, wanted-available
	})
}

// task is the target for the pods.
func (l *look) task(target int32) deployment.Task {
	t := deployment.Task{
		Sets:     l.Sets,
		Digest:   l.Workload.Digest,
		Replicas: l.Workload.Replicas,
		Bounds:   l.bounds(),
		Target:   target,
		Stable:   l.record.StableRevision,
		Mode: deployment.Mode{
			Rollback:     l.isRollback(),
			Rescaling:    l.rescaling(),
			Grown:        l.grown(),
			SteppingBack: l.stepsBack(),

			AwaitTermination: l.Release.Spec.Strategy.PodReplacement == v1alpha1.ReplaceWhenTerminated,
		},
	}
	if t.Grown {
		t.Reach = l.reach(target)
	}
	return t
}
