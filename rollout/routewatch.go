package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// Keys of the cache's indexes for traffic.
const (
	// indexRoute finds releases by the routes that they name, and indexGranted those that name routes
	// of other namespaces.
	indexRoute   = "rollout.route"
	indexGranted = "rollout.granted"
	// indexNamed finds releases by the Services that they name, and by the names that those of the
	// sides have.
	indexNamed = "rollout.named"
	// indexHolder finds routes by the releases that hold them, as their annotations say, and
	// indexService EndpointSlices by their Services.
	indexHolder  = "rollout.holder"
	indexService = "rollout.service"
)

// granted is the one value of indexGranted.
const granted = "true"

// routes are the routes of releases as the controller knows them.
type routes struct {
	kinds *kinds
	// namespaces to watch; none means all.
	namespaces []string
}

// setUpTraffic has the controller watch what requests are shared by, as far as the API server
// serves it, and returns what begins to watch the rest once it does.
func (r *Reconciler) setUpTraffic(mgr ctrl.Manager, opts Options) (*watcher, error) {
	ctx, w := context.Background(), &watcher{r: r}
	if err := setUpTrafficIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	caches, err := newRouteCaches(mgr, opts.Cache, w.begin)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(caches); err != nil {
		return nil, fmt.Errorf("add caches of routes: %w", err)
	}
	known := newKinds(r.clock, caches.ask, caches.open, w.lost)
	for _, kind := range route.Kinds {
		if err := known.begin(ctx, route.GroupVersionKind(kind)); err != nil {
			return nil, err
		}
	}
	r.routes = &routes{kinds: known, namespaces: opts.Namespaces}
	return w, nil
}

// watcher has the controller told of changes.
type watcher struct {
	r *Reconciler
	// controller is nil until it is built; until then, sources wait for it.
	controller controller.Controller
	sources    []source.Source

	mu sync.Mutex
	// queue is nil until the controller has started.
	queue workqueue.TypedInterface[reconcile.Request]
}

// watch adds what is always served.
func (w *watcher) watch(b *builder.Builder) *builder.Builder {
	return b.
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(w.r.maps.releasesOfService)).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(w.r.maps.releasesOfSlice)).
		WatchesRawSource(source.Func(w.started))
}

// built has the controller take the sources that have waited for it.
func (w *watcher) built(c controller.Controller) error {
	w.controller = c
	for _, s := range w.sources {
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("watch routes: %w", err)
		}
	}
	return nil
}

// started notes where releases are queued.
func (w *watcher) started(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	return nil
}

// lost has all releases looked at that share requests, after a kind of routes has ended.
func (w *watcher) lost() {
	w.mu.Lock()
	queue := w.queue
	w.mu.Unlock()
	var releases v1alpha1.BatchReleaseList
	if queue == nil || w.r.client.List(context.Background(), &releases, client.UnsafeDisableDeepCopy) != nil {
		return // only possible before the controller has started, when everything is queued anyway
	}
	for i := range releases.Items {
		if r := &releases.Items[i]; r.Spec.Strategy.Traffic != nil || r.Status.Traffic != nil {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(r)})
		}
	}
}

// begin indexes the cache of a kind and has the controller told of its changes. Before it starts,
// the controller waits until the cache has seen all.
func (w *watcher) begin(of cache.Cache, kind schema.GroupVersionKind) error {
	ctx, object, releases := context.Background(), routeOf(kind), w.r.maps.releasesOfGrant
	if !slices.Contains(route.GrantKinds, kind) {
		releases = w.r.maps.releasesOfRoute
		if err := of.IndexField(ctx, object, indexHolder, holderNames); err != nil {
			return fmt.Errorf("index by %s: %w", indexHolder, err)
		}
	}
	events := handler.EnqueueRequestsFromMapFunc(releases)
	if w.controller == nil {
		w.sources = append(w.sources, source.Kind[client.Object](of, object, events))
		return nil
	}
	informer, err := of.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	return w.controller.Watch(&source.Informer{Informer: informer, Handler: events})
}

func setUpTrafficIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	indexes := []struct {
		object client.Object
		key    string
		value  client.IndexerFunc
	}{
		{&v1alpha1.BatchRelease{}, indexRoute, routesOf},
		{&v1alpha1.BatchRelease{}, indexGranted, namesOtherNamespaces},
		{&v1alpha1.BatchRelease{}, indexNamed, servicesNamed},
		{&corev1.Service{}, indexOwner, controllerUID},
		{&discoveryv1.EndpointSlice{}, indexService, serviceOf},
	}
	for _, index := range indexes {
		if err := indexer.IndexField(ctx, index.object, index.key, index.value); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.object, index.key, err)
		}
	}
	return nil
}

// routeKey tells a route from all others.
type routeKey struct {
	kind v1alpha1.TrafficRouteKind
	types.NamespacedName
}

func (k routeKey) String() string { return string(k.kind) + "/" + k.NamespacedName.String() }

// words returns the route's name for users, who may have routes of that name in several namespaces.
func (k routeKey) words() string { return string(k.kind) + " " + k.NamespacedName.String() }

// keyOf returns that of a route that a release in the namespace names.
func keyOf(namespace string, named v1alpha1.TrafficRoute) routeKey {
	if named.Namespace != "" {
		namespace = named.Namespace
	}
	return routeKey{named.Kind, types.NamespacedName{Namespace: namespace, Name: named.Name}}
}

func routesOf(obj client.Object) []string {
	spec := obj.(*v1alpha1.BatchRelease).Spec.Strategy.Traffic
	if spec == nil {
		return nil
	}
	var keys []string
	for _, named := range spec.Routes {
		keys = append(keys, keyOf(obj.GetNamespace(), named).String())
	}
	return keys
}

func namesOtherNamespaces(obj client.Object) []string {
	spec := obj.(*v1alpha1.BatchRelease).Spec.Strategy.Traffic
	if spec == nil || !slices.ContainsFunc(spec.Routes, func(named v1alpha1.TrafficRoute) bool {
		return keyOf(obj.GetNamespace(), named).Namespace != obj.GetNamespace()
	}) {
		return nil
	}
	return []string{granted}
}

// mostHolders is of how many releases at most a route is followed that claims to be theirs: anybody
// may write anything to an annotation.
const mostHolders = 16

// holders returns the releases that hold a route.
func holders(obj client.Object) []types.NamespacedName {
	var releases []types.NamespacedName
	holds, _ := route.Holders(obj)
	for i := range holds[:min(len(holds), mostHolders)] {
		namespace, name, _ := strings.Cut(holds[i].Release, "/")
		releases = append(releases, types.NamespacedName{Namespace: namespace, Name: name})
	}
	return releases
}

func holderNames(obj client.Object) []string {
	var names []string
	for _, holder := range holders(obj) {
		names = append(names, holder.String())
	}
	return names
}

func serviceOf(obj client.Object) []string {
	return []string{obj.GetLabels()[discoveryv1.LabelServiceName]}
}

// releasesOfRoute returns the releases that name a route, those that hold it, and the one whose
// canary Ingress it is.
func (r *watchMaps) releasesOfRoute(ctx context.Context, obj client.Object) []reconcile.Request {
	kind := v1alpha1.TrafficRouteKind(obj.GetObjectKind().GroupVersionKind().Kind)
	key := routeKey{kind, client.ObjectKeyFromObject(obj)}
	requests := r.releasesBy(ctx, client.MatchingFields{indexRoute: key.String()})
	for _, holder := range holders(obj) {
		requests = append(requests, reconcile.Request{NamespacedName: holder})
	}
	return append(requests, releaseOwning(ctx, obj)...)
}

// releasesOfGrant returns all releases that name routes of other namespaces. They are too few to be
// told apart by grant.
func (r *watchMaps) releasesOfGrant(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.releasesBy(ctx, client.MatchingFields{indexGranted: granted})
}

// releasesOfService returns the release whose side it is, and those that name it, or need its name.
func (r *watchMaps) releasesOfService(ctx context.Context, obj client.Object) []reconcile.Request {
	return append(r.releasesBy(ctx, client.MatchingFields{indexNamed: client.ObjectKeyFromObject(obj).String()}), releaseOwning(ctx, obj)...)
}

func (r *watchMaps) releasesOfSlice(ctx context.Context, obj client.Object) []reconcile.Request {
	var service corev1.Service
	key := client.ObjectKey{Namespace: obj.GetNamespace(), Name: obj.GetLabels()[discoveryv1.LabelServiceName]}
	if err := r.client.Get(ctx, key, &service, client.UnsafeDisableDeepCopy); err != nil { // nobody's, or gone
		return nil
	}
	return releaseOwning(ctx, &service)
}

func releaseOwning(_ context.Context, obj client.Object) []reconcile.Request {
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.Kind != "BatchRelease" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: owner.Name}}}
}

func (r *watchMaps) releasesBy(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	var releases v1alpha1.BatchReleaseList
	if err := r.client.List(ctx, &releases, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil // only possible before the cache has started, when everything is queued anyway
	}
	requests := make([]reconcile.Request, 0, len(releases.Items))
	for i := range releases.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&releases.Items[i])})
	}
	return requests
}
