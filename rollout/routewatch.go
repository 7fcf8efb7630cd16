package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
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
	kinds *routeKinds
	// namespaces to watch; none means all.
	namespaces []string
}

// setUpTraffic watches the Services, EndpointSlices, routes and ReferenceGrants by which requests
// are shared, as far as the API server serves them at the start.
func (r *Reconciler) setUpTraffic(mgr ctrl.Manager, b *builder.Builder, opts Options) error {
	ctx := context.Background()
	if err := setUpTrafficIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	b.Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(r.maps.releasesOfService)).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(r.maps.releasesOfSlice))
	server, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("set up discovery: %w", err)
	}
	changed := make(chan error, 1)
	restart := func(err error) {
		select {
		case changed <- err:
		default: // the controller ends already
		}
	}
	known := newKinds(r.clock, discoverer{server.RESTClient()}.ask, restart)
	of, err := cache.New(mgr.GetConfig(), routeCacheOptions(mgr, opts.Cache, known))
	if err != nil {
		return fmt.Errorf("make cache of routes: %w", err)
	}
	for _, kind := range watchedKinds() {
		is, err := known.ask(ctx, kind)
		if err != nil {
			return fmt.Errorf("find out whether %s is served: %w", kind.Kind, err)
		}
		if !is.served {
			continue
		}
		if err := r.watchRoutes(b, of, kind); err != nil {
			return fmt.Errorf("watch %s: %w", kind.Kind, err)
		}
		known.served[kind] = of
	}
	r.routes = &routes{kinds: known, namespaces: opts.Namespaces}
	for _, part := range []manager.Runnable{of, restarter(changed)} {
		if err := mgr.Add(part); err != nil {
			return fmt.Errorf("add watches of routes: %w", err)
		}
	}
	return nil
}

// watchedKinds returns each kind of route and ReferenceGrant.
func watchedKinds() []schema.GroupVersionKind {
	all := slices.Clone(route.GrantKinds)
	for _, kind := range route.Kinds {
		all = append(all, route.GroupVersionKind(kind))
	}
	return all
}

// routeCacheOptions returns the options of the manager's cache, with a check of each kind when one
// is not found.
func routeCacheOptions(mgr ctrl.Manager, options cache.Options, known *routeKinds) cache.Options {
	options.Scheme, options.HTTPClient, options.Mapper, options.ByObject = mgr.GetScheme(), mgr.GetHTTPClient(), mgr.GetRESTMapper(), nil
	options.DefaultWatchErrorHandler = func(ctx context.Context, r *toolscache.Reflector, err error) {
		if apierrors.IsNotFound(err) {
			known.lost(ctx)
			return
		}
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
	}
	return options
}

// watchRoutes watches a kind, and indexes routes by the releases that hold them.
func (r *Reconciler) watchRoutes(b *builder.Builder, of cache.Cache, kind schema.GroupVersionKind) error {
	object, releases := routeOf(kind), r.maps.releasesOfGrant
	if !slices.Contains(route.GrantKinds, kind) {
		releases = r.maps.releasesOfRoute
		if err := of.IndexField(context.Background(), object, indexHolder, holderNames); err != nil {
			return fmt.Errorf("index by %s: %w", indexHolder, err)
		}
	}
	b.WatchesRawSource(source.Kind[client.Object](of, object, handler.EnqueueRequestsFromMapFunc(releases)))
	return nil
}

// restarter ends the manager with the first error that it receives.
type restarter <-chan error

// NeedLeaderElection returns false: each replica watches routes.
func (restarter) NeedLeaderElection() bool { return false }

// Start waits for an error, or for the end of the context.
func (r restarter) Start(ctx context.Context) error {
	select {
	case err := <-r:
		return err
	case <-ctx.Done():
		return nil
	}
}

func routeOf(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
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
