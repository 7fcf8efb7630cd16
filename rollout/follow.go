package rollout

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// unguarded is a followed workload on which no admission policy acts.
type unguarded struct{ kind, name string }

func (e *unguarded) Error() string { return plan.UnguardedWords(e.kind, e.name) }

// waiting reports whether others have applied a template to a workload since Sluice last wrote it,
// by the note of the policy.
func waiting(w workload.Workload) bool {
	_, found := w.GetAnnotations()[v1alpha1.WaitingAnnotation]
	return found
}

// follow labels the workload, unless a dry run shows that no policy acts on it.
func (r *workloadWriter) follow(ctx context.Context, v *view) error {
	patch, err := kube.PatchOf(hold.Follow(v.workload, v.release.Name))
	if err != nil {
		return err
	}
	foreseen, _, err := r.dryRun(ctx, v, patch)
	if err != nil {
		return err
	}
	if foreseen.GetAnnotations()[v1alpha1.GuardAnnotation] != v1alpha1.Guarded {
		return &unguarded{v.workload.Kind(), v.workload.GetName()}
	}
	return r.patchWorkload(ctx, v, patch)
}

// copyTemplate copies the workload's template, whole, to the release. It holds only for the version
// of the release that was decided on.
func (r *objectWriter) copyTemplate(ctx context.Context, v *view, a plan.CopyTemplate) error {
	if v.wholeTemplate() == nil {
		if err := r.readWorkload(ctx, v); err != nil {
			return err
		}
	}
	if v.workload == nil || digestOfWorkload(v.workload) != a.Digest {
		return errOutdated
	}
	change := plan.Annotate{Set: r.origin(ctx, v.workload)}
	for _, key := range originKeys {
		if change.Set[key] == "" {
			delete(change.Set, key)
			change.Remove = append(change.Remove, key)
		}
	}
	change.Set[v1alpha1.FollowedAnnotation] = a.Digest
	copied := annotated(v.release, change)
	copied.Spec.Template = &runtime.RawExtension{Raw: v.wholeTemplate()}
	outcome := kube.Patch(ctx, r.client, v.release, copied)
	if err := r.wroteRelease(ctx, v, outcome); err != nil {
		return fmt.Errorf("copy template: %w", err)
	}
	if _, written := outcome.(kube.Written); !written {
		return errors.New("copy template: spec.template and its digest are written already, and the cache does not show them")
	}
	v.sawRelease(copied)
	v.given = ""
	return observeGiven(v)
}
