package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// keep records the Deployment's template as a ControllerRevision. The ReplicaSet is no place
// to keep it: the native controller deletes those beyond revisionHistoryLimit.
func (r *Reconciler) keep(ctx context.Context, v *view, a plan.Keep) error {
	if isSlim(&v.deployment.Spec.Template) {
		if err := r.readDeployment(ctx, v); err != nil {
			return err
		}
	}
	if v.deployment == nil || digestOfDeployment(v.deployment) != a.Digest {
		return errOutdated
	}
	revision, err := newRevision(v, a)
	if err != nil {
		return err
	}
	if err := r.client.Create(ctx, revision); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create ControllerRevision: %w", err)
	} else if err != nil {
		return r.adoptRevision(ctx, v, revision)
	}
	v.sawKept(keptFrom(revision))
	return nil
}

// sawKept takes over a template that was just kept.
func (v *view) sawKept(kept plan.Kept) {
	v.memory.rememberKept(kept)
	v.kept = append(v.kept, kept)
}

// adoptRevision takes a ControllerRevision of the same name as the one wanted if it is ours
// and holds the same template; the name follows from release and hash.
func (r *Reconciler) adoptRevision(ctx context.Context, v *view, wanted *appsv1.ControllerRevision) error {
	var existing appsv1.ControllerRevision
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(wanted), &existing); err != nil {
		return fmt.Errorf("read ControllerRevision %s: %w", wanted.Name, gone(err))
	}
	kept, want := keptFrom(&existing), keptFrom(wanted)
	if ownedBy(&existing, v.release.UID) && kept.Digest == want.Digest {
		v.sawKept(kept)
		return nil
	}
	if err := r.client.Delete(ctx, &existing, client.Preconditions{UID: &existing.UID}); err != nil {
		return fmt.Errorf("delete ControllerRevision %s: %w", existing.Name, client.IgnoreNotFound(err))
	}
	return errOutdated
}

func newRevision(v *view, a plan.Keep) (*appsv1.ControllerRevision, error) {
	template, err := json.Marshal(v.deployment.Spec.Template)
	if err != nil {
		return nil, fmt.Errorf("encode template: %w", err)
	}
	owner := metav1.NewControllerRef(v.release, v1alpha1.GroupVersion.WithKind("BatchRelease"))
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v.release.Namespace,
			Name:      v.release.Name + "-" + a.Revision,
			Labels: map[string]string{
				v1alpha1.ReleaseLabel:  v.release.Name,
				v1alpha1.RevisionLabel: a.Revision,
			},
			Annotations: map[string]string{
				v1alpha1.DigestAnnotation: a.Digest,
				v1alpha1.NumberAnnotation: strconv.FormatInt(a.Number, 10),
				v1alpha1.CommitAnnotation: v.release.Status.Commit,
			},
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Data:     runtime.RawExtension{Raw: template},
		Revision: a.Number,
	}, nil
}

// keptTemplate reads a kept template.
func (r *Reconciler) keptTemplate(ctx context.Context, v *view, name string) (json.RawMessage, error) {
	var revision appsv1.ControllerRevision
	key := client.ObjectKey{Namespace: v.release.Namespace, Name: name}
	if err := r.live.Get(ctx, key, &revision); err != nil {
		return nil, fmt.Errorf("read ControllerRevision %s: %w", name, err)
	}
	return revision.Data.Raw, nil
}

// forget deletes a kept template.
func (r *Reconciler) forget(ctx context.Context, v *view, a plan.Forget) error {
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: v.release.Namespace, Name: a.Name}}
	if err := r.client.Delete(ctx, revision); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ControllerRevision: %w", err)
	}
	v.memory.rememberForgotten(a.Name)
	v.kept = withoutKept(v.kept, a.Name)
	return nil
}

func withoutKept(kept []plan.Kept, name string) []plan.Kept {
	var rest []plan.Kept
	for _, k := range kept {
		if k.Name != name {
			rest = append(rest, k)
		}
	}
	return rest
}
