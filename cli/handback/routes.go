package handback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// heldRoute is a route that a release holds for a Service.
type heldRoute struct {
	kind    v1alpha1.TrafficRouteKind
	key     client.ObjectKey
	service string
	holder  route.Holder
	// unclear says that the annotation does not tell who holds the route; the holder is then a release
	// that names it.
	unclear bool
	// astray says that the annotation was taken away of a route which that release names and which
	// still refers to its Services.
	astray bool
	// steps are those of the release; only of a route that is astray, whose rules for matches they
	// tell.
	steps []v1alpha1.Step
	// claimed says that nothing but the annotation tells that a release of another namespace holds the
	// route, which anybody may have written, or that the namespace does not consent to what the release
	// names.
	claimed bool
}

func (r heldRoute) String() string { return fmt.Sprintf("%s %s", r.kind, r.key) }

// errRoutes says that a workload stays held because requests would be lost.
var errRoutes = errors.New("not handed back: a route of its release is not restored, or can't be read, and would send requests to pods that go")

// restored are how many routes were restored, and what keeps workloads held.
type restored struct {
	routes int
	kept
	drains drains
}

// restoreRoutes gives routes back what they had, before the pods that they send requests to go.
// What could not be given back is in the error.
func (c *Command) restoreRoutes(ctx context.Context) (restored, error) {
	releases, known, err := c.releases(ctx)
	if err != nil {
		return restored{kept: kept{all: true}}, err
	}
	found, err := c.findRoutes(ctx, releases, known, kept{})
	done := restored{routes: len(found.held), kept: found.kept, drains: c.drainsOf(found.held, releases)}
	failed := []error{err}
	for _, together := range byRoute(found.held) {
		for i, err := range c.restoreRoute(ctx, together) {
			if r := together[i]; err != nil {
				done.failed[r.holder.Release] = done.failed[r.holder.Release] || !r.claimed
				failed = append(failed, fmt.Errorf("%s: %w", r, err))
			}
		}
	}
	return done, errors.Join(failed...)
}

// byRoute puts those together that are held of one route, as its annotation says: they are given
// back by one write, however many somebody has made up.
func byRoute(held []heldRoute) [][]heldRoute {
	var all [][]heldRoute
	at := map[routeID]int{}
	for _, r := range held {
		if r.astray || r.unclear {
			all = append(all, []heldRoute{r})
			continue
		}
		of := routeID{r.kind, r.key}
		if i, known := at[of]; known {
			all[i] = append(all[i], r)
			continue
		}
		at[of] = len(all)
		all = append(all, []heldRoute{r})
	}
	return all
}

// routeID tells a route from others.
type routeID struct {
	kind v1alpha1.TrafficRouteKind
	key  client.ObjectKey
}

// found are the routes that are held, and what those keep held that could not be looked for.
type found struct {
	held []heldRoute
	kept
}

// findRoutes lists the routes in scope that are held. Kinds that the cluster does not serve have
// none. Who may not list them has none either, if no release in scope names one. What keeps
// workloads held already is not looked for again.
func (c *Command) findRoutes(ctx context.Context, releases map[string]*v1alpha1.BatchRelease, known bool, before kept) (found, error) {
	all := found{kept: kept{failed: map[string]bool{}, unseen: slices.Clone(before.unseen), releases: releases}}
	maps.Copy(all.failed, before.failed)
	var failed []error
	for _, kind := range route.Kinds {
		for _, namespace := range c.namespacesOf(kind, releases) {
			here := place{kind, namespace}
			if slices.Contains(before.unseen, here) {
				continue
			}
			held, err := c.routesIn(ctx, kind, namespace, releases)
			all.held = append(all.held, held...)
			if err == nil || apierrors.IsForbidden(err) && known && !here.named(releases) {
				continue
			}
			all.unseen, failed = append(all.unseen, here), append(failed, err)
		}
	}
	consents := consents{}
	for i := range all.held {
		r := &all.held[i]
		if r.claimed {
			continue
		}
		if is, err := c.consents(ctx, r, consents); err == nil && !is { // who can't tell goes by what the release says
			r.claimed = true
		}
	}
	astray, err := c.findAstray(ctx, releases, all.held, all.failed, consents)
	all.held = append(all.held, astray...)
	return all, errors.Join(append(failed, err)...)
}

// releases returns those in scope of the namespaces, by namespace and name. They are not known
// where their CRD is gone.
func (c *Command) releases(ctx context.Context) (map[string]*v1alpha1.BatchRelease, bool, error) {
	var list v1alpha1.BatchReleaseList
	err := c.client.List(ctx, &list, client.InNamespace(c.options.Namespace))
	if absent(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("list BatchReleases: %w", err)
	}
	releases := map[string]*v1alpha1.BatchRelease{}
	for i := range list.Items {
		releases[client.ObjectKeyFromObject(&list.Items[i]).String()] = &list.Items[i]
	}
	return releases, true, nil
}

// namespacesOf returns those in which routes of a kind may be held: the one that is in scope, and
// those of others that a release there names.
func (c *Command) namespacesOf(kind v1alpha1.TrafficRouteKind, releases map[string]*v1alpha1.BatchRelease) []string {
	namespaces := map[string]bool{c.options.Namespace: true}
	for _, release := range releases {
		if spec := release.Spec.Strategy.Traffic; spec != nil && c.options.Namespace != "" {
			for _, named := range spec.Routes {
				if named.Kind == kind && named.Namespace != "" {
					namespaces[named.Namespace] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(namespaces))
}

func (c *Command) routesIn(
	ctx context.Context, kind v1alpha1.TrafficRouteKind, namespace string, releases map[string]*v1alpha1.BatchRelease,
) ([]heldRoute, error) {
	var held []heldRoute
	list := &metav1.PartialObjectMetadataList{}
	for {
		gvk := route.GroupVersionKind(kind)
		gvk.Kind += "List"
		list.SetGroupVersionKind(gvk)
		err := c.client.List(ctx, list, client.InNamespace(namespace), client.Limit(page), client.Continue(list.Continue))
		switch {
		case absent(err):
			return held, nil
		case err != nil:
			return held, fmt.Errorf("list %ss%s: %w", kind, in(namespace), err)
		}
		for i := range list.Items {
			object := client.ObjectKeyFromObject(&list.Items[i])
			holders, readable := route.Holders(&list.Items[i])
			for _, one := range holders {
				if c.inScope(one.Release, releases) {
					namespace, _, _ := strings.Cut(one.Release, "/")
					claimed := namespace != object.Namespace && !slices.Contains(servicesOf(kind, object, releases[one.Release]), one.Service)
					held = append(held, heldRoute{kind: kind, key: object, service: one.Service, holder: one.Holder, claimed: claimed})
				}
			}
			if !readable {
				held = append(held, c.unreadable(kind, object, holders, releases)...)
			}
		}
		if list.Continue == "" {
			return held, nil
		}
	}
}

// unreadable returns what releases in scope may hold of a route whose annotation can't be read. One
// that no release names is told: nobody can say whose it is, and its owner may have written
// anything there.
func (c *Command) unreadable(
	kind v1alpha1.TrafficRouteKind, key client.ObjectKey, readable []route.Held, releases map[string]*v1alpha1.BatchRelease,
) []heldRoute {
	var held []heldRoute
	named := false
	for _, name := range slices.Sorted(maps.Keys(releases)) {
		release := releases[name]
		for _, service := range servicesOf(kind, key, release) {
			named = true
			holder := route.Holder{Release: name, UID: string(release.UID)}
			known := slices.ContainsFunc(readable, func(h route.Held) bool { return h.Service == service && h.Release == name })
			if !known && c.names(release.Spec.WorkloadRef) {
				held = append(held, heldRoute{kind: kind, key: key, service: service, holder: holder, unclear: true})
			}
		}
	}
	if !named {
		c.tell(fmt.Sprintf("%s %s: left alone: its annotation %s can't be read, and no release names it", kind, key, v1alpha1.TrafficAnnotation))
	}
	return held
}

// servicesOf returns those for which a release names a route; none if there is no such release.
func servicesOf(kind v1alpha1.TrafficRouteKind, key client.ObjectKey, release *v1alpha1.BatchRelease) []string {
	if release == nil || release.Spec.Strategy.Traffic == nil {
		return nil
	}
	var services []string
	for _, named := range release.Spec.Strategy.Traffic.Routes {
		if named.Kind == kind && named.Name == key.Name && cmp.Or(named.Namespace, release.Namespace) == key.Namespace {
			services = append(services, named.Service)
		}
	}
	return services
}

// inScope reports whether a release is meant, which may be gone: then its name is taken for that of
// its workload.
func (c *Command) inScope(release string, releases map[string]*v1alpha1.BatchRelease) bool {
	namespace, name, _ := strings.Cut(release, "/")
	if c.options.Namespace != "" && namespace != c.options.Namespace {
		return false
	}
	if known := releases[release]; known != nil {
		return c.names(known.Spec.WorkloadRef)
	}
	return len(c.options.Names) == 0 || slices.ContainsFunc(c.options.Names, func(n Name) bool { return n.Name == name })
}

// restoreRoute gives one route back what it had, whatever else happens to it meanwhile. The errors
// are those of each that is held of it.
func (c *Command) restoreRoute(ctx context.Context, of []heldRoute) []error {
	var failed []error
	var err error
	for range tries {
		if failed, err = c.tryRestoreRoute(ctx, of); !apierrors.IsConflict(err) {
			break
		}
	}
	if err == nil {
		return failed
	}
	return slices.Repeat([]error{err}, len(of))
}

// tryRestoreRoute returns what keeps each that is held from being given back, or the error of a
// read or write that keeps all.
func (c *Command) tryRestoreRoute(ctx context.Context, of []heldRoute) ([]error, error) {
	r := of[0]
	object, err := c.readRoute(ctx, r)
	if err != nil || object == nil {
		return nil, err
	}
	if r.astray {
		again, err := c.reclaim(ctx, r, object)
		if err != nil || again == nil {
			return nil, err
		}
		return c.giveRoute(ctx, of, object, again)
	}
	return c.giveRoute(ctx, of, object, object)
}

// use returns what the release has to do with a route.
func (r heldRoute) use() route.Use {
	namespace, _, _ := strings.Cut(r.holder.Release, "/")
	return route.Use{Namespace: namespace, Service: r.service, Holder: r.holder}
}

// giveRoute writes a route as it is without the releases. What is held is the route with their
// holds.
func (c *Command) giveRoute(ctx context.Context, of []heldRoute, object, held *unstructured.Unstructured) ([]error, error) {
	failed, restored, given := make([]error, len(of)), held, []heldRoute(nil)
	holders, _ := route.Holders(held)
	for i, r := range of {
		if !r.unclear && !r.astray && !slices.Contains(holders, route.Held{Service: r.service, Holder: r.holder}) {
			continue // somebody has restored it, or holds it in the release's place
		}
		without, problem := route.KindOf(r.kind).Restore(restored, r.use())
		if problem != nil {
			failed[i] = fmt.Errorf("%s: restore it by hand: make it refer to Service %s, and remove its annotation %s",
				problem.Message, r.service, v1alpha1.TrafficAnnotation)
			continue
		}
		restored, given = without, append(given, r)
	}
	outcome := kube.Patch(ctx, c.client, object, restored)
	switch outcome.(type) {
	case kube.Unchanged, kube.Gone: // somebody has restored or deleted it
		given = nil
	case kube.Written:
	case kube.Outdated, kube.Refused, kube.Failed:
		return nil, fmt.Errorf("patch route: %w", kube.Err(outcome))
	}
	if err := c.dropCanary(ctx, of, failed); err != nil {
		return nil, err
	}
	done := "restored"
	if c.options.DryRun {
		done = "would be restored"
	}
	for _, r := range given {
		c.tell(fmt.Sprintf("%s: %s: its requests go to Service %s again, and no longer to %s and %s",
			r, done, r.service, route.SidesOf(r.service).Stable, route.SidesOf(r.service).Canary))
	}
	return failed, nil
}

// dropCanary deletes the second Ingress that a release has made beside one, once the first sends
// its requests to the user's Service: not while that has failed.
func (c *Command) dropCanary(ctx context.Context, of []heldRoute, failed []error) error {
	r := of[0]
	if r.kind != v1alpha1.RouteIngress {
		return nil
	}
	canary := &metav1.PartialObjectMetadata{}
	canary.SetGroupVersionKind(route.GroupVersionKind(r.kind))
	key := client.ObjectKey{Namespace: r.key.Namespace, Name: route.CanaryIngressName(r.key.Name)}
	err := c.client.Get(ctx, key, canary)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Ingress %s: %w", key.Name, err)
	}
	owned := false
	for i := range of {
		owned = owned || failed[i] == nil && of[i].owns(canary)
	}
	if !owned {
		return nil
	}
	err = c.client.Delete(ctx, canary, client.Preconditions{UID: &canary.UID, ResourceVersion: &canary.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Ingress %s: %w", key.Name, err)
	}
	return nil
}
