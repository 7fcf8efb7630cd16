package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/jsonpatch"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// revisionAnnotation is where the native controller counts the revisions of a Deployment.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// desiredAnnotation is where the native controller notes for how many replicas of the Deployment
// it has scaled a ReplicaSet. It takes another number there for a scaling to finish first.
const desiredAnnotation = "deployment.kubernetes.io/desired-replicas"

// notCopied are the annotations of a Deployment that its ReplicaSets don't get, as in the
// native controller (skipCopyAnnotation in pkg/controller/deployment/util of Kubernetes).
// desired-replicas in particular, on the new ReplicaSet, would send every old one to 0.
var notCopied = []string{
	corev1.LastAppliedConfigAnnotation,
	revisionAnnotation,
	"deployment.kubernetes.io/revision-history",
	desiredAnnotation,
	"deployment.kubernetes.io/max-replicas",
	appsv1.DeprecatedRollbackTo,
	v1alpha1.HoldAnnotation,
}

// scale changes the replicas of a ReplicaSet if they still are as decided on.
func (r *podWriter) scale(ctx context.Context, v *view, a deployment.Scale) error {
	set := v.set(a.Set.UID)
	if set == nil || ptr.Deref(set.Spec.Replicas, 1) != a.From {
		return errOutdated
	}
	patch, err := kube.PatchOf(resizing(set, a))
	if err != nil {
		return err
	}
	grows := a.To > a.From
	if r.clock.Since(v.process.setsAsAsked) > setsMemory || grows && v.process.grown != set.UID {
		foreseen, err := r.patchSet(ctx, v, set, patch, client.DryRunAll)
		if err != nil {
			return err
		}
		if digestOfSet(foreseen) != digestOfSet(set) { // its pods would come of what admission makes of the template
			return &rewritten{fields: []string{"spec.template of the ReplicaSet"}}
		}
		if err := r.overtaken(ctx, v); err != nil { // the workload may have another size by now
			return err
		}
	}
	if a.To < a.From {
		if err := r.setsOvertaken(ctx, v); err != nil {
			return err
		}
	}
	v.process.setsAsAsked = time.Time{}
	if grows {
		v.process.grown = ""
	}
	written, err := r.patchSet(ctx, v, set, patch)
	if err != nil {
		return err
	}
	v.sawSet(written)
	v.process.scaled = r.clock.Now()
	switch {
	case digestOfSet(written) != digestOfSet(set):
		return errors.Join(&rewritten{fields: []string{"spec.template of the ReplicaSet"}, written: true}, r.shrinkBack(ctx, v, written, a.From))
	case sizeOf(written) != a.To:
		return &rewritten{fields: []string{"spec.replicas"}, written: true}
	default:
		v.process.setsAsAsked = r.clock.Now()
		if grows {
			v.process.grown = set.UID
		}
		return nil
	}
}

// setsMemory limits how long the answer to one write of a ReplicaSet stands for the dry run of the
// next: longer than a batch of many releases at once takes. Only growth of the same ReplicaSet
// stands for more growth: admission may look at that alone.
const setsMemory = time.Minute

// patchSet patches a ReplicaSet, and returns the answer.
func (r *podWriter) patchSet(
	ctx context.Context, v *view, set *appsv1.ReplicaSet, patch client.Patch, options ...client.PatchOption,
) (*appsv1.ReplicaSet, error) {
	answer := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name}}
	if err := r.wroteSet(ctx, v, set, kube.OutcomeOf(r.client.Patch(ctx, answer, patch, options...))); err != nil {
		return nil, fmt.Errorf("patch ReplicaSet: %w", err)
	}
	return answer, nil
}

// shrinkBack takes a ReplicaSet back to a size at once, before more pods come of a template that
// admission has changed.
func (r *podWriter) shrinkBack(ctx context.Context, v *view, set *appsv1.ReplicaSet, size int32) error {
	if sizeOf(set) <= size {
		return nil
	}
	back := new(jsonpatch.Patch).Test("/metadata/uid", set.UID).Test("/metadata/generation", set.Generation).Set("/spec/replicas", size)
	patch, err := kube.PatchOf(back)
	if err != nil {
		return err
	}
	written, err := r.patchSet(ctx, v, set, patch)
	if err == nil {
		v.sawSet(written)
	}
	return err
}

// resizing returns a patch that holds only for the spec that was decided on. Where pods go because
// they are not available, it holds only for the same numbers of available and ready pods too: a
// ReplicaSet deletes unavailable pods first. If all are available, the status is left out, since it
// changes all the time and each change would cost a conflict.
func resizing(set *appsv1.ReplicaSet, a deployment.Scale) *jsonpatch.Patch {
	patch := new(jsonpatch.Patch).
		Test("/metadata/uid", set.UID).
		Test("/metadata/generation", set.Generation)
	if a.To < a.From && set.Status.AvailableReplicas < a.From {
		patch.Test("/status/availableReplicas", orNone(set.Status.AvailableReplicas)).
			Test("/status/readyReplicas", orNone(set.Status.ReadyReplicas))
	}
	if _, noted := set.Annotations[desiredAnnotation]; noted {
		patch.Remove(jsonpatch.AnnotationPath(desiredAnnotation)) // it speaks of a scaling that is not ours
	}
	return patch.Set("/spec/replicas", a.To)
}

// orNone returns how JSON has a count that is left out when it is 0.
func orNone(count int32) any {
	if count == 0 {
		return nil
	}
	return count
}

// maxCollisions is how many names are tried for one template.
const maxCollisions = 5

// createSet makes the ReplicaSet of the Deployment's template as the native controller would.
func (r *podWriter) createSet(ctx context.Context, v *view, a deployment.Create) error {
	if v.wholeTemplate() == nil {
		decided := v.workload.GetResourceVersion()
		if err := r.readWorkload(ctx, v); err != nil {
			return err
		}
		if v.workload == nil || v.workload.GetResourceVersion() != decided {
			return errOutdated
		}
	}
	d, is := v.workload.(*deployment.Object)
	if !is {
		return fmt.Errorf("a %s has no ReplicaSets", v.workload.Kind())
	}
	hash := a.Revision
	for collisions := range int32(maxCollisions) {
		set, err := newSet(v, d, hash, a.Replicas)
		if err != nil {
			return err
		}
		if taken, err := r.tryCreateSet(ctx, v, set); !taken {
			return err
		}
		count := ptr.Deref(d.Status.CollisionCount, 0) + collisions + 1
		hash = podtemplate.Hash(&d.Spec.Template, &count)
	}
	return fmt.Errorf("no free name for the ReplicaSet of revision %s", a.Revision)
}

// tryCreateSet creates a ReplicaSet, or finds it created before the cache knew. It reports whether
// another one has the name.
func (r *podWriter) tryCreateSet(ctx context.Context, v *view, set *unstructured.Unstructured) (taken bool, err error) {
	err = r.dryRunSet(ctx, set)
	if err == nil {
		err = r.overtaken(ctx, v)
	}
	if err == nil {
		asked := set.DeepCopy()
		if err = r.client.Create(ctx, set); err == nil {
			return false, r.madeSet(ctx, v, asked, set)
		}
	}
	if !apierrors.IsAlreadyExists(err) {
		return false, fmt.Errorf("create ReplicaSet: %w", err)
	}
	var existing appsv1.ReplicaSet
	if err := r.readTaken(ctx, client.ObjectKeyFromObject(set), &existing, err); err != nil {
		return false, err
	}
	if ownedBy(&existing, v.workload.GetUID()) && digestOfSet(&existing) == digestOfWorkload(v.workload) {
		v.sawSet(&existing)
		return false, nil
	}
	return true, nil
}

// madeSet takes over a ReplicaSet that was made.
func (r *podWriter) madeSet(ctx context.Context, v *view, asked, answer *unstructured.Unstructured) error {
	made := &appsv1.ReplicaSet{}
	if err := typed(answer, made); err != nil {
		return err
	}
	v.sawSet(made)
	v.process.scaled = r.clock.Now()
	other := otherSet(asked, answer, true)
	if other == nil {
		v.process.setsAsAsked = r.clock.Now()
		return nil
	}
	return errors.Join(other, r.shrinkBack(ctx, v, made, 0))
}

// dryRunSet asks the API server for the result of creating a ReplicaSet. One with another template
// would not be found again, and the next would be made beside it.
func (r *podWriter) dryRunSet(ctx context.Context, set *unstructured.Unstructured) error {
	foreseen := set.DeepCopy()
	if err := r.client.Create(ctx, foreseen, client.DryRunAll); err != nil {
		return err
	}
	return otherSet(set, foreseen, false)
}

// newSet returns the ReplicaSet of the Deployment's template, which it has whole.
func newSet(v *view, d *deployment.Object, hash string, replicas int32) (*unstructured.Unstructured, error) {
	labels := withHash(d.Spec.Template.Labels, hash)
	selector := d.Spec.Selector.DeepCopy()
	selector.MatchLabels = withHash(selector.MatchLabels, hash)
	return withTemplate(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       d.Namespace,
			Name:            setName(d.Name, hash),
			Labels:          labels,
			Annotations:     setAnnotations(v),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas:        &replicas,
			MinReadySeconds: d.Spec.MinReadySeconds,
			Selector:        selector,
		},
	}, v.wholeTemplate(), labels)
}

// setName returns the name that the native controller gives the ReplicaSet of a Deployment
// (generateReplicaSetName in pkg/controller/deployment of Kubernetes): a long name of the
// Deployment is cut.
func setName(deployment, hash string) string {
	if room := validation.DNS1123SubdomainMaxLength - len("-") - len(hash); room > 0 {
		deployment = deployment[:min(len(deployment), room)]
	}
	return deployment + "-" + hash
}

func withHash(labels map[string]string, hash string) map[string]string {
	all := maps.Clone(labels)
	if all == nil {
		all = map[string]string{}
	}
	all[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	return all
}

// setAnnotations returns the Deployment's, with the number of the revision.
func setAnnotations(v *view) map[string]string {
	all := maps.Clone(v.workload.GetAnnotations())
	if all == nil {
		all = map[string]string{}
	}
	for _, key := range notCopied {
		delete(all, key)
	}
	latest := int64(0)
	for _, set := range v.sets {
		latest = max(latest, number(set.Annotations[revisionAnnotation]))
	}
	all[revisionAnnotation] = strconv.FormatInt(latest+1, 10)
	return all
}
