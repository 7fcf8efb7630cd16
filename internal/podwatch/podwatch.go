// Package podwatch watches the pods of workloads while they are released.
//
// Sluice keeps no pods of the cluster: there are many. It counts those of a Deployment by its
// ReplicaSets. The pods of a StatefulSet or a DaemonSet are replaced one by one, and have to be
// known one by one; so they are watched, those of one workload, from when it is taken over until it
// is handed back.
package podwatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watches holds the watches of all releases. Any number of goroutines may use them.
type Watches struct {
	client  client.WithWatch
	trim    cache.TransformFunc
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
	// version is that of the latest that was heard.
	version func() string
	begun   time.Time
	// asked is when the watch was asked for: the pods with which it begins are as of then, or later,
	// and may come long after that. It is nil before.
	asked atomic.Pointer[time.Time]
	// told says that somebody has been given the first pods, or had to read them.
	told atomic.Bool
	// relisted says that the pods were listed from a cache of the API server, which may lag behind.
	relisted atomic.Bool
}

// howFresh returns Fresh for the first who asks in time, and All from then on.
func (e *entry) howFresh() Seen {
	if !e.told.Swap(true) && !e.relisted.Load() && e.fresh() {
		return Fresh
	}
	return All
}

// fresh reports whether the first pods may still be acted on.
func (e *entry) fresh() bool {
	asked := e.asked.Load()
	return asked != nil && time.Since(*asked) < freshFor
}

// lost reports whether the watch has heard that a pod does not serve any more that did, or that it
// is another one.
func (e *entry) lost(pod *corev1.Pod) bool {
	object, found, err := e.store.Get(pod)
	switch now, is := object.(*corev1.Pod); {
	case err != nil:
		return false
	case !found: // or the watch has not heard of it yet
		return e.version() == pod.ResourceVersion || later(e.version(), pod.ResourceVersion)
	default:
		return is && later(now.ResourceVersion, pod.ResourceVersion) && (now.UID != pod.UID || !serves(now))
	}
}

func serves(pod *corev1.Pod) bool {
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	return pod.DeletionTimestamp == nil && !ended && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// later reports whether a version is a later one than another. It is not where that can't be told.
func later(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}

// Pods selects pods in a namespace.
type Pods struct {
	Namespace, Selector string
}

// grace is how long it takes to see all pods, unless something is wrong.
const grace = 2 * time.Second

// New returns Watches that keep what trim leaves of a pod, and call changed for each change of a
// release's pods, and once all of them are listed. A call of changed may take until the context
// ends, which is when no watch runs any more.
func New(c client.WithWatch, trim cache.TransformFunc, changed func(ctx context.Context, release types.NamespacedName)) *Watches {
	return &Watches{client: c, trim: trim, changed: changed, entries: map[types.NamespacedName]*entry{}}
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

// A watch that has begun sees all pods in a moment. One that is late does not work: they have to be
// read.
const (
	Late Seen = iota
	Begun
	All
	// Fresh is All, with a watch that began a moment ago, so that no live read of the pods is
	// needed.
	Fresh
)

// freshFor is how long the first pods are fresh from when they were asked for: as long as the
// answer to a list may take, on a machine that is busy, until it is acted on. What changes
// meanwhile the watch tells, and Overtaken says.
const freshFor = 5 * time.Second

// Of returns the pods that a release watches, to be read only. It begins to watch them if it does
// not yet; there are none until it has seen them all.
func (w *Watches) Of(release types.NamespacedName, what Pods) ([]*corev1.Pod, Seen, error) {
	e, err := w.entry(release, what)
	switch {
	case err != nil || e == nil:
		return nil, Late, err
	case !e.synced() && time.Since(e.begun) < grace:
		return nil, Begun, nil
	case !e.synced():
		e.told.Store(true) // who reads the pods now may delete some, and the watch began before that
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

// Overtaken reports whether pods that a release has seen, Fresh or read live, must not be acted on
// any more: the watch has heard since that one that served does not, or they were fresh, and that
// was too long ago. It costs no request.
func (w *Watches) Overtaken(release types.NamespacedName, pods []*corev1.Pod, fresh bool) bool {
	w.mu.Lock()
	e := w.entries[release]
	w.mu.Unlock()
	switch {
	case e == nil:
		return fresh
	case fresh && !e.fresh():
		return true
	default:
		return e.synced() && slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return serves(pod) && e.lost(pod) })
	}
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
		Transform:  w.trim,
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
				if !e.synced() {
					e.asked.Store(new(time.Now()))
				}
				return w.client.Watch(ctx, &corev1.PodList{}, options(raw))
			},
		},
	})
	e.store, e.synced, e.version = store, informer.HasSynced, informer.LastSyncResourceVersion
	go informer.RunWithContext(ctx)
	go func() { // there may be no pods to tell of
		select {
		case <-informer.HasSyncedChecker().Done():
			tell()
		case <-ctx.Done():
		}
	}()
	return e, nil
}

// Trim leaves of a pod what a release depends on, and what says why a pod does not serve. Of its
// labels that is the version alone: its order is read live.
func Trim(object any) (any, error) {
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
	status := corev1.PodStatus{Phase: pod.Status.Phase, Reason: pod.Status.Reason, Conditions: pod.Status.Conditions}
	if !serves(pod) {
		status.InitContainerStatuses, status.ContainerStatuses = trimContainers(pod.Status.InitContainerStatuses), trimContainers(pod.Status.ContainerStatuses)
	}
	pod.Status = status
	return pod, nil
}

// trimContainers leaves what tells why a pod does not serve: why its containers wait, and how they
// ended.
func trimContainers(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	var trimmed []corev1.ContainerStatus
	for i := range all {
		trimmed = append(trimmed, corev1.ContainerStatus{
			Name: all[i].Name, Image: all[i].Image, Ready: all[i].Ready,
			State: trimState(all[i].State), LastTerminationState: trimState(all[i].LastTerminationState),
		})
	}
	return trimmed
}

func trimState(state corev1.ContainerState) corev1.ContainerState {
	var trimmed corev1.ContainerState
	if waiting := state.Waiting; waiting != nil {
		trimmed.Waiting = &corev1.ContainerStateWaiting{Reason: waiting.Reason}
	}
	if ended := state.Terminated; ended != nil {
		trimmed.Terminated = &corev1.ContainerStateTerminated{ExitCode: ended.ExitCode, Reason: ended.Reason}
	}
	return trimmed
}
