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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// routeID identifies a route.
type routeID struct {
	kind v1alpha1.TrafficRouteKind
	key  client.ObjectKey
}

func (r routeID) String() string { return fmt.Sprintf("%s %s", r.kind, r.key) }

// canary returns the identity of the second Ingress beside one.
func (r routeID) canary() routeID {
	r.key.Name = route.CanaryIngressName(r.key.Name)
	return r
}

// heldRoute is a route that a release holds, or names, for a Service.
type heldRoute struct {
	routeID

	service string
	holder  route.Holder
}

// use returns the release and the Service whose requests the route shares.
func (r heldRoute) use() route.Use {
	namespace, _, _ := strings.Cut(r.holder.Release, "/")
	return route.Use{Namespace: namespace, Service: r.service, Holder: r.holder}
}

// named returns the route as a release names it, always with its namespace.
func (r heldRoute) named() v1alpha1.TrafficRoute {
	return v1alpha1.TrafficRoute{Kind: r.kind, Namespace: r.key.Namespace, Name: r.key.Name, Service: r.service}
}

// leaving is a release whose routes are restored.
type leaving struct {
	// name is the namespace and name of the release.
	name string
	// claimed marks routes of other namespaces without consent: anybody may have written that the
	// release holds them. They are restored, but keep no workload held.
	claimed bool
	routes  []heldRoute
	known   map[serviceID]bool
	// steps show which rules of a route are for matches.
	steps  []v1alpha1.Step
	goal   traffic.Goal
	watch  traffic.Watch
	failed map[heldRoute]error
	// unsure holds why consent is unknown: only the annotation of such a route says what to restore.
	unsure map[heldRoute]error
}

// serviceID identifies a Service of a route.
type serviceID struct {
	routeID

	service string
}

// add adds a route, unless the release has it for this Service.
func (l *leaving) add(r heldRoute) {
	if id := (serviceID{r.routeID, r.service}); !l.known[id] {
		l.known[id] = true
		l.routes = append(l.routes, r)
	}
}

// fail notes that a route can't be restored or read.
func (l *leaving) fail(r heldRoute, err error) { l.failed[r] = fmt.Errorf("%s: %w", r, err) }

// routes holds the routes to restore, and what keeps workloads held.
type routes struct {
	releases map[string]*v1alpha1.BatchRelease
	// leaving holds the releases in the order of their names, and their claims apart.
	leaving []*leaving
	byName  map[string]*leaving
	// unread marks that not even the releases could be listed.
	unread bool
	// unlisted holds each kind of route that could not be listed.
	unlisted []v1alpha1.TrafficRouteKind
	// written counts the restored routes.
	written int
}

// of returns a release among those that leave.
func (f *routes) of(name string, claimed bool) *leaving {
	key := fmt.Sprint(name, claimed)
	if l := f.byName[key]; l != nil {
		return l
	}
	release := f.releases[name]
	l := &leaving{
		name: name, claimed: claimed, goal: plan.LeavingGoal(release), known: map[serviceID]bool{}, failed: map[heldRoute]error{}, unsure: map[heldRoute]error{},
	}
	if release != nil {
		l.steps = release.Spec.Strategy.Steps
	}
	f.byName[key], f.leaving = l, append(f.leaving, l)
	return l
}

// errs returns all that can't be restored or read.
func (f *routes) errs() error {
	var all []error
	for _, l := range f.leaving {
		all = append(all, slices.SortedFunc(maps.Values(l.failed), func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })...)
	}
	return errors.Join(all...)
}

// keeps reports whether a workload stays held: requests may still be sent to its pods.
func (f *routes) keeps(c *Command, w metav1.Object) bool {
	if hold.Text(w) == nil {
		return false
	}
	failed := slices.ContainsFunc(f.leaving, func(l *leaving) bool { return !l.claimed && len(l.failed) > 0 && mayHold(l.name, w) })
	var release *v1alpha1.BatchRelease
	if held := hold.Of(w); held != nil {
		release = f.releases[w.GetNamespace()+"/"+held.Release]
	}
	return f.unread || failed || slices.ContainsFunc(f.unlisted, func(kind v1alpha1.TrafficRouteKind) bool { return c.mayShare(release, kind) })
}

// mayHold reports whether a release holds a workload. An annotation that can't be read may name any
// of the namespace.
func mayHold(release string, w metav1.Object) bool {
	namespace, name, _ := strings.Cut(release, "/")
	if hold.Text(w) == nil || namespace != w.GetNamespace() {
		return false
	}
	held := hold.Of(w)
	return held == nil || held.Release == name
}

// mayShare reports whether a release may hold a route of a kind among those that are listed. It may
// if it is unknown, which is nil, or no longer names the routes that it shares.
func (c *Command) mayShare(release *v1alpha1.BatchRelease, kind v1alpha1.TrafficRouteKind) bool {
	if release == nil {
		return true
	}
	spec := release.Spec.Strategy.Traffic
	if spec == nil {
		return release.Status.Traffic != nil
	}
	return slices.ContainsFunc(spec.Routes, func(r v1alpha1.TrafficRoute) bool {
		listed := c.options.Namespace == "" || cmp.Or(r.Namespace, release.Namespace) == c.options.Namespace
		return r.Kind == kind && listed
	})
}

// findRoutes lists the routes that releases in scope hold or name. Kinds that the cluster does not
// serve have none. A missing right to list a kind counts only if a release may hold such a route.
func (c *Command) findRoutes(ctx context.Context) (*routes, error) {
	found := &routes{releases: map[string]*v1alpha1.BatchRelease{}, byName: map[string]*leaving{}}
	var list v1alpha1.BatchReleaseList
	err := c.client.List(ctx, &list, client.InNamespace(c.options.Namespace))
	if err != nil && !absent(err) {
		found.unread = true
		return found, fmt.Errorf("list BatchReleases: %w", err)
	}
	known := err == nil
	for i := range list.Items {
		found.releases[client.ObjectKeyFromObject(&list.Items[i]).String()] = &list.Items[i]
	}
	var failed []error
	grants := grants{}
	for _, kind := range route.Kinds {
		err := c.findHeld(ctx, found, kind, grants)
		shared := slices.ContainsFunc(list.Items, func(r v1alpha1.BatchRelease) bool { return c.mayShare(&r, kind) })
		if err == nil || apierrors.IsForbidden(err) && known && !shared {
			continue
		}
		found.unlisted, failed = append(found.unlisted, kind), append(failed, err)
	}
	for _, name := range slices.Sorted(maps.Keys(found.releases)) {
		if c.names(found.releases[name].Spec.WorkloadRef) {
			c.addNamed(ctx, found, name, grants)
		}
	}
	slices.SortStableFunc(found.leaving, func(a, b *leaving) int { return cmp.Compare(a.name, b.name) })
	return found, errors.Join(failed...)
}

// findHeld adds the routes of a kind that are held by their annotations.
func (c *Command) findHeld(ctx context.Context, found *routes, kind v1alpha1.TrafficRouteKind, grants grants) error {
	gvk := route.GroupVersionKind(kind)
	gvk.Kind += "List"
	err := c.eachPage(ctx, gvk, func(object *metav1.PartialObjectMetadata) {
		id := routeID{kind, client.ObjectKeyFromObject(object)}
		holders, readable := route.Holders(object)
		for _, one := range holders {
			if c.inScope(one.Release, found.releases) {
				r := heldRoute{id, one.Service, one.Holder}
				found.of(one.Release, c.isClaimed(ctx, r, found.releases[one.Release], grants)).add(r)
			}
		}
		named := func(release *v1alpha1.BatchRelease) bool {
			return slices.ContainsFunc(namedBy(release), func(r heldRoute) bool { return r.routeID == id })
		}
		if !readable && !slices.ContainsFunc(slices.Collect(maps.Values(found.releases)), named) {
			c.tell(fmt.Sprintf("%s: left alone: its annotation %s can't be read, and no release names it", id, v1alpha1.TrafficAnnotation))
		}
	})
	if absent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %ss%s: %w", kind, in(c.options.Namespace), err)
	}
	return nil
}

// isClaimed reports whether a route is in another namespace that does not consent to its release,
// or that the release does not name.
func (c *Command) isClaimed(ctx context.Context, r heldRoute, release *v1alpha1.BatchRelease, grants grants) bool {
	if r.key.Namespace == r.use().Namespace {
		return false
	}
	named := slices.ContainsFunc(namedBy(release), func(n heldRoute) bool { return n.routeID == r.routeID && n.service == r.service })
	consents, err := c.consents(ctx, r, grants)
	return !named || err == nil && !consents // if consent is unknown, the workload stays held for the route
}

// addNamed adds the routes that a release names: another writer may have removed the annotation, or
// they are in a namespace that was not listed. A release may name any route: without consent, only
// one whose annotation names the release as holder is written.
func (c *Command) addNamed(ctx context.Context, found *routes, name string, grants grants) {
	release := found.releases[name]
	if release.Spec.Strategy.Traffic == nil && release.Status.Traffic == nil {
		return
	}
	l := found.of(name, false)
	for _, r := range namedBy(release) {
		consents, err := c.consents(ctx, r, grants)
		switch {
		case err != nil:
			l.add(r)
			l.unsure[r] = err
		case consents:
			l.add(r)
		case c.options.Namespace != "":
			found.of(name, true).add(r)
		}
	}
}

// namedBy returns the routes that a release names; none if it is nil.
func namedBy(release *v1alpha1.BatchRelease) []heldRoute {
	if release == nil || release.Spec.Strategy.Traffic == nil {
		return nil
	}
	var all []heldRoute
	for _, named := range release.Spec.Strategy.Traffic.Routes {
		key := client.ObjectKey{Namespace: cmp.Or(named.Namespace, release.Namespace), Name: named.Name}
		holder := route.Holder{Release: client.ObjectKeyFromObject(release).String(), UID: string(release.UID)}
		all = append(all, heldRoute{routeID{named.Kind, key}, named.Service, holder})
	}
	return all
}

// inScope reports whether a release is in the namespace, and one of the named workloads is its own.
// A release that is gone has the name of its workload.
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

// in names a namespace, to follow a noun.
func in(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}
