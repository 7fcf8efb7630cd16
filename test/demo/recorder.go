package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// record is one change of one object, at one revision of the cluster.
type record struct {
	revision uint64
	at       time.Time
	object   client.Object
	gone     bool
}

// recorder watches what belongs to a workload, keeps each change that it sees and the scene they
// add up to.
type recorder struct {
	mu      sync.Mutex
	scene   *scene
	records []record
	// changed is closed, and replaced, at each change.
	changed chan struct{}
	// listener hears of each change before anybody who waits for one.
	listener func(*scene)
}

// watched lists what the story is about.
func watched() []client.Object {
	return []client.Object{
		&v1alpha1.BatchRelease{}, &v1alpha1.Gate{},
		&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &appsv1.ReplicaSet{}, &corev1.Pod{},
	}
}

// belongs reports whether an object is a workload of that name, its release, of one of them, or a
// gate of the train, if there is one.
func belongs(name, train string) func(event any) bool {
	return func(event any) bool {
		if last, ok := event.(toolscache.DeletedFinalStateUnknown); ok {
			event = last.Obj
		}
		switch o := event.(type) {
		case *v1alpha1.Gate:
			return o.Spec.ReleaseRef.Name == cmp.Or(train, name)
		case *appsv1.ReplicaSet, *corev1.Pod:
			return o.(client.Object).GetLabels()[appLabel] == name
		case client.Object:
			return o.GetName() == name
		}
		return false
	}
}

// appLabel has the name of the workload on what belongs to it, in the samples.
const appLabel = "app"

// recorded selects the objects of a workload, and those of its train, if it has one.
type recorded struct {
	workload types.NamespacedName
	train    string
}

// startRecorder watches the selected objects until ctx is done.
func startRecorder(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, of recorded, listener func(*scene)) (*recorder, error) {
	namespace := of.workload.Namespace
	informers, err := cache.New(config, cache.Options{
		Scheme:            scheme,
		DefaultNamespaces: map[string]cache.Config{namespace: {}},
	})
	if err != nil {
		return nil, fmt.Errorf("make informers: %w", err)
	}
	r := &recorder{scene: newScene(), changed: make(chan struct{}), listener: listener}
	handler := toolscache.FilteringResourceEventHandler{FilterFunc: belongs(of.workload.Name, of.train), Handler: r.handler()}
	for _, kind := range watched() {
		informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind, err)
		}
	}
	go informers.Start(ctx) //nolint:errcheck // it fails only when started twice
	if !informers.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("watch namespace %s: %w", namespace, context.Cause(ctx))
	}
	return r, nil
}

func (r *recorder) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { r.take(object, false) },
		UpdateFunc: func(_, object any) { r.take(object, false) },
		DeleteFunc: func(object any) {
			if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			r.take(object, true)
		},
	}
}

func (r *recorder) take(event any, gone bool) {
	object, ok := event.(client.Object)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, record{revisionOf(object), time.Now(), object, gone})
	r.scene.apply(object, gone)
	r.listener(r.scene)
	close(r.changed)
	r.changed = make(chan struct{})
}

// revisionOf returns the cluster's revision at which the object became what it is. All kinds are
// kept in one etcd here, so revisions put the changes of different kinds in order.
func revisionOf(object client.Object) uint64 {
	revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return revision
}

// now returns the scene as it is, and what is closed when it changes.
func (r *recorder) now() (*scene, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.scene.copy(), r.changed
}

// all returns the records so far.
func (r *recorder) all() []record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]record(nil), r.records...)
}

// await returns the first scene for which done holds.
func (r *recorder) await(ctx context.Context, what string, done func(*scene) bool) (*scene, error) {
	for {
		scene, changed := r.now()
		if done(scene) {
			return scene, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait until %s: %w (%s)", what, context.Cause(ctx), standing(scene))
		}
	}
}

// standing tells where things stand, for an error.
func standing(s *scene) string {
	text := headline(s.release) + " " + versions(s)
	if s.release != nil && s.release.Status.Phase != "" {
		text += ": " + s.release.Status.Message
	}
	return text
}
