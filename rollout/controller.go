package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/podwatch"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// DefaultConcurrency is how many releases are worked on at once by default. A pass
// mostly waits for the API server.
const DefaultConcurrency = 16

// Keys of the cache's indexes.
const (
	indexWorkload = "rollout.workload"
	indexOwner    = "rollout.owner"
	indexRelease  = "rollout.release"
	indexTrain    = "rollout.train"
)

// kindKept is what templates are kept as.
var kindKept = appsv1.SchemeGroupVersion.WithKind("ControllerRevision")

// Reconciler carries out what plan.Next decides for each BatchRelease.
type Reconciler struct {
	*cluster
	observer    *observer
	pods        *podReader
	history     *historian
	workloads   *workloadWriter
	objects     *objectWriter
	sides       *sides
	routeReader *routeReader
	routeWriter *routeWriter
	kinds       *kindShell
	maps        *watchMaps
	// podsChanged passes on releases whose watched pods have changed.
	podsChanged chan event.GenericEvent
}

// NewReconciler makes a Reconciler that reads from the caches of a client, and from live
// where a decision must not depend on a cache. It watches pods through watching.
func NewReconciler(
	cached client.Client, live client.Reader, watching client.WithWatch, recorder events.EventRecorder, now clock.PassiveClock,
) *Reconciler {
	r := newReconciler(&cluster{
		client:    client.WithFieldOwner(cached, v1alpha1.OwnerRollout),
		live:      live,
		recorder:  recorder,
		clock:     now,
		processes: newProcesses(now),
		snapshots: &snapshots{live: live},
	})
	r.podsChanged = make(chan event.GenericEvent)
	r.watches = podwatch.New(watching, podwatch.Trim, r.podChanged)
	return r
}

// podChanged queues a release whose pods have changed. The event is dropped once the process stops.
func (r *Reconciler) podChanged(ctx context.Context, release types.NamespacedName) {
	object := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: release.Namespace, Name: release.Name}}
	select {
	case r.podsChanged <- event.GenericEvent{Object: object}:
	case <-ctx.Done():
	}
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases/status,verbs=patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases/finalizers,verbs=update
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=resourcequotas;limitranges,verbs=list
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Options configure a Reconciler.
type Options struct {
	// Concurrency is how many releases are worked on at once. Default DefaultConcurrency.
	Concurrency int
	// Traffic lets releases share requests by routes, which takes rights of its own
	// (config/components/traffic).
	Traffic bool
	// Namespaces to watch; none means all.
	Namespaces []string
	// Cache holds the options of the manager's cache. Routes have caches of their own with the same
	// options.
	Cache cache.Options
}

// SetupWithManager registers the Reconciler and the indexes that it reads by.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, opts Options) error {
	if err := setUpIndexes(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if err := mgr.Add(r.watches); err != nil {
		return fmt.Errorf("add watches of pods: %w", err)
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("rollout").
		For(&v1alpha1.BatchRelease{}).
		Owns(&v1alpha1.Gate{}).
		WatchesRawSource(source.Channel(r.podsChanged, &handler.EnqueueRequestForObject{})).
		Watches(&v1alpha1.BatchRelease{}, handler.EnqueueRequestsFromMapFunc(r.maps.releasesBeside), builder.WithPredicates(leaves)).
		Watches(&v1alpha1.BatchRelease{}, trainEvents(r.client)).
		Watches(&appsv1.ReplicaSet{}, handler.EnqueueRequestsFromMapFunc(r.maps.releasesOfReplicaSet), builder.WithPredicates(r.maps.news())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: cmp.Or(opts.Concurrency, DefaultConcurrency), RateLimiter: kube.BackOff(),
		})
	for _, kind := range workload.Kinds {
		b.Watches(workload.New(kind).Object(), handler.EnqueueRequestsFromMapFunc(r.maps.releasesOfWorkload), builder.WithPredicates(r.maps.news()))
	}
	if opts.Traffic {
		if err := r.setUpTraffic(mgr, b, opts); err != nil {
			return fmt.Errorf("set up traffic: %w", err)
		}
	}
	return b.Complete(r)
}

func setUpIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	kept := &metav1.PartialObjectMetadata{}
	kept.SetGroupVersionKind(kindKept)
	indexes := []struct {
		object client.Object
		key    string
		value  client.IndexerFunc
	}{
		{&v1alpha1.BatchRelease{}, indexWorkload, workloadOf},
		{&v1alpha1.BatchRelease{}, indexTrain, trainOf},
		{&appsv1.ReplicaSet{}, indexOwner, controllerUID},
		{&v1alpha1.Gate{}, indexRelease, releaseUID},
		{kept, indexOwner, keptFor},
	}
	for _, index := range indexes {
		if err := indexer.IndexField(ctx, index.object, index.key, index.value); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.object, index.key, err)
		}
	}
	return nil
}

func workloadOf(obj client.Object) []string {
	release := obj.(*v1alpha1.BatchRelease)
	if len(release.Spec.Members) > 0 {
		return nil
	}
	return []string{workloadKey(release.Spec.WorkloadRef)}
}

// workloadKey tells a workload from others of its namespace.
func workloadKey(ref v1alpha1.WorkloadReference) string { return ref.Kind + "/" + ref.Name }

func controllerUID(obj client.Object) []string {
	if owner := metav1.GetControllerOf(obj); owner != nil {
		return []string{string(owner.UID)}
	}
	return nil
}

func keptFor(obj client.Object) []string {
	if release := v1alpha1.KeptFor(obj); release != "" {
		return []string{string(release)}
	}
	return nil
}

func releaseUID(obj client.Object) []string {
	return []string{string(obj.(*v1alpha1.Gate).Spec.ReleaseRef.UID)}
}

// leaves are the events by which a release leaves its workload to the others that name it.
var leaves = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil
	},
	GenericFunc: func(event.GenericEvent) bool { return false },
}

func (r *watchMaps) releasesBeside(ctx context.Context, obj client.Object) []reconcile.Request {
	release := obj.(*v1alpha1.BatchRelease)
	if len(release.Spec.Members) > 0 {
		return nil
	}
	return r.releasesOf(ctx, obj.GetNamespace(), workloadKey(release.Spec.WorkloadRef))
}

func (r *watchMaps) releasesOfWorkload(ctx context.Context, obj client.Object) []reconcile.Request {
	w, err := workload.Of(obj)
	if err != nil {
		return nil
	}
	return r.releasesOf(ctx, obj.GetNamespace(), workloadKey(v1alpha1.WorkloadReference{Kind: w.Kind(), Name: w.GetName()}))
}

func (r *watchMaps) releasesOfReplicaSet(ctx context.Context, obj client.Object) []reconcile.Request {
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.Kind != "Deployment" {
		return nil
	}
	return r.releasesOf(ctx, obj.GetNamespace(), workloadKey(v1alpha1.WorkloadReference{Kind: owner.Kind, Name: owner.Name}))
}

func (r *watchMaps) releasesOf(ctx context.Context, namespace, key string) []reconcile.Request {
	var releases v1alpha1.BatchReleaseList
	err := r.client.List(ctx, &releases, client.InNamespace(namespace),
		client.MatchingFields{indexWorkload: key}, client.UnsafeDisableDeepCopy)
	if err != nil { // only possible before the cache has started, when everything is queued anyway
		return nil
	}
	requests := make([]reconcile.Request, 0, len(releases.Items))
	for i := range releases.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&releases.Items[i])})
	}
	return requests
}

// unseenPods is after how long to look again if a watch of pods does not tell that it has seen
// them.
const unseenPods = 3 * time.Second

// Reconcile brings one release as far as it can go now.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	process := r.processes.of(req.NamespacedName)
	view, err := r.observer.observe(ctx, req.NamespacedName, process)
	if errors.Is(err, errUnseen) { // the watch tells when it has
		return r.wakeFirst(ctx, []plan.Wake{{After: unseenPods, Why: plan.WakePodsUnseen}}), nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if view == nil {
		r.processes.forget(req.NamespacedName)
		r.watches.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	process = view.process // that of a release which has taken the name
	r.processes.note(process, view.inProgress())
	wakes, err := r.advance(ctx, view)
	view.noteLook(err, r.clock.Now())
	if !view.inProgress() {
		process.whole = wholeTemplate{} // it will not be needed soon
	}
	if outdated(err) { // the overlay has the newer object: decide again
		wakes = []plan.Wake{{After: process.nextTry(), Why: plan.WakeConflict}}
		return r.wakeFirst(ctx, wakes), nil
	}
	process.outdated = 0
	return r.wakeFirst(ctx, append(append(wakes, view.wakes...), process.wakes()...)), err
}

// wakeFirst asks for another pass at the first of several times.
func (r *Reconciler) wakeFirst(ctx context.Context, wakes []plan.Wake) ctrl.Result {
	first := plan.First(wakes)
	if first.Why != "" {
		log.FromContext(ctx).V(1).Info("Decides again though nothing may have changed", "after", first.After, "why", first.Why, "all", wakes)
	}
	return ctrl.Result{RequeueAfter: first.After}
}
