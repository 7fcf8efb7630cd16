package rollout

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// DefaultConcurrency is how many releases are worked on at once by default. A pass
// mostly waits for the API server.
const DefaultConcurrency = 16

// Keys of the cache's indexes.
const (
	indexWorkload = "rollout.workload"
	indexOwner    = "rollout.owner"
	indexRelease  = "rollout.release"
)

// kindKept is what templates are kept as.
var kindKept = appsv1.SchemeGroupVersion.WithKind("ControllerRevision")

// Reconciler carries out what plan.Next decides for each BatchRelease.
type Reconciler struct {
	client    client.Client
	live      client.Reader
	recorder  events.EventRecorder
	clock     clock.PassiveClock
	processes *processes
	// snapshots of namespaces are what a preflight judges.
	snapshots *snapshots
}

// NewReconciler makes a Reconciler that reads from the caches of a client, and from live
// where a decision must not depend on a cache.
func NewReconciler(cached client.Client, live client.Reader, recorder events.EventRecorder, now clock.PassiveClock) *Reconciler {
	return &Reconciler{
		client:    client.WithFieldOwner(cached, v1alpha1.OwnerRollout),
		live:      live,
		recorder:  recorder,
		clock:     now,
		processes: newProcesses(now),

		snapshots: &snapshots{live: live},
	}
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases/status,verbs=patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases/finalizers,verbs=update
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=resourcequotas;limitranges,verbs=list
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the Reconciler and the indexes that it reads by.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	if err := setUpIndexes(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("rollout").
		For(&v1alpha1.BatchRelease{}).
		Owns(&v1alpha1.Gate{}).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.releasesOfDeployment)).
		Watches(&v1alpha1.BatchRelease{}, handler.EnqueueRequestsFromMapFunc(r.releasesBeside), builder.WithPredicates(leaves)).
		Watches(&appsv1.ReplicaSet{}, handler.EnqueueRequestsFromMapFunc(r.releasesOfReplicaSet)).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(r)
}

func setUpIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	kept := &metav1.PartialObjectMetadata{}
	kept.SetGroupVersionKind(kindKept)
	indexes := []struct {
		object client.Object
		key    string
		value  client.IndexerFunc
	}{
		{&v1alpha1.BatchRelease{}, indexWorkload, workloadName},
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

func workloadName(obj client.Object) []string {
	return []string{obj.(*v1alpha1.BatchRelease).Spec.WorkloadRef.Name}
}

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

// leaves are the events by which a release leaves its Deployment to the others that name it.
var leaves = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil
	},
	GenericFunc: func(event.GenericEvent) bool { return false },
}

func (r *Reconciler) releasesBeside(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.releasesOf(ctx, obj.GetNamespace(), obj.(*v1alpha1.BatchRelease).Spec.WorkloadRef.Name)
}

func (r *Reconciler) releasesOfDeployment(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.releasesOf(ctx, obj.GetNamespace(), obj.GetName())
}

func (r *Reconciler) releasesOfReplicaSet(ctx context.Context, obj client.Object) []reconcile.Request {
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.Kind != "Deployment" {
		return nil
	}
	return r.releasesOf(ctx, obj.GetNamespace(), owner.Name)
}

func (r *Reconciler) releasesOf(ctx context.Context, namespace, workload string) []reconcile.Request {
	var releases v1alpha1.BatchReleaseList
	err := r.client.List(ctx, &releases, client.InNamespace(namespace),
		client.MatchingFields{indexWorkload: workload}, client.UnsafeDisableDeepCopy)
	if err != nil { // only possible before the cache has started, when everything is queued anyway
		return nil
	}
	requests := make([]reconcile.Request, 0, len(releases.Items))
	for i := range releases.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&releases.Items[i])})
	}
	return requests
}

// Reconcile brings one release as far as it can go now.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	process := r.processes.of(req.NamespacedName)
	view, err := r.observe(ctx, req.NamespacedName, process)
	if err != nil {
		return ctrl.Result{}, err
	}
	if view == nil {
		r.processes.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	wake, err := r.advance(ctx, view)
	view.noteLook(err, r.clock.Now())
	if outdated(err) {
		// What was decided on has changed. The overlay has the newer object: decide again.
		return ctrl.Result{RequeueAfter: process.nextTry()}, nil
	}
	process.outdated = 0
	if process.gates.Ahead() {
		wake = earlier(wake, unseenFor)
	}
	return ctrl.Result{RequeueAfter: wake}, err
}
