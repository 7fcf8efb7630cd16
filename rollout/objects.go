package rollout

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// openGate creates a Gate with a nonce, or finds it created before the cache knew.
func (r *Reconciler) openGate(ctx context.Context, v *view, a plan.OpenGate) error {
	gate := &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v.release.Namespace,
			Name:      a.Name,
			Labels:    map[string]string{v1alpha1.ReleaseLabel: v.release.Name, v1alpha1.RevisionLabel: a.Spec.Revision},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(v.release, v1alpha1.GroupVersion.WithKind("BatchRelease")),
			},
		},
		Spec: a.Spec,
	}
	gate.Spec.Nonce = rand.Text()
	err := r.client.Create(ctx, gate)
	if apierrors.IsAlreadyExists(err) {
		return r.refreshGate(ctx, v, gate)
	}
	if err != nil {
		return fmt.Errorf("create Gate: %w", err)
	}
	v.memory.rememberGate(gate, r.clock.Now())
	v.gates = append(v.gates, *gate)
	if a.Spec.Nonce = gate.Spec.Nonce; !equality.Semantic.DeepEqual(gate.Spec, a.Spec) {
		return &rewritten{fields: []string{"spec"}, written: true}
	}
	return nil
}

// refreshGate remembers the gate that has the name. One that is bound to something else, left
// by somebody who made it by hand or by a release object of the same name, makes room. One that is
// being deleted is shown to the plan, which waits: that it is gone is told by the watch.
func (r *Reconciler) refreshGate(ctx context.Context, v *view, wanted *v1alpha1.Gate) error {
	var existing v1alpha1.Gate
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(wanted), &existing); err != nil {
		return fmt.Errorf("read Gate %s: %w", wanted.Name, gone(err))
	}
	if existing.DeletionTimestamp != nil {
		v.gates = append(v.gates, existing)
		return nil
	}
	if existing.Spec.ReleaseRef == wanted.Spec.ReleaseRef && existing.Spec.Attempt == wanted.Spec.Attempt {
		v.memory.rememberGate(&existing, r.clock.Now())
		return errOutdated
	}
	if err := r.client.Delete(ctx, &existing, client.Preconditions{UID: &existing.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Gate %s: %w", existing.Name, err)
	}
	return errOutdated
}

func (r *Reconciler) closeGate(ctx context.Context, v *view, a plan.CloseGate) error {
	gate := &v1alpha1.Gate{ObjectMeta: metav1.ObjectMeta{Namespace: v.release.Namespace, Name: a.Name}}
	if err := r.client.Delete(ctx, gate); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Gate: %w", err)
	}
	delete(v.memory.gates, a.Name)
	v.gates = slices.DeleteFunc(v.gates, func(g v1alpha1.Gate) bool { return g.Name == a.Name })
	return nil
}

// annotate changes annotations and finalizer of the release if it still is the version that
// was decided on.
func (r *Reconciler) annotate(ctx context.Context, v *view, a plan.Annotate) error {
	meta := map[string]any{"resourceVersion": v.release.ResourceVersion}
	if len(a.Set)+len(a.Remove) > 0 {
		annotations := map[string]any{}
		for key, value := range a.Set {
			annotations[key] = value
		}
		for _, key := range a.Remove {
			annotations[key] = nil
		}
		meta["annotations"] = annotations
	}
	if a.Finalizer != nil {
		meta["finalizers"] = finalizers(v.release, *a.Finalizer)
	}
	data, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	if err := r.patchRelease(ctx, v, data); err != nil || v.gone {
		return err
	}
	return otherMeta(a, v.release)
}

// finalizers are those of the release, with or without ours.
func finalizers(release *v1alpha1.BatchRelease, ours bool) []string {
	changed := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Finalizers: slices.Clone(release.Finalizers)}}
	if ours {
		controllerutil.AddFinalizer(changed, v1alpha1.Finalizer)
	} else {
		controllerutil.RemoveFinalizer(changed, v1alpha1.Finalizer)
	}
	return changed.Finalizers
}

func (r *Reconciler) patchRelease(ctx context.Context, v *view, data []byte) error {
	written := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: v.release.Namespace, Name: v.release.Name}}
	if err := r.client.Patch(ctx, written, client.RawPatch(types.MergePatchType, data)); err != nil {
		return r.refreshRelease(ctx, v, fmt.Errorf("patch BatchRelease: %w", err))
	}
	if written.DeletionTimestamp != nil && len(written.Finalizers) == 0 {
		v.gone = true
	}
	v.sawRelease(written)
	return nil
}
