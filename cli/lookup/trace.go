package lookup

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
)

// TracePod goes back from a pod to what brought it.
func TracePod(ctx context.Context, c client.Reader, key client.ObjectKey) (*show.Trace, error) {
	var pod corev1.Pod
	if err := c.Get(ctx, key, &pod); err != nil {
		return nil, fmt.Errorf("read pod: %w", err)
	}
	owner := metav1.GetControllerOf(&pod)
	if owner == nil || owner.Kind != "ReplicaSet" {
		return nil, fmt.Errorf("pod %s is of no ReplicaSet", key.Name)
	}
	trace, err := TraceSet(ctx, c, client.ObjectKey{Namespace: key.Namespace, Name: owner.Name})
	if err != nil {
		return nil, err
	}
	trace.Pod = &pod
	return trace, nil
}

// TraceSet goes back from a ReplicaSet to what brought it.
func TraceSet(ctx context.Context, c client.Reader, key client.ObjectKey) (*show.Trace, error) {
	var set appsv1.ReplicaSet
	if err := c.Get(ctx, key, &set); err != nil {
		return nil, fmt.Errorf("read ReplicaSet: %w", err)
	}
	owner := metav1.GetControllerOf(&set)
	if owner == nil || owner.Kind != "Deployment" {
		return nil, fmt.Errorf("ReplicaSet %s is of no Deployment", key.Name)
	}
	traces, err := traceDeployment(ctx, c, client.ObjectKey{Namespace: key.Namespace, Name: owner.Name}, set)
	if err != nil {
		return nil, err
	}
	return traces[0], nil
}

// TraceDeployment goes back from each ReplicaSet of a Deployment that has pods.
func TraceDeployment(ctx context.Context, c client.Reader, key client.ObjectKey) ([]*show.Trace, error) {
	return traceDeployment(ctx, c, key)
}

// traceDeployment traces the ReplicaSets given, or all that have pods.
func traceDeployment(ctx context.Context, c client.Reader, key client.ObjectKey, sets ...appsv1.ReplicaSet) ([]*show.Trace, error) {
	var deployment appsv1.Deployment
	if err := c.Get(ctx, key, &deployment); err != nil {
		return nil, fmt.Errorf("read Deployment: %w", err)
	}
	if len(sets) == 0 {
		var list appsv1.ReplicaSetList
		if err := c.List(ctx, &list, client.InNamespace(key.Namespace)); err != nil {
			return nil, fmt.Errorf("list ReplicaSets: %w", err)
		}
		sets = show.SetsInUse(list.Items, &deployment)
	}
	if len(sets) == 0 {
		return nil, errors.New("no ReplicaSet of Deployment " + key.Name + " has pods")
	}
	base := show.Trace{Deployment: &deployment}
	if err := findRelease(ctx, c, &base); err != nil {
		return nil, err
	}
	kept, err := keptOf(ctx, c, base.Release)
	if err != nil {
		return nil, err
	}
	traces := make([]*show.Trace, 0, len(sets))
	for i := range sets {
		trace := base
		trace.Set = &sets[i]
		trace.Kept = kept[sets[i].Labels[appsv1.DefaultDeploymentUniqueLabelKey]]
		traces = append(traces, &trace)
	}
	return traces, nil
}

// findRelease finds the release of the Deployment, its gates, and the source that it came from.
func findRelease(ctx context.Context, c client.Reader, trace *show.Trace) error {
	namespace := client.InNamespace(trace.Deployment.Namespace)
	var releases v1alpha1.BatchReleaseList
	if err := c.List(ctx, &releases, namespace); err != nil {
		return fmt.Errorf("list releases: %w", err)
	}
	for i := range releases.Items {
		if releases.Items[i].Spec.WorkloadRef.Name == trace.Deployment.Name {
			trace.Release = &releases.Items[i]
		}
	}
	if trace.Release == nil {
		return nil
	}
	var gates v1alpha1.GateList
	if err := c.List(ctx, &gates, namespace, client.MatchingLabels{v1alpha1.ReleaseLabel: trace.Release.Name}); err != nil {
		return fmt.Errorf("list gates: %w", err)
	}
	trace.Gates = gates.Items
	return findSource(ctx, c, trace)
}

// findSource reads the source that the release came from, if it is of the same namespace. It is only for a link.
func findSource(ctx context.Context, c client.Reader, trace *show.Trace) error {
	name := trace.Release.Labels[v1alpha1.SourceLabel]
	if name == "" {
		return nil
	}
	var source v1alpha1.ReleaseSource
	err := c.Get(ctx, client.ObjectKey{Namespace: trace.Release.Namespace, Name: name}, &source)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read source: %w", err)
	}
	trace.Source = &source
	return nil
}

// keptOf are the templates that a release keeps, by their revisions.
func keptOf(ctx context.Context, c client.Reader, release *v1alpha1.BatchRelease) (map[string]*appsv1.ControllerRevision, error) {
	if release == nil {
		return nil, nil
	}
	list, err := Kept(ctx, c, release)
	if err != nil {
		return nil, err
	}
	kept := map[string]*appsv1.ControllerRevision{}
	for i := range list {
		kept[list[i].Labels[v1alpha1.RevisionLabel]] = &list[i]
	}
	return kept, nil
}

// Kept are the templates that a release keeps.
func Kept(ctx context.Context, c client.Reader, release *v1alpha1.BatchRelease) ([]appsv1.ControllerRevision, error) {
	var list appsv1.ControllerRevisionList
	ofRelease := client.MatchingLabels{v1alpha1.ReleaseLabel: release.Name}
	if err := c.List(ctx, &list, client.InNamespace(release.Namespace), ofRelease); err != nil {
		return nil, fmt.Errorf("list kept templates: %w", err)
	}
	var own []appsv1.ControllerRevision
	for _, kept := range list.Items {
		if v1alpha1.KeptFor(&kept) == release.UID {
			kept.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevision"))
			own = append(own, kept)
		}
	}
	return own, nil
}
