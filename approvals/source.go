package approvals

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// sourceOf finds the ReleaseSource by the label of something that came from it, or belongs to what
// did. It is nil where there is none.
func sourceOf(ctx context.Context, reader client.Reader, object client.Object) (*v1alpha1.ReleaseSource, error) {
	label := object.GetLabels()[v1alpha1.SourceLabel]
	if label == "" {
		return nil, nil
	}
	if strings.Contains(label, "_") {
		return distantSource(ctx, reader, object.GetNamespace(), label)
	}
	source := &v1alpha1.ReleaseSource{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: label}, source)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read ReleaseSource %s: %w", label, err)
	}
	return source, nil
}

// distantSource finds a source of another namespace.
func distantSource(ctx context.Context, reader client.Reader, namespace, label string) (*v1alpha1.ReleaseSource, error) {
	var sources v1alpha1.ReleaseSourceList
	if err := reader.List(ctx, &sources); err != nil {
		return nil, fmt.Errorf("list ReleaseSources: %w", err)
	}
	for i := range sources.Items {
		if sources.Items[i].LabelIn(namespace) == label {
			return &sources.Items[i], nil
		}
	}
	return nil, nil
}

// releasesOf lists what came from a source, in all namespaces.
func releasesOf(ctx context.Context, reader client.Reader, source *v1alpha1.ReleaseSource) ([]v1alpha1.BatchRelease, error) {
	var found []v1alpha1.BatchRelease
	for _, of := range [][]client.ListOption{
		{client.InNamespace(source.Namespace), client.MatchingLabels{v1alpha1.SourceLabel: source.Name}},
		{client.MatchingLabels{v1alpha1.SourceLabel: source.LabelIn("")}},
	} {
		var list v1alpha1.BatchReleaseList
		if err := reader.List(ctx, &list, append(of, client.UnsafeDisableDeepCopy)...); err != nil {
			return nil, fmt.Errorf("list releases of the source: %w", err)
		}
		found = append(found, list.Items...)
	}
	return found, nil
}

// branchOf is the branch that a source follows.
func branchOf(source *v1alpha1.ReleaseSource) string {
	return cmp.Or(source.Spec.Ref.Branch, "main")
}
