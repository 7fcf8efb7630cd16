package lookup

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// Whole reads a release and what belongs to it. It leaves out the parts of a workload that is gone.
func Whole(ctx context.Context, c client.Reader, key client.ObjectKey) (*show.Whole, error) {
	whole := &show.Whole{Release: &v1alpha1.BatchRelease{}}
	if err := c.Get(ctx, key, whole.Release); err != nil {
		return nil, fmt.Errorf("read release in namespace %s: %w", key.Namespace, err)
	}
	var err error
	if whole.Gates, err = Gates(ctx, c, key); err != nil {
		return nil, err
	}
	if err := readSource(ctx, c, whole); err != nil {
		return nil, err
	}
	if whole.Release.IsTrain() {
		whole.Members, err = Members(ctx, c, whole.Release)
		return whole, err
	}
	return whole, readWorkload(ctx, c, whole)
}

// Members reads the members of a train.
func Members(ctx context.Context, c client.Reader, train *v1alpha1.BatchRelease) ([]v1alpha1.BatchRelease, error) {
	var found v1alpha1.BatchReleaseList
	err := c.List(ctx, &found, client.InNamespace(train.Namespace), client.MatchingLabels{v1alpha1.TrainLabel: train.Name})
	if err != nil {
		return nil, fmt.Errorf("list members of train %s: %w", train.Name, err)
	}
	return slices.DeleteFunc(found.Items, func(m v1alpha1.BatchRelease) bool { return m.Spec.Train != train.Name }), nil
}

// readSource reads the ReleaseSource of the release, if it has one that the user may read.
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

// readWorkload reads the workload of the release, its versions and the pods that it selects.
func readWorkload(ctx context.Context, c client.Reader, whole *show.Whole) error {
	ref := whole.Release.Spec.WorkloadRef
	w := workload.New(ref.Kind)
	if w == nil {
		return nil // no such release begins
	}
	err := c.Get(ctx, client.ObjectKey{Namespace: whole.Release.Namespace, Name: ref.Name}, w.Object())
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", ref.Kind, err)
	}
	return readParts(ctx, c, whole, w)
}

// readParts reads the versions of a workload, and the pods that it selects.
func readParts(ctx context.Context, c client.Reader, whole *show.Whole, w workload.Workload) error {
	whole.Workload = w.Object()
	selector, err := metav1.LabelSelectorAsSelector(w.PodSelector())
	if err != nil {
		return fmt.Errorf("read selector of %s: %w", w.Kind(), err)
	}
	selected := []client.ListOption{client.InNamespace(w.GetNamespace()), client.MatchingLabelsSelector{Selector: selector}}
	if kinds.Named(w.Kind()).BySets() {
		err = readSets(ctx, c, whole, selected)
	} else {
		err = readRevisions(ctx, c, whole, selected)
	}
	if err != nil {
		return err
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, selected...); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	whole.Pods = pods.Items
	return nil
}

func readSets(ctx context.Context, c client.Reader, whole *show.Whole, selected []client.ListOption) error {
	var sets appsv1.ReplicaSetList
	if err := c.List(ctx, &sets, selected...); err != nil {
		return fmt.Errorf("list ReplicaSets: %w", err)
	}
	for i := range sets.Items {
		if metav1.IsControlledBy(&sets.Items[i], whole.Workload) {
			whole.Sets = append(whole.Sets, sets.Items[i])
		}
	}
	return nil
}

// readRevisions reads the ControllerRevisions of the native controller, which have the labels of
// the pod template.
func readRevisions(ctx context.Context, c client.Reader, whole *show.Whole, selected []client.ListOption) error {
	var revisions appsv1.ControllerRevisionList
	if err := c.List(ctx, &revisions, selected...); err != nil {
		return fmt.Errorf("list ControllerRevisions: %w", err)
	}
	for i := range revisions.Items {
		if metav1.IsControlledBy(&revisions.Items[i], whole.Workload) {
			whole.Revisions = append(whole.Revisions, revisions.Items[i])
		}
	}
	return nil
}
