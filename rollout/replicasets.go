package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// replicaSets implement parts for a Deployment.
type replicaSets struct{ d *deployment.Object }

var _ parts = replicaSets{}

func (p replicaSets) observe(ctx context.Context, r *kindShell, v *view) error {
	var list appsv1.ReplicaSetList
	err := r.client.List(ctx, &list, client.InNamespace(v.release.Namespace),
		client.MatchingFields{indexOwner: string(p.d.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list ReplicaSets: %w", err)
	}
	for _, set := range v.process.sets.List(pointers(list.Items)) {
		if ownedBy(set, p.d.UID) {
			v.sets = append(v.sets, set)
		} else { // of a Deployment that was there before
			v.process.sets.Forget(client.ObjectKeyFromObject(set))
		}
	}
	return nil
}

func (p replicaSets) read(ctx context.Context, r *kindShell, v *view) error {
	var list appsv1.ReplicaSetList
	selector, err := r.selector(ctx, v)
	if err != nil {
		return err
	}
	if err := r.live.List(ctx, &list, client.InNamespace(v.release.Namespace), selector); err != nil {
		return fmt.Errorf("read ReplicaSets: %w", err)
	}
	v.sets = nil
	for _, set := range pointers(list.Items) {
		set.ManagedFields = nil // as in the cache
		if ownedBy(set, p.d.UID) {
			v.sets = append(v.sets, set)
			v.setsLive[set.UID] = true
		}
	}
	v.process.sets.SawAll(v.sets)
	return nil
}

func (p replicaSets) mover(v *view) mover.Mover {
	m := deployment.From(p.d)
	for _, set := range v.sets {
		m.Sets = append(m.Sets, v.planSet(set))
	}
	return m
}

func (p replicaSets) size(*view) int32 { return p.d.Size() }

// revision returns the pod template hash of the Deployment's template: that of its ReplicaSet if
// it has one. One that was made by hand, and adopted, may lack the label.
func (p replicaSets) revision(v *view, digest string) string {
	if set := v.setOf(digest); set != nil && set.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != "" {
		return set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	}
	return foretold(p.d)
}

// foretell returns the hash of the ReplicaSet that has the template already, or the one that it is
// going to have.
func (replicaSets) foretell(v *view, answer workload.Workload, _ json.RawMessage, digest string) string {
	if set := v.setOf(digest); set != nil {
		return set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	}
	return answer.Foretell()
}

// template returns that of a ReplicaSet.
func (replicaSets) template(ctx context.Context, r *kindShell, v *view, revision string) (json.RawMessage, error) {
	i := slices.IndexFunc(v.sets, func(set *appsv1.ReplicaSet) bool {
		return set.Labels[appsv1.DefaultDeploymentUniqueLabelKey] == revision
	})
	if i < 0 {
		return nil, nil
	}
	set := v.sets[i]
	full := untyped("ReplicaSet", client.ObjectKeyFromObject(set))
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(set), full); err != nil {
		return nil, fmt.Errorf("read ReplicaSet %s: %w", set.Name, gone(err))
	}
	return hold.TemplateOfSet(full)
}

func (replicaSets) templates(v *view) []*corev1.PodTemplateSpec {
	var all []*corev1.PodTemplateSpec
	for _, set := range v.sets {
		all = append(all, &set.Spec.Template)
	}
	return all
}

// move carries out a write of the Deployment's mover.
func (replicaSets) move(ctx context.Context, r *kindShell, v *view, write mover.Write) error {
	w, known := write.(deployment.Write)
	if !known {
		return fmt.Errorf("write %T is not one to a Deployment", write)
	}
	switch w := w.(type) {
	case deployment.Scale:
		return r.mover.scale(ctx, v, w)
	case deployment.Create:
		return r.mover.createSet(ctx, v, w)
	case deployment.OrderPods:
		return r.mover.orderPods(ctx, v, w)
	}
	return nil
}

// failing lists the pods of the updated ReplicaSet that are not ready, and says why in a sentence.
func (p replicaSets) failing(ctx context.Context, r *kindShell, v *view) (string, error) {
	selector, err := r.selector(ctx, v)
	if err != nil {
		return "", err
	}
	digest, text := digestOfWorkload(p.d), ""
	for _, set := range v.sets {
		if digestOfSet(set) != digest {
			continue
		}
		var pods corev1.PodList
		if err := r.live.List(ctx, &pods, client.InNamespace(v.release.Namespace), selector); err != nil {
			return "", fmt.Errorf("read pods: %w", err)
		}
		text = describeFailing(podsOf(&pods, set.UID), int(ptr.Deref(set.Spec.Replicas, 1)), replicaFailure(set))
	}
	return text, nil
}

func (replicaSets) owns(v *view, pod *corev1.Pod) bool {
	return slices.ContainsFunc(v.sets, func(set *appsv1.ReplicaSet) bool { return ownedBy(pod, set.UID) })
}

// setOf returns the oldest ReplicaSet of a template, nil if there is none (FindNewReplicaSet of the
// native controller).
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

// failureOf returns why the ReplicaSet controller has failed to make or delete pods; nil if it has
// not.
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
