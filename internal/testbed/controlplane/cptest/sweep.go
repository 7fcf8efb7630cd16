package cptest

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// held are the resources whose objects have a finalizer; the controller that would remove it is
// gone.
var held = []schema.GroupVersionResource{
	v1alpha1.GroupVersion.WithResource("batchreleases"),
	v1alpha1.GroupVersion.WithResource("gates"),
	v1alpha1.GroupVersion.WithResource("releasesources"),
}

// busy are the resources whose objects keep somebody busy, owners before what is made for them.
var busy = []schema.GroupVersionResource{
	autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers"),
	appsv1.SchemeGroupVersion.WithResource("deployments"),
	appsv1.SchemeGroupVersion.WithResource("replicasets"),
	appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	appsv1.SchemeGroupVersion.WithResource("daemonsets"),
	corev1.SchemeGroupVersion.WithResource("pods"),
}

// clear sweeps a namespace. The namespace itself stays until the control plane goes: to delete it
// takes some eighty requests, most of them about kinds that no test has. With a control plane of
// make up, which stays, the namespace goes.
func clear(ctx context.Context, client metadata.Interface, namespace string) error {
	if err := sweep(ctx, client, namespace); err != nil {
		return err
	}
	if p, err := shared(); err != nil || !p.stays() {
		return err
	}
	namespaces := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	if err := namespaces.Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete it: %w", err)
	}
	return nil
}

// sweep removes from a namespace all that something would still happen to.
func sweep(ctx context.Context, client metadata.Interface, namespace string) error {
	for _, kind := range held {
		if err := letGo(ctx, client.Resource(kind).Namespace(namespace)); err != nil {
			return fmt.Errorf("let go of %s: %w", kind.Resource, err)
		}
	}
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	for _, kind := range slices.Concat(held, busy) {
		if err := client.Resource(kind).Namespace(namespace).DeleteCollection(ctx, now, metav1.ListOptions{}); err != nil {
			return fmt.Errorf("delete %s: %w", kind.Resource, err)
		}
	}
	return nil
}

// letGo takes the finalizers off all objects of a kind.
func letGo(ctx context.Context, objects metadata.ResourceInterface) error {
	found, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	for _, object := range found.Items {
		if len(object.Finalizers) == 0 {
			continue
		}
		_, err := objects.Patch(ctx, object.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("take finalizers off %s: %w", object.Name, err)
		}
	}
	return nil
}
