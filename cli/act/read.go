package act

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// Gates reads the gates that a release waits for.
func Gates(ctx context.Context, c client.Reader, release *v1alpha1.BatchRelease) ([]v1alpha1.Gate, error) {
	var gates []v1alpha1.Gate
	for _, reference := range release.Status.Gates {
		var gate v1alpha1.Gate
		err := c.Get(ctx, client.ObjectKey{Namespace: release.Namespace, Name: reference.Name}, &gate)
		switch {
		case apierrors.IsNotFound(err): // it is not created yet, or already gone
		case err != nil:
			return nil, fmt.Errorf("read gate: %w", err)
		default:
			gate.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Gate"))
			gates = append(gates, gate)
		}
	}
	return gates, nil
}

// SameGates reports whether a release still waits for the same gates, whatever has been decided on
// them since.
func SameGates(before, now *v1alpha1.BatchRelease) bool {
	return before.Status.Attempt == now.Status.Attempt &&
		slices.EqualFunc(before.Status.Gates, now.Status.Gates, func(a, b v1alpha1.GateReference) bool { return a.Name == b.Name })
}

// Templates returns the templates in the history of a release, with what decides whether it can be
// rolled back to them.
func Templates(kept []appsv1.ControllerRevision) []plan.Kept {
	all := make([]plan.Kept, 0, len(kept))
	for i := range kept {
		labels, annotations := kept[i].Labels, kept[i].Annotations
		all = append(all, plan.Kept{
			Number: kept[i].Revision, Revision: labels[v1alpha1.RevisionLabel],
			Record: plan.Record{Outcome: v1alpha1.Outcome(annotations[v1alpha1.OutcomeAnnotation]), Commit: annotations[v1alpha1.CommitAnnotation]},
		})
	}
	return all
}

// SuspendedByGit returns the file in Git that sets spec.suspend; empty if none does.
func SuspendedByGit(release *v1alpha1.BatchRelease) string {
	for _, entry := range release.ManagedFields {
		if entry.Manager != v1alpha1.OwnerGitsync || entry.FieldsV1 == nil {
			continue
		}
		var owned struct {
			Spec struct {
				Suspend json.RawMessage `json:"f:suspend"`
			} `json:"f:spec"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) == nil && owned.Spec.Suspend != nil {
			return release.Annotations[v1alpha1.FileAnnotation]
		}
	}
	return ""
}
