package rollout

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// openGate creates a Gate with a nonce, or finds it created before the cache knew.
func (r *objectWriter) openGate(ctx context.Context, v *view, a plan.OpenGate) error {
	gate := &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v.release.Namespace,
			Name:      a.Name,
			Labels:    map[string]string{v1alpha1.ReleaseLabel: v.release.Name, v1alpha1.RevisionLabel: a.Spec.Revision},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(v.release, v1alpha1.GroupVersion.WithKind("BatchRelease")),
			},
		},
		Spec: *a.Spec.DeepCopy(), // the API server's answer is decoded into it
	}
	gate.Spec.Nonce = rand.Text()
	err := r.client.Create(ctx, gate)
	if apierrors.IsAlreadyExists(err) {
		return r.refreshGate(ctx, v, gate, err)
	}
	if err != nil {
		return fmt.Errorf("create Gate: %w", err)
	}
	gate.ManagedFields = nil // as in the cache
	v.process.gates.Saw(gate)
	v.gates = append(v.gates, *gate)
	if a.Spec.Nonce = gate.Spec.Nonce; !equality.Semantic.DeepEqual(gate.Spec, a.Spec) {
		return &rewritten{fields: []string{"spec"}, written: true}
	}
	return nil
}

// refreshGate remembers the gate that has the name. One that is bound to something else, left by
// somebody who made it by hand or by a release object of the same name, makes room, but not one of
// another release that is there. One that is being deleted is shown to the plan, which waits: the
// watch says when it is gone.
func (r *objectWriter) refreshGate(ctx context.Context, v *view, wanted *v1alpha1.Gate, answer error) error {
	var existing v1alpha1.Gate
	if err := r.readTaken(ctx, client.ObjectKeyFromObject(wanted), &existing, answer); err != nil {
		return err
	}
	if existing.DeletionTimestamp != nil {
		v.gates = append(v.gates, existing)
		return nil
	}
	if existing.Spec.ReleaseRef == wanted.Spec.ReleaseRef && existing.Spec.Attempt == wanted.Spec.Attempt {
		v.process.gates.Saw(&existing)
		return errOutdated
	}
	if other, err := r.releaseOfGate(ctx, &existing); err != nil || other && existing.Spec.ReleaseRef.UID != v.release.UID {
		return cmp.Or(err, error(&takenError{"Gate " + existing.Name, "BatchRelease " + existing.Spec.ReleaseRef.Name}))
	}
	if err := r.client.Delete(ctx, &existing, client.Preconditions{UID: &existing.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Gate %s: %w", existing.Name, err)
	}
	return errOutdated
}

// releaseOfGate reports whether the release is there that a gate is bound to.
func (r *objectWriter) releaseOfGate(ctx context.Context, gate *v1alpha1.Gate) (bool, error) {
	var release v1alpha1.BatchRelease
	err := r.client.Get(ctx, client.ObjectKey{Namespace: gate.Namespace, Name: gate.Spec.ReleaseRef.Name}, &release, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get BatchRelease: %w", err)
	}
	return err == nil && release.UID == gate.Spec.ReleaseRef.UID, nil
}

// closeGate deletes a gate as it was decided on: an approval that came since is evidence.
func (r *objectWriter) closeGate(ctx context.Context, v *view, a plan.CloseGate) error {
	i := slices.IndexFunc(v.gates, func(g v1alpha1.Gate) bool { return g.Name == a.Name })
	if i < 0 {
		return errOutdated
	}
	gate := v.gates[i].DeepCopy()
	err := r.client.Delete(ctx, gate, client.Preconditions{UID: &gate.UID, ResourceVersion: &gate.ResourceVersion})
	if apierrors.IsConflict(err) {
		var fresh v1alpha1.Gate
		err = r.changed(ctx, gate, &fresh, err)
		if fresh.Spec.ReleaseRef.UID == v.release.UID {
			v.process.gates.Saw(&fresh)
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Gate: %w", err)
	}
	v.process.gates.Forget(client.ObjectKeyFromObject(gate)) // it may stay until what is open for it is closed
	v.gates = slices.DeleteFunc(v.gates, func(g v1alpha1.Gate) bool { return g.Name == a.Name })
	return nil
}

// annotate changes annotations and finalizer of the release if it still is the version that
// was decided on.
func (r *objectWriter) annotate(ctx context.Context, v *view, a plan.Annotate) error {
	written := annotated(v.release, a)
	outcome := kube.Patch(ctx, r.client, v.release, written)
	if err := r.wroteRelease(ctx, v, outcome); err != nil {
		return fmt.Errorf("patch BatchRelease: %w", err)
	}
	if _, same := outcome.(kube.Unchanged); same { // what the release carries is the plan's status, not the stored one
		return nil
	}
	v.gone = written.DeletionTimestamp != nil && len(written.Finalizers) == 0
	v.sawRelease(written)
	if v.gone {
		return nil
	}
	return otherMeta(a, v.release)
}

// annotated returns a release with other annotations, and with or without our finalizer.
func annotated(release *v1alpha1.BatchRelease, a plan.Annotate) *v1alpha1.BatchRelease {
	changed := release.DeepCopy()
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	maps.Copy(changed.Annotations, a.Set)
	for _, key := range a.Remove {
		delete(changed.Annotations, key)
	}
	switch {
	case a.Finalizer == nil:
	case *a.Finalizer:
		controllerutil.AddFinalizer(changed, v1alpha1.Finalizer)
	default:
		controllerutil.RemoveFinalizer(changed, v1alpha1.Finalizer)
	}
	return changed
}
