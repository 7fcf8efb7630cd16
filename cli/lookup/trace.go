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

// TracePod goes back from a pod to what brought it.
func TracePod(ctx context.Context, c client.Reader, key client.ObjectKey) (*show.Trace, error) {
	var pod corev1.Pod
	if err := c.Get(ctx, key, &pod); err != nil {
		return nil, fmt.Errorf("read pod: %w", err)
	}
	owner := metav1.GetControllerOf(&pod)
	var trace *show.Trace
	var err error
	switch owners := kinds.PodOwners(); {
	case owner == nil || !slices.Contains(owners, owner.Kind):
		return nil, fmt.Errorf("pod %s is of no %s", key.Name, kinds.List(owners))
	case owner.Kind == kinds.ReplicaSet:
		trace, err = TraceSet(ctx, c, client.ObjectKey{Namespace: key.Namespace, Name: owner.Name})
	default:
		trace, err = traceVersion(ctx, c, &pod, owner)
	}
	if err != nil {
		return nil, err
	}
	trace.Pod = &pod
	return trace, nil
}

// traceVersion goes back from the version of a pod that its workload owns.
func traceVersion(ctx context.Context, c client.Reader, pod *corev1.Pod, owner *metav1.OwnerReference) (*show.Trace, error) {
	whole, err := readWhole(ctx, c, owner.Kind, client.ObjectKey{Namespace: pod.Namespace, Name: owner.Name})
	if err != nil {
		return nil, err
	}
	whole.Pods = []corev1.Pod{*pod}
	records := show.RecordsInUse(whole)
	if len(records) == 0 {
		return nil, fmt.Errorf("the ControllerRevision of pod %s is not there any more", pod.Name)
	}
	traces, err := traceAll(ctx, c, whole.Workload, versions(records[:1]))
	if err != nil {
		return nil, err
	}
	return traces[0], nil
}

// TraceSet goes back from a ReplicaSet to what brought it.
func TraceSet(ctx context.Context, c client.Reader, key client.ObjectKey) (*show.Trace, error) {
	var set appsv1.ReplicaSet
	if err := c.Get(ctx, key, &set); err != nil {
		return nil, fmt.Errorf("read ReplicaSet: %w", err)
	}
	owner := metav1.GetControllerOf(&set)
	if owner == nil || kinds.Named(owner.Kind) == nil {
		return nil, fmt.Errorf("ReplicaSet %s is of no Deployment", key.Name)
	}
	w := kinds.Named(owner.Kind).New().(client.Object)
	if err := c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: owner.Name}, w); err != nil {
		return nil, fmt.Errorf("read %s: %w", owner.Kind, err)
	}
	traces, err := traceAll(ctx, c, w, []show.Object{&set})
	if err != nil {
		return nil, err
	}
	return traces[0], nil
}

// TraceWorkload goes back from each version of a workload of a kind that has pods.
func TraceWorkload(kind string) func(context.Context, client.Reader, client.ObjectKey) ([]*show.Trace, error) {
	return func(ctx context.Context, c client.Reader, key client.ObjectKey) ([]*show.Trace, error) {
		whole, err := readWhole(ctx, c, kind, key)
		if err != nil {
			return nil, err
		}
		var used []show.Object
		if kinds.Named(kind).BySets() {
			used = versions(show.SetsInUse(whole.Sets, whole.Workload))
		} else {
			used = versions(show.RecordsInUse(whole))
		}
		if len(used) == 0 {
			return nil, fmt.Errorf("%s %s has no pods", kind, key.Name)
		}
		return traceAll(ctx, c, whole.Workload, used)
	}
}

// readWhole reads a workload with its versions and pods.
func readWhole(ctx context.Context, c client.Reader, kind string, key client.ObjectKey) (*show.Whole, error) {
	whole, w := &show.Whole{}, workload.New(kind)
	if err := c.Get(ctx, key, w.Object()); err != nil {
		return nil, fmt.Errorf("read %s: %w", kind, err)
	}
	return whole, readParts(ctx, c, whole, w)
}

// versions returns ReplicaSets, or ControllerRevisions.
func versions[T any, P interface {
	*T
	show.Object
}](items []T) []show.Object {
	objects := make([]show.Object, 0, len(items))
	for i := range items {
		objects = append(objects, P(&items[i]))
	}
	return objects
}

// traceAll traces versions of a workload.
func traceAll(ctx context.Context, c client.Reader, of show.Object, versions []show.Object) ([]*show.Trace, error) {
	base := show.Trace{Workload: of}
	if err := findRelease(ctx, c, &base); err != nil {
		return nil, err
	}
	kept, err := keptOf(ctx, c, base.Release)
	if err != nil {
		return nil, err
	}
	traces := make([]*show.Trace, 0, len(versions))
	for _, version := range versions {
		trace := base
		trace.Version = version
		trace.Kept = kept[show.VersionName(version)]
		traces = append(traces, &trace)
	}
	return traces, nil
}

// findRelease finds the release of the workload, its gates, and the source that it came from.
func findRelease(ctx context.Context, c client.Reader, trace *show.Trace) error {
	namespace := client.InNamespace(trace.Workload.GetNamespace())
	var releases v1alpha1.BatchReleaseList
	if err := c.List(ctx, &releases, namespace); err != nil {
		return fmt.Errorf("list releases: %w", err)
	}
	for i := range releases.Items {
		if trace.IsOf(releases.Items[i].Spec.WorkloadRef) {
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

// findSource reads the source that the release came from, if it is of the same namespace. It is
// only for a link.
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

// keptOf returns the templates that a release keeps, by their revisions.
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

// Kept returns the templates that a release keeps.
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
