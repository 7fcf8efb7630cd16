package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout"
)

// patience is how long a readiness check waits for the cache.
const patience = time.Second

// cacheOptions makes the cache watch the namespaces (none: all), of ControllerRevisions and
// EndpointSlices only those of releases, and keep no more of an object than is read.
func cacheOptions(namespaces []string) cache.Options {
	options := cache.Options{
		DefaultTransform: trim,
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.ControllerRevision{}: {Label: carrying(v1alpha1.ReleaseLabel)},
			&corev1.Service{}:            {Transform: rollout.StripService},
			&discoveryv1.EndpointSlice{}: {Label: carrying(v1alpha1.TrafficLabel)},
			&appsv1.ReplicaSet{}:         {Transform: rollout.Strip},
		},
	}
	for _, kind := range kinds.All {
		options.ByObject[kind.New()] = cache.ByObject{Transform: rollout.Strip}
	}
	for _, namespace := range namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// carrying selects what has a label.
func carrying(label string) labels.Selector {
	labelled, err := labels.NewRequirement(label, selection.Exists, nil)
	if err != nil { // the key is a constant
		panic(fmt.Sprintf("select by label %s: %v", label, err))
	}
	return labels.NewSelector().Add(*labelled)
}

// trim takes off what is large and read by nobody: who wrote which field, and what kubectl
// applied last. It follows that a cached object must never be written as a whole.
func trim(object any) (any, error) {
	accessor, ok := object.(metav1.Object)
	if !ok { // a tombstone of the informer
		return object, nil
	}
	// An object that was trimmed before may be in readers' hands: it is not touched.
	if accessor.GetManagedFields() != nil {
		accessor.SetManagedFields(nil)
	}
	if annotations := accessor.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		accessor.SetAnnotations(annotations) // of an object without a type, they were a copy
	}
	return object, nil
}

// readLive lists what is never cached: pods are many and read at a failure only, and
// nobody may collect secrets.
func readLive() []client.Object {
	return []client.Object{&corev1.Pod{}, &corev1.Secret{}}
}

// cacheSynced fails unless the cache has caught up, or does so within moments.
func cacheSynced(ctx context.Context, c cache.Cache) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !c.WaitForCacheSync(ctx) {
		return errors.New("the cache has not caught up with the API server yet")
	}
	return nil
}
