package rollout

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// trafficProcess holds the knowledge of this process about the traffic of one release beyond the
// caches.
type trafficProcess struct {
	objects  map[v1alpha1.TrafficRouteKind]*kube.Overlay[*unstructured.Unstructured]
	services *kube.Overlay[*corev1.Service]
	// users are Services of others that have the names that the release needs, or names.
	users *kube.Overlay[*corev1.Service]
	// held are the routes that the release held when it was last looked at: the cache may not know of
	// the last of them yet.
	held  []routeKey
	watch traffic.Watch
	// problems of sides that could not be written, and unshared those of routes. Answers for Services
	// that were written are by name.
	problems map[traffic.SideName]knownProblem
	unshared map[heldKey]knownProblem
	answered map[string]answered
}

func newTrafficProcess(now clock.PassiveClock) *trafficProcess {
	p := &trafficProcess{
		objects:  map[v1alpha1.TrafficRouteKind]*kube.Overlay[*unstructured.Unstructured]{},
		services: kube.NewOverlay[*corev1.Service](now, unseenFor),
		users:    kube.NewOverlay[*corev1.Service](now, unseenFor),
		problems: map[traffic.SideName]knownProblem{},
		unshared: map[heldKey]knownProblem{},
		answered: map[string]answered{},
	}
	for _, kind := range route.Kinds {
		p.objects[kind] = newRouteOverlay(now)
	}
	return p
}

func newRouteOverlay(now clock.PassiveClock) *kube.Overlay[*unstructured.Unstructured] {
	return kube.NewOverlay[*unstructured.Unstructured](now, unseenFor)
}

// trafficSeen are the objects of a release's traffic as a pass sees them.
type trafficSeen struct {
	// kinds of the routes, as far as they can be seen.
	kinds map[v1alpha1.TrafficRouteKind]seenKind
	// routes that the release names or holds, and their canary Ingresses.
	routes map[routeKey]*unstructured.Unstructured
	// services of the sides, by name.
	services map[string]*corev1.Service
	// users hold the Services that the release names, and Services of other owners with the names of
	// sides, by name. The live ones were read in this pass.
	users map[string]*corev1.Service
	live  map[string]bool
	// reclaimed are routes of which somebody has taken away that the release holds them, as they were
	// before.
	reclaimed map[heldKey]*unstructured.Unstructured
}

// heldKey identifies one Service of a route, which a release holds.
type heldKey struct {
	routeKey

	service string
}

func (r *routeReader) observeRouted(ctx context.Context, v *view) error {
	seen, err := r.observeTraffic(ctx, v)
	v.facts.Traffic = seen
	return err
}

// observeTraffic reads what requests are shared by; nil if the release has no traffic and has left
// none.
func (r *routeReader) observeTraffic(ctx context.Context, v *view) (*traffic.Seen, error) {
	spec := v.release.Spec.Strategy.Traffic
	if r.routes == nil {
		if spec == nil && v.release.Status.Traffic == nil {
			return nil, nil
		}
		return &traffic.Seen{Off: &v1alpha1.TrafficProblem{
			Type: v1alpha1.TrafficDisabled, Message: "the controller runs without --traffic",
		}}, nil
	}
	held, services, err := r.leftOf(ctx, v)
	if err != nil {
		return nil, err
	}
	if spec == nil && len(held) == 0 && len(services) == 0 && v.process.traffic == nil {
		return nil, nil
	}
	if v.process.traffic == nil {
		v.process.traffic = newTrafficProcess(r.clock)
	}
	seen, err := r.seeTraffic(ctx, v, held, services)
	if err != nil {
		return nil, err
	}
	if spec == nil && len(v.process.traffic.held) == 0 && !seen.Services {
		v.process.traffic = nil
		return nil, nil
	}
	var told traffic.Seen
	seen.Stage = traffic.StageOf(v.release, &v.release.Status)
	v.process.traffic.watch, told = v.process.traffic.watch.Looked(*seen, r.clock.Now())
	return &told, nil
}

// leftOf returns what the caches have of a release: routes that it holds, as their annotations say,
// and Services that it owns. Anybody may write to thousands of routes of their namespace that the
// release holds them: none of these is read.
func (r *routeReader) leftOf(ctx context.Context, v *view) ([]routeKey, []*corev1.Service, error) {
	var held []routeKey
	for _, kind := range route.Kinds {
		is, err := r.kindOf(ctx, v, kind)
		if err != nil {
			return nil, nil, err
		}
		if is.reader == nil {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(route.GroupVersionKind(kind))
		err = is.reader.List(ctx, list, client.UnsafeDisableDeepCopy,
			client.MatchingFields{indexHolder: client.ObjectKeyFromObject(v.release).String()})
		if err != nil {
			return nil, nil, fmt.Errorf("list %ss: %w", kind, err)
		}
		consents := map[string]bool{v.release.Namespace: true}
		for i := range list.Items {
			key := routeKey{kind, client.ObjectKeyFromObject(&list.Items[i])}
			consent, known := consents[key.Namespace]
			if !known {
				if consent, err = r.mayReferFrom(ctx, v, key); err != nil {
					return nil, nil, err
				}
				consents[key.Namespace] = consent
			}
			if consent {
				held = append(held, key)
			}
		}
	}
	var services corev1.ServiceList
	err := r.client.List(ctx, &services, client.InNamespace(v.release.Namespace),
		client.MatchingFields{indexOwner: string(v.release.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, nil, fmt.Errorf("list Services: %w", err)
	}
	return held, pointers(services.Items), nil
}

// seeTraffic returns what there is of the traffic of a release, but for the times.
func (r *routeReader) seeTraffic(ctx context.Context, v *view, held []routeKey, services []*corev1.Service) (*traffic.Seen, error) {
	p := v.process.traffic
	v.traffic = trafficSeen{services: map[string]*corev1.Service{}, live: v.traffic.live, reclaimed: map[heldKey]*unstructured.Unstructured{}}
	if v.traffic.live == nil {
		v.traffic.live = map[string]bool{}
	}
	for _, service := range p.services.List(services) {
		v.traffic.services[service.Name] = service
	}
	if err := r.sides.observeUsers(ctx, v); err != nil {
		return nil, err
	}
	seen := &traffic.Seen{Services: len(v.traffic.services) > 0}
	off, err := r.observeRoutes(ctx, v, held)
	if err != nil || off != nil {
		seen.Off = off
		return seen, err
	}
	if seen.Routes, err = r.seenRoutes(ctx, v); err != nil {
		return nil, err
	}
	if seen.Stable, err = r.sides.seeSide(ctx, v, traffic.StableSide); err != nil {
		return nil, err
	}
	seen.Canary, err = r.sides.seeSide(ctx, v, traffic.CanarySide)
	return seen, err
}

// observeRoutes reads the routes that the release names, and those that it holds; or says why that
// can't be done.
func (r *routeReader) observeRoutes(ctx context.Context, v *view, held []routeKey) (*v1alpha1.TrafficProblem, error) {
	keys := map[routeKey]bool{}
	for _, key := range slices.Concat(held, v.process.traffic.held) {
		keys[key] = true
	}
	if spec := v.release.Spec.Strategy.Traffic; spec != nil {
		for _, named := range spec.Routes {
			keys[keyOf(v.release.Namespace, named)] = true
		}
	}
	for key := range maps.Clone(keys) {
		if key.kind == v1alpha1.RouteIngress {
			keys[canaryKey(key)] = true
		}
	}
	off, err := r.observeKinds(ctx, v, keys)
	if err != nil || off != nil {
		return off, err
	}
	return nil, r.readRoutes(ctx, v, keys)
}

// readRoutes reads routes from the cache, with what this process knows to be newer in their place.
func (r *routeReader) readRoutes(ctx context.Context, v *view, keys map[routeKey]bool) error {
	cached := map[v1alpha1.TrafficRouteKind][]*unstructured.Unstructured{}
	for key := range keys {
		reader := v.traffic.kinds[key.kind].reader
		if reader == nil || !r.routes.sees(key.Namespace) {
			continue
		}
		object := routeOf(route.GroupVersionKind(key.kind))
		err := reader.Get(ctx, key.NamespacedName, object)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("get %s: %w", key.kind, err)
		}
		cached[key.kind] = append(cached[key.kind], object)
	}
	v.traffic.routes = map[routeKey]*unstructured.Unstructured{}
	for _, kind := range route.Kinds {
		if v.traffic.kinds[kind].gone { // with all that was seen of it
			v.process.traffic.objects[kind] = newRouteOverlay(r.clock)
		}
		for _, object := range v.process.traffic.objects[kind].List(cached[kind]) {
			v.traffic.routes[routeKey{kind, client.ObjectKeyFromObject(object)}] = object
		}
	}
	return nil
}

// sees reports whether the controller watches a namespace.
func (r *routes) sees(namespace string) bool {
	return len(r.namespaces) == 0 || slices.Contains(r.namespaces, namespace)
}

// seenRoutes returns the routes that the release names, in their order, and then those that it
// holds besides.
func (r *routeReader) seenRoutes(ctx context.Context, v *view) ([]traffic.Route, error) {
	var seen []traffic.Route
	named := map[string]bool{}
	if spec := v.release.Spec.Strategy.Traffic; spec != nil {
		for _, of := range spec.Routes {
			key := keyOf(v.release.Namespace, of)
			named[key.String()+"/"+of.Service] = true
			one, err := r.seenRoute(ctx, v, key, of)
			if err != nil {
				return nil, err
			}
			one.Named = true
			seen = append(seen, one)
		}
	}
	left, err := r.leftRoutes(ctx, v, named)
	if err != nil {
		return nil, err
	}
	seen = append(seen, left...)
	v.process.traffic.held = nil
	for i := range seen {
		if seen[i].Held {
			v.process.traffic.held = append(v.process.traffic.held, keyOf(v.release.Namespace, seen[i].TrafficRoute))
		}
	}
	return seen, nil
}

// leftRoutes returns the routes that the release holds and that are not among those that it names.
func (r *routeReader) leftRoutes(ctx context.Context, v *view, named map[string]bool) ([]traffic.Route, error) {
	var left []traffic.Route
	for _, key := range slices.SortedFunc(maps.Keys(v.traffic.routes), compareKeys) {
		for _, service := range heldServices(v.traffic.routes[key], v.release) {
			if named[key.String()+"/"+service] {
				continue
			}
			one, err := r.leftRoute(ctx, v, key, service)
			if err != nil {
				return nil, err
			}
			if one.Held {
				left = append(left, one)
			}
		}
	}
	return left, nil
}

// compareKeys sorts routes by kind, namespace and name.
func compareKeys(a, b routeKey) int { return strings.Compare(a.String(), b.String()) }

// useOf returns what a release has to do with a route.
func useOf(release *v1alpha1.BatchRelease, service string) route.Use {
	return route.Use{
		Namespace: release.Namespace, Service: service,
		Holder: route.Holder{Release: client.ObjectKeyFromObject(release).String(), UID: string(release.UID)},
	}
}

// heldServices returns those for which a release holds a route, as the annotation says.
func heldServices(object *unstructured.Unstructured, release *v1alpha1.BatchRelease) []string {
	var services []string
	holders, _ := route.Holders(object)
	for i := range holders {
		if holders[i].Release == client.ObjectKeyFromObject(release).String() {
			services = append(services, holders[i].Service)
		}
	}
	return services
}

// seenRoute returns a route that the release names. It reveals nothing about a route in another
// namespace that the release may not share, not even whether it exists: the author of the release
// may have no right to know.
func (r *routeReader) seenRoute(ctx context.Context, v *view, key routeKey, named v1alpha1.TrafficRoute) (traffic.Route, error) {
	ungranted, err := r.ungranted(ctx, v, key, named)
	if err != nil {
		return traffic.Route{}, err
	}
	if v.traffic.routes[key] == nil {
		missing := traffic.Route{TrafficRoute: named, Accepted: true} // there is nobody to wait for
		missing.Problem = cmp.Or(ungranted, r.missing(v, key))
		return missing, nil
	}
	refused := cmp.Or(canaryTaken(v, key), r.routeProblem(v, heldKey{key, named.Service}), ungranted)
	if refused == nil {
		reclaim(v, key, named)
	}
	one := r.readRoute(v, key, named)
	if ungranted != nil {
		one.Ungranted, one.Problem, one.Refused, one.Pending = true, ungranted, nil, nil
	}
	if one.Problem == nil {
		one.Problem = refused
	}
	return one, nil
}

// missing says that a route is not there.
func (r *routeReader) missing(v *view, key routeKey) *v1alpha1.TrafficProblem {
	if v.traffic.kinds[key.kind].gone {
		return notServed(key)
	}
	if !r.routes.sees(key.Namespace) {
		message := fmt.Sprintf("the controller does not watch namespace %q", key.Namespace)
		return &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNamespaceNotWatched, Object: key.words(), Message: message}
	}
	return &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficRouteNotFound, Object: key.words(), Message: "the route does not exist"}
}

// reclaim notes what a route that the release names was before somebody took away that the release
// holds it, where that can be told: then it is the release's again. Where somebody else has a
// Service of the name of a side, the route may be meant for that.
func reclaim(v *view, key routeKey, named v1alpha1.TrafficRoute) {
	if !sidesAreFree(v, named.Service) {
		return
	}
	use := useOf(v.release, named.Service)
	again := route.Reclaimed(key.kind, v.traffic.routes[key], canaryOf(v, key), use, v.release.Spec.Strategy.Steps)
	if again != nil {
		v.traffic.reclaimed[heldKey{key, named.Service}] = again
	}
}

// readRoute returns a route that is there. One that is reclaimed has to be written.
func (r *routeReader) readRoute(v *view, key routeKey, named v1alpha1.TrafficRoute) traffic.Route {
	object, again := v.traffic.routes[key], v.traffic.reclaimed[heldKey{key, named.Service}]
	if again != nil {
		object = again
	}
	one := route.KindOf(key.kind).Read(object, canaryOf(v, key), useOf(v.release, named.Service))
	one.TrafficRoute = named
	one.Whole = one.Whole && again == nil
	return one
}

// leftRoute returns a route that the release holds and does not name. In another namespace it
// counts only while that of the release still lets such routes refer to its Services, or if this
// process knows that it counted before: anybody may write to a route that a release is its holder,
// and have the release wait for it to be restored.
func (r *routeReader) leftRoute(ctx context.Context, v *view, key routeKey, service string) (traffic.Route, error) {
	left := v1alpha1.TrafficRoute{Kind: key.kind, Name: key.Name, Service: service}
	if key.Namespace != v.release.Namespace {
		left.Namespace = key.Namespace
		refers, err := r.mayRefer(ctx, v, left)
		if err != nil || !refers && !slices.Contains(v.process.traffic.held, key) {
			return traffic.Route{}, err
		}
		one := r.readRoute(v, key, left)
		one.Ungranted = !refers
		return one, nil
	}
	return r.readRoute(v, key, left), nil
}
