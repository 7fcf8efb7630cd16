package approvals

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// sourceOf finds the ReleaseSource by the label of something that came from it, or belongs to what
// did. It is nil where there is none. Anyone who may write to a namespace can set labels there, so
// a source of another namespace, whose credentials would be used, is found from shared namespaces
// alone.
func (c cluster) sourceOf(ctx context.Context, reader client.Reader, object client.Object) (*v1alpha1.ReleaseSource, error) {
	label, namespace := object.GetLabels()[v1alpha1.SourceLabel], object.GetNamespace()
	distant := strings.Contains(label, "_")
	switch {
	case label == "", distant && !slices.Contains(c.shared, namespace):
		return nil, nil
	case distant:
		return distantSource(ctx, reader, namespace, label)
	}
	source := &v1alpha1.ReleaseSource{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: label}, source)
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

// releasesOf lists what came from a source.
func (c cluster) releasesOf(ctx context.Context, source *v1alpha1.ReleaseSource) ([]v1alpha1.BatchRelease, error) {
	namespaces := append([]string{source.Namespace}, c.shared...)
	slices.Sort(namespaces)
	var found []v1alpha1.BatchRelease
	for _, namespace := range slices.Compact(namespaces) {
		var list v1alpha1.BatchReleaseList
		mine := client.MatchingLabels{v1alpha1.SourceLabel: source.LabelIn(namespace)}
		if err := c.client.List(ctx, &list, client.InNamespace(namespace), mine, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list releases of the source in %s: %w", namespace, err)
		}
		found = append(found, list.Items...)
	}
	return found, nil
}
