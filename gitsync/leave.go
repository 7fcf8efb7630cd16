package gitsync

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
)

// leave deletes what came from a source that is being deleted, unless it is to stay, and lets the
// source go once all of it is gone: until then its credentials are needed to close what is open on
// its forge.
func (r *Reconciler) leave(ctx context.Context, source *v1alpha1.ReleaseSource) (reconcile.Result, error) {
	r.memories.forget(client.ObjectKeyFromObject(source))
	if !controllerutil.ContainsFinalizer(source, v1alpha1.SourceFinalizer) {
		return reconcile.Result{}, nil
	}
	if source.Spec.DeletionPolicy != v1alpha1.SourceOrphan {
		left, err := r.deleteReleases(ctx, source)
		if err != nil {
			return reconcile.Result{}, err
		}
		if left != (leaving{}) {
			_, err := r.record(ctx, source, left) // what is left wakes us when it goes
			return reconcile.Result{}, err
		}
	}
	gone, err := r.setFinalizer(ctx, source, false)
	if err != nil || gone {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: soon}, nil
}

// deleteReleases deletes the releases of a source, as the controller itself: the account that made
// them may be gone already. It says what is left of them, and of their gates. Nothing is made of
// a source that is being deleted, so a live read shows everything.
func (r *Reconciler) deleteReleases(ctx context.Context, source *v1alpha1.ReleaseSource) (leaving, error) {
	var left leaving
	for _, namespace := range r.specOptions(source).Namespaces() {
		mine := client.MatchingLabels{v1alpha1.SourceLabel: source.LabelIn(namespace)}
		var list v1alpha1.BatchReleaseList
		if err := r.live.List(ctx, &list, client.InNamespace(namespace), mine); err != nil {
			return leaving{}, fmt.Errorf("list releases of the source in %s: %w", namespace, err)
		}
		follows := map[string]bool{}
		made := slices.DeleteFunc(list.Items, func(b v1alpha1.BatchRelease) bool {
			follows[b.Name] = b.Spec.Follow != ""
			return follows[b.Name]
		})
		for i := range made {
			if err := r.deleteRelease(ctx, &made[i]); err != nil {
				return leaving{}, err
			}
		}
		var held v1alpha1.GateList
		if err := r.live.List(ctx, &held, client.InNamespace(namespace), mine); err != nil {
			return leaving{}, fmt.Errorf("list gates of the source in %s: %w", namespace, err)
		}
		gates := slices.DeleteFunc(held.Items, func(g v1alpha1.Gate) bool {
			return follows[g.Spec.ReleaseRef.Name] && g.DeletionTimestamp == nil // it stays with its release
		})
		left.releases, left.gates = left.releases+len(made), left.gates+len(gates)
	}
	return left, nil
}

func (r *Reconciler) deleteRelease(ctx context.Context, release *v1alpha1.BatchRelease) error {
	if release.DeletionTimestamp != nil {
		return nil
	}
	err := r.client.Delete(ctx, release, client.Preconditions{UID: &release.UID})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) { // another of its name is listed the next time
		return fmt.Errorf("delete BatchRelease %s: %w", client.ObjectKeyFromObject(release), err)
	}
	return nil
}

// setFinalizer adds the finalizer of a source, or removes it, and reports false if the source is
// not what it was.
func (r *Reconciler) setFinalizer(ctx context.Context, source *v1alpha1.ReleaseSource, kept bool) (bool, error) {
	if controllerutil.ContainsFinalizer(source, v1alpha1.SourceFinalizer) == kept {
		return true, nil
	}
	wanted := source.DeepCopy()
	if kept {
		controllerutil.AddFinalizer(wanted, v1alpha1.SourceFinalizer)
	} else {
		controllerutil.RemoveFinalizer(wanted, v1alpha1.SourceFinalizer)
	}
	outcome := kube.Patch(ctx, r.client, source, wanted, client.FieldOwner(v1alpha1.OwnerGitsync))
	switch outcome.(type) {
	case kube.Written, kube.Unchanged:
		*source = *wanted
		return true, nil
	case kube.Outdated, kube.Gone:
		return false, nil
	case kube.Refused, kube.Failed:
	}
	return false, fmt.Errorf("write finalizer of ReleaseSource: %w", kube.Err(outcome))
}

// deletions lets through that something is gone.
func deletions() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// leavingSources returns those that are being deleted and that something came from.
func (r *Reconciler) leavingSources(ctx context.Context, object client.Object) []reconcile.Request {
	label := object.GetLabels()[v1alpha1.SourceLabel]
	if label == "" {
		return nil
	}
	var sources v1alpha1.ReleaseSourceList
	if err := r.client.List(ctx, &sources, client.UnsafeDisableDeepCopy); err != nil {
		return nil // only possible before the cache has started, when everything is queued anyway
	}
	var waiting []reconcile.Request
	for i := range sources.Items {
		source := &sources.Items[i]
		if source.DeletionTimestamp != nil && source.LabelIn(object.GetNamespace()) == label {
			waiting = append(waiting, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(source)})
		}
	}
	return waiting
}
