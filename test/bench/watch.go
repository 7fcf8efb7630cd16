package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// change is one change of one object.
type change struct {
	// at is when the watch told of it.
	at time.Time
	// revision of the cluster that it made. All kinds are in one etcd, so that revisions put the
	// changes of different kinds in order.
	revision uint64
	object   client.Object
	gone     bool
}

// watchLog keeps each change of some kinds of objects in the namespace.
type watchLog struct {
	mu      sync.Mutex
	changes []change
	// changed is closed, and replaced, at each change.
	changed chan struct{}
	failure error
}

// everything lists what a release is about.
func everything() []client.ObjectList {
	return []client.ObjectList{
		&corev1.PodList{}, &appsv1.ReplicaSetList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.DaemonSetList{},
		&v1alpha1.BatchReleaseList{},
	}
}

// watch logs the changes of some kinds, of which there are no objects yet, until ctx is done.
func (l *lab) watch(ctx context.Context, kinds ...client.ObjectList) (*watchLog, error) {
	log := &watchLog{changed: make(chan struct{})}
	for _, kind := range kinds {
		if err := l.client.List(ctx, kind, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list %T: %w", kind, err)
		}
		// The API server may end a watch at any time; this one then goes on where it was.
		w, err := watchtools.NewRetryWatcherWithContext(ctx, kind.GetResourceVersion(), l.watcher(kind))
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind, err)
		}
		go log.follow(w.ResultChan())
	}
	return log, nil
}

func (l *lab) watcher(kind client.ObjectList) toolscache.WatcherWithContext {
	return &toolscache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return l.client.Watch(ctx, kind, client.InNamespace(namespace), &client.ListOptions{Raw: &options})
		},
	}
}

// follow takes events until they end. A watch that can't go on leaves a gap, and so
// nothing that could be relied on.
func (w *watchLog) follow(events <-chan watch.Event) {
	for event := range events {
		object, ok := event.Object.(client.Object)
		if event.Type == watch.Error || !ok {
			w.fail(fmt.Errorf("watch: %w", apierrors.FromObject(event.Object)))
			return
		}
		w.take(change{time.Now(), revisionOf(object), trim(object), event.Type == watch.Deleted})
	}
}

func (w *watchLog) take(c change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes = append(w.changes, c)
	w.wake()
}

func (w *watchLog) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failure = err
	w.wake()
}

func (w *watchLog) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// since returns the changes from the nth on, and what is closed when there are more.
func (w *watchLog) since(n int) ([]change, <-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.changes[n:]), w.changed, w.failure
}

// ordered returns all changes in the order in which they were made.
func (w *watchLog) ordered() []change {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Clone(w.changes)
	slices.SortStableFunc(all, func(a, b change) int { return int(int64(a.revision) - int64(b.revision)) })
	return all
}

// await waits until something held of a number of objects, now or before, and returns when
// the last of them got there.
func (w *watchLog) await(ctx context.Context, number int, held func(client.Object) bool) (time.Time, error) {
	return w.awaitFrom(ctx, 0, number, held)
}

// length returns how many changes there are.
func (w *watchLog) length() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.changes)
}

// awaitFrom awaits what holds from the nth change on.
func (w *watchLog) awaitFrom(ctx context.Context, n, number int, held func(client.Object) bool) (time.Time, error) {
	there := map[string]bool{}
	for {
		changes, more, err := w.since(n)
		for _, c := range changes {
			if !c.gone && held(c.object) {
				there[c.object.GetName()] = true
			}
			if len(there) == number {
				return c.at, nil
			}
		}
		if err != nil {
			return time.Time{}, err
		}
		n += len(changes)
		select {
		case <-more:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("wait for %d objects, got %d: %w", number, len(there), context.Cause(ctx))
		}
	}
}

// trim takes off what nobody looks at.
func trim(object client.Object) client.Object {
	object.SetManagedFields(nil)
	if pod, ok := object.(*corev1.Pod); ok {
		pod.Spec, pod.Status.ContainerStatuses = corev1.PodSpec{}, nil
	}
	return object
}

func revisionOf(object client.Object) uint64 {
	revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return revision
}
