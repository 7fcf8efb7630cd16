package rollout

import (
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// view is what one pass sees of a release. What was read live, or answered to a write, in
// this pass is marked as live.
type view struct {
	process *process

	// release carries the status of the plan; persisted is the one that is stored.
	release   *v1alpha1.BatchRelease
	persisted v1alpha1.BatchReleaseStatus
	// gone says that the release was deleted for good in this pass.
	gone  bool
	given string

	deployment *appsv1.Deployment
	sets       []*appsv1.ReplicaSet
	setsLive   map[types.UID]bool
	gates      []v1alpha1.Gate
	scaled     time.Time
	// facts are passed on as they are.
	facts plan.Facts
}

// sawRelease takes over what a write to the release answered.
func (v *view) sawRelease(release *v1alpha1.BatchRelease) {
	v.process.release.Saw(release)
	v.persisted = *release.Status.DeepCopy()
	status := v.release.Status
	v.release = release.DeepCopy()
	v.release.Status = status
	v.facts.Live |= plan.ReadRelease
}

// sawSet takes over what a read of, or a write to, a ReplicaSet answered.
func (v *view) sawSet(set *appsv1.ReplicaSet) {
	v.process.sets.Saw(set)
	v.setsLive[set.UID] = true
	for i := range v.sets {
		if v.sets[i].UID == set.UID {
			v.sets[i] = set
			return
		}
	}
	v.sets = append(v.sets, set)
}

// set returns the ReplicaSet of a UID, nil if the view has none.
func (v *view) set(uid types.UID) *appsv1.ReplicaSet {
	for _, set := range v.sets {
		if set.UID == uid {
			return set
		}
	}
	return nil
}

// observation is the view as the plan takes it.
func (v *view) observation(now time.Time) plan.Observation {
	o := plan.Observation{
		Now:       now,
		Release:   v.release,
		Given:     v.given,
		Workload:  v.workload(),
		Gates:     v.gates,
		Facts:     v.facts,
		LastScale: v.scaled,
	}
	if v.process != nil {
		o.Refusals = v.process.refusals
		o.Watched = v.process.watches.Watched(&v.release.Status, now)
	}
	renewDigests(&o, v.renewed())
	return o
}

func (v *view) workload() *plan.Workload {
	d := v.deployment
	if d == nil {
		return nil
	}
	digest := digestOfDeployment(d)
	w := &plan.Workload{
		UID:                     d.UID,
		Name:                    d.Name,
		Behind:                  max(d.Generation-d.Status.ObservedGeneration, 0),
		Deleting:                d.DeletionTimestamp != nil,
		Replicas:                ptr.Deref(d.Spec.Replicas, 1),
		ProgressDeadlineSeconds: d.Spec.ProgressDeadlineSeconds,
		Digest:                  digest,
		Revision:                v.revisionOf(digest),
		ChangedBy:               changedBy(d),
		Hold:                    hold.Of(d),
		Mover:                   v.mover(),
	}
	w.MaxSurge, w.MaxUnavailable = hold.Limits(d, w.Hold)
	return w
}

// revisionOf is the pod template hash of the Deployment's template: that of its ReplicaSet if
// it has one. One that was made by hand, and adopted, may lack the label.
func (v *view) revisionOf(digest string) string {
	if set := v.setOf(digest); set != nil && set.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != "" {
		return set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	}
	return hashOfDeployment(v.deployment)
}

// setOf is the oldest ReplicaSet of a template, nil if there is none (FindNewReplicaSet of the native controller).
func (v *view) setOf(digest string) *appsv1.ReplicaSet {
	var found *appsv1.ReplicaSet
	for _, set := range v.sets {
		if digestOfSet(set) == digest && (found == nil || older(set, found)) {
			found = set
		}
	}
	return found
}

func older(a, b *appsv1.ReplicaSet) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// mover is the Deployment with its ReplicaSets.
func (v *view) mover() deployment.Mover {
	m := hold.Mover(v.deployment)
	for _, set := range v.sets {
		m.Sets = append(m.Sets, v.planSet(set))
	}
	return m
}

func (v *view) planSet(set *appsv1.ReplicaSet) deployment.Set {
	return deployment.Set{
		Name:      set.Name,
		UID:       set.UID,
		Live:      v.setsLive[set.UID],
		Deleting:  set.DeletionTimestamp != nil,
		Digest:    digestOfSet(set),
		Revision:  set.Labels[appsv1.DefaultDeploymentUniqueLabelKey],
		Created:   set.CreationTimestamp.Time,
		Replicas:  ptr.Deref(set.Spec.Replicas, 1),
		Observed:  set.Status.ObservedGeneration >= set.Generation,
		Current:   set.Status.Replicas,
		Ready:     set.Status.ReadyReplicas,
		Available: set.Status.AvailableReplicas,
		Noted:     set.Annotations[desiredAnnotation] != "",
		Failure:   failureOf(set),

		Terminating: set.Status.TerminatingReplicas,
	}
}

// failureOf is why the ReplicaSet controller has failed to make or delete pods; nil if it has not.
func failureOf(set *appsv1.ReplicaSet) *mover.Failure {
	i := slices.IndexFunc(set.Status.Conditions, func(c appsv1.ReplicaSetCondition) bool {
		return c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	c := &set.Status.Conditions[i]
	return &mover.Failure{Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time}
}

func ownedBy(obj metav1.Object, owner types.UID) bool {
	controller := metav1.GetControllerOf(obj)
	return controller != nil && controller.UID == owner
}

// number reads the number of a ControllerRevision's annotations; 0 if there is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
