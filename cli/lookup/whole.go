package lookup

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
)

// Whole reads a release and what belongs to it. What belongs to a Deployment that is gone is left out.
func Whole(ctx context.Context, c client.Reader, key client.ObjectKey) (*show.Whole, error) {
	whole := &show.Whole{Release: &v1alpha1.BatchRelease{}}
	if err := c.Get(ctx, key, whole.Release); err != nil {
		return nil, fmt.Errorf("read release in namespace %s: %w", key.Namespace, err)
	}
	var gates v1alpha1.GateList
	if err := c.List(ctx, &gates, client.InNamespace(key.Namespace), client.MatchingLabels{v1alpha1.ReleaseLabel: key.Name}); err != nil {
		return nil, fmt.Errorf("list gates: %w", err)
	}
	whole.Gates = gates.Items
	if err := readSource(ctx, c, whole); err != nil {
		return nil, err
	}
	return whole, readWorkload(ctx, c, whole)
}

// readSource reads the source that gives the release, if one does and whoever asks may see it.
func readSource(ctx context.Context, c client.Reader, whole *show.Whole) error {
	name := whole.Release.Labels[v1alpha1.SourceLabel]
	if name == "" {
		return nil
	}
	source := &v1alpha1.ReleaseSource{}
	err := c.Get(ctx, client.ObjectKey{Namespace: whole.Release.Namespace, Name: name}, source)
	switch {
	case err == nil:
		whole.Source = source
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return fmt.Errorf("read ReleaseSource: %w", err)
	}
	return nil
}

// readWorkload reads the Deployment of the release, its ReplicaSets and their pods.
func readWorkload(ctx context.Context, c client.Reader, whole *show.Whole) error {
	var deployment appsv1.Deployment
	key := client.ObjectKey{Namespace: whole.Release.Namespace, Name: whole.Release.Spec.WorkloadRef.Name}
	if err := c.Get(ctx, key, &deployment); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read Deployment: %w", err)
	}
	whole.Deployment = &deployment
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return fmt.Errorf("read selector of Deployment: %w", err)
	}
	selected := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingLabelsSelector{Selector: selector}}
	var sets appsv1.ReplicaSetList
	if err := c.List(ctx, &sets, selected...); err != nil {
		return fmt.Errorf("list ReplicaSets: %w", err)
	}
	for i := range sets.Items {
		if metav1.IsControlledBy(&sets.Items[i], &deployment) {
			whole.Sets = append(whole.Sets, sets.Items[i])
		}
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, selected...); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	whole.Pods = pods.Items
	return nil
}
