package approvals

import (
	"context"
	"fmt"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// jobWatch watches the Jobs of gates, from the first job gate on: a controller without such gates
// needs no right to. The controller starts, and serves all other gates, without the right.
type jobWatch struct {
	cache cache.Cache

	mu       sync.Mutex
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
	informer cache.Informer
	problem  string
}

// newJobWatch returns the watch of the Jobs of gates in the namespaces of options. Mgr runs it.
func newJobWatch(mgr ctrl.Manager, options cache.Options) (*jobWatch, error) {
	w := &jobWatch{}
	ofGates, err := labels.NewRequirement(v1alpha1.GateLabel, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("select Jobs: %w", err)
	}
	options.Scheme, options.HTTPClient, options.Mapper = mgr.GetScheme(), mgr.GetHTTPClient(), mgr.GetRESTMapper()
	options.ByObject = map[client.Object]cache.ByObject{&batchv1.Job{}: {Label: labels.NewSelector().Add(*ofGates), Transform: withoutTemplate}}
	options.DefaultWatchErrorHandler = func(ctx context.Context, r *toolscache.Reflector, err error) {
		if apierrors.IsForbidden(err) {
			w.fail(noRight(err))
			return
		}
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
	}
	if w.cache, err = cache.New(mgr.GetConfig(), options); err != nil {
		return nil, fmt.Errorf("make cache of Jobs: %w", err)
	}
	if err := mgr.Add(w.cache); err != nil {
		return nil, fmt.Errorf("add cache of Jobs: %w", err)
	}
	return w, nil
}

// withoutTemplate takes off what nobody reads of a cached Job.
func withoutTemplate(object any) (any, error) {
	if job, is := object.(*batchv1.Job); is && job.ManagedFields != nil {
		job.ManagedFields = nil
		job.Spec.Template.Spec.Containers, job.Spec.Template.Spec.Volumes = nil, nil
	}
	return object, nil
}

// Start takes the queue for the gates of Jobs; it implements source.Source.
func (w *jobWatch) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	return nil
}

// jobWatchState is the state of the watch.
type jobWatchState struct {
	synced  bool
	problem string
}

// state starts the watch if it has not been started, and returns its state.
func (w *jobWatch) state() jobWatchState {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.informer == nil {
		if err := w.begin(); err != nil {
			return jobWatchState{problem: "can't watch Jobs: " + err.Error()}
		}
	}
	if w.informer.HasSynced() {
		w.problem = ""
		return jobWatchState{synced: true}
	}
	return jobWatchState{problem: w.problem}
}

func (w *jobWatch) begin() error {
	informer, err := w.cache.GetInformer(context.Background(), &batchv1.Job{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    w.enqueue,
		UpdateFunc: func(_, after any) { w.enqueue(after) },
		DeleteFunc: w.enqueue,
	})
	if err == nil {
		w.informer = informer
	}
	return err
}

func (w *jobWatch) enqueue(object any) {
	if tombstone, is := object.(toolscache.DeletedFinalStateUnknown); is {
		object = tombstone.Obj
	}
	job, is := object.(client.Object)
	if !is {
		return
	}
	for _, request := range gateOfJob(job) {
		w.queue.Add(request)
	}
}

func (w *jobWatch) fail(problem string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problem = problem
}
