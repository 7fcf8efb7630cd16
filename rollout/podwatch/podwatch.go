// Package podwatch watches the pods of workloads while they are released.
//
// Sluice keeps no pods of the cluster: there are many. It counts those of a Deployment by its ReplicaSets. The pods of a
// StatefulSet or a DaemonSet are replaced one by one, and have to be known one by one; so they are watched, those of one
// workload, from when it is taken over until it is handed back.
package podwatch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watches are those of all releases. Any number of goroutines may use them.
type Watches struct {
	client  client.WithWatch
	changed func(ctx context.Context, release types.NamespacedName)

	mu      sync.Mutex
	ended   bool
	entries map[types.NamespacedName]*entry
}

// entry is the watch of one workload's pods.
type entry struct {
	what   Pods
	store  cache.Store
	synced func() bool
	stop   context.CancelFunc
	begun  time.Time
	// seen is when all pods were seen first, in nanoseconds of Unix time; 0 before that, and again once somebody was told.
	seen atomic.Int64
	// relisted says that the pods were listed from a cache of the API server, which may lag behind.
	relisted atomic.Bool
}

// howFresh is Fresh for the first who asks in time, and All from then on.
func (e *entry) howFresh() Seen {
	if seen := e.seen.Swap(0); seen > 0 && !e.relisted.Load() && time.Since(time.Unix(0, seen)) < freshFor {
		return Fresh
	}
	return All
}

// Pods says which pods are watched: those that a selector selects in a namespace.
type Pods struct {
	Namespace, Selector string
}

// grace is how long it takes to see all pods, unless something is wrong.
const grace = 2 * time.Second

// New makes Watches that tell which release a change is about, and when all pods of one are seen. Whoever is told may take until
// the context ends, which is when nobody watches any more.
func New(c client.WithWatch, changed func(ctx context.Context, release types.NamespacedName)) *Watches {
	return &Watches{client: c, changed: changed, entries: map[types.NamespacedName]*entry{}}
}

// Start blocks until the context ends, and then ends all watches.
func (w *Watches) Start(ctx context.Context) error {
	<-ctx.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for release, e := range w.entries {
		e.stop()
		delete(w.entries, release)
	}
	return nil
}

// Seen is how much of the pods a watch has seen.
type Seen int

// A watch that has begun sees all pods in a moment. One that is late does not work: they have to be read.
const (
	Late Seen = iota
	Begun
	All
	// Fresh is All, and the watch began with a list as of a moment ago: nobody needs to read the pods to be sure of them.
	Fresh
)

// freshFor is how long the first pods are fresh: as long as the answer to a list may take, on a machine that is busy, until it is acted
// on. What changes meanwhile the watch tells.
const freshFor = 5 * time.Second

// Of are the pods that a release watches, to be read only. It begins to watch them if it does not yet; there are none until it
// has seen them all.
func (w *Watches) Of(release types.NamespacedName, what Pods) ([]*corev1.Pod, Seen, error) {
	e, err := w.entry(release, what)
	switch {
	case err != nil || e == nil:
		return nil, Late, err
	case !e.synced() && time.Since(e.begun) < grace:
		return nil, Begun, nil
	case !e.synced():
		return nil, Late, nil
	}
	var pods []*corev1.Pod
	for _, object := range e.store.List() {
		if pod, is := object.(*corev1.Pod); is {
			pods = append(pods, pod)
		}
	}
	return pods, e.howFresh(), nil
}

// Watched reports whether a release watches pods.
func (w *Watches) Watched(release types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.entries[release] != nil
}

// Forget ends the watch of a release, if there is one.
func (w *Watches) Forget(release types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.entries[release]; e != nil {
		e.stop()
		delete(w.entries, release)
	}
}

func (w *Watches) entry(release types.NamespacedName, what Pods) (*entry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.entries[release]
	switch {
	case w.ended:
		return nil, nil
	case known != nil && known.what == what:
		return known, nil
	case known != nil:
		known.stop()
	}
	e, err := w.begin(release, what)
	if err != nil {
		return nil, err
	}
	w.entries[release] = e
	return e, nil
}

func (w *Watches) begin(release types.NamespacedName, what Pods) (*entry, error) {
	selector, err := labels.Parse(what.Selector)
	if err != nil {
		return nil, fmt.Errorf("read selector: %w", err)
	}
	options := func(raw metav1.ListOptions) *client.ListOptions {
		return &client.ListOptions{Namespace: what.Namespace, LabelSelector: selector, Raw: &raw}
	}
	ctx, stop := context.WithCancel(context.Background()) // Start and Forget end it
	tell := func() { w.changed(ctx, release) }
	e := &entry{what: what, stop: stop, begun: time.Now()}
	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ObjectType: &corev1.Pod{},
		Transform:  trim,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { tell() }, UpdateFunc: func(any, any) { tell() }, DeleteFunc: func(any) { tell() },
		},
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
				e.relisted.Store(true)
				list := &corev1.PodList{}
				return list, w.client.List(ctx, list, options(raw))
			},
			WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
				return w.client.Watch(ctx, &corev1.PodList{}, options(raw))
			},
		},
	})
	e.store, e.synced = store, informer.HasSynced
	go informer.RunWithContext(ctx)
	go func() { // there may be no pods to tell of
		select {
		case <-informer.HasSyncedChecker().Done():
			e.seen.Store(time.Now().UnixNano())
			tell()
		case <-ctx.Done():
		}
	}()
	return e, nil
}

// trim leaves of a pod what a release depends on. Of its labels that is the version alone: its order is read live.
func trim(object any) (any, error) {
	pod, is := object.(*corev1.Pod)
	if !is { // a tombstone
		return object, nil
	}
	pod.ManagedFields, pod.Annotations = nil, nil
	if revision, found := pod.Labels[appsv1.ControllerRevisionHashLabelKey]; found {
		pod.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}
	} else {
		pod.Labels = nil
	}
	spec := corev1.PodSpec{NodeName: pod.Spec.NodeName}
	if spec.NodeName == "" {
		spec.Affinity = pod.Spec.Affinity // it says for which node a DaemonSet's pod is
	}
	pod.Spec = spec
	pod.Status = corev1.PodStatus{Phase: pod.Status.Phase, Conditions: pod.Status.Conditions}
	return pod, nil
}
