package handback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// findAstray lists the routes that releases in scope name and that still refer to their Services,
// though somebody has taken the annotation away. A release of which one can't be read is noted as
// failed. Those of namespaces that don't consent are left alone: a release may name any.
func (c *Command) findAstray(
	ctx context.Context, releases map[string]*v1alpha1.BatchRelease, held []heldRoute, unread map[string]bool, consents consents,
) ([]heldRoute, error) {
	var found []heldRoute
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(releases)) {
		if unread[name] || !c.names(releases[name].Spec.WorkloadRef) {
			continue
		}
		for _, r := range namedBy(releases[name]) {
			if slices.ContainsFunc(held, r.sameHold) {
				continue
			}
			r.astray = true
			is, err := c.isAstray(ctx, r)
			if err == nil && is {
				is, err = c.consents(ctx, &r, consents)
			}
			switch {
			case err != nil:
				unread[name] = true
				failed = append(failed, fmt.Errorf("%s: %w", r, err))
			case is:
				found = append(found, r)
			}
		}
	}
	return found, errors.Join(failed...)
}

// namedBy returns the routes that a release names, whether it holds them or not.
func namedBy(release *v1alpha1.BatchRelease) []heldRoute {
	if release.Spec.Strategy.Traffic == nil {
		return nil
	}
	var all []heldRoute
	for _, named := range release.Spec.Strategy.Traffic.Routes {
		all = append(all, heldRoute{
			kind: named.Kind, key: client.ObjectKey{Namespace: cmp.Or(named.Namespace, release.Namespace), Name: named.Name}, service: named.Service,
			holder: route.Holder{Release: client.ObjectKeyFromObject(release).String(), UID: string(release.UID)},
			steps:  release.Spec.Strategy.Steps,
		})
	}
	return all
}

// sameHold reports whether another is about the same Service of the same release in the same route.
func (r heldRoute) sameHold(other heldRoute) bool {
	return r.kind == other.kind && r.key == other.key && r.service == other.service && r.holder.Release == other.holder.Release
}

// isAstray reports whether a route refers to the Services of a release without saying so.
func (c *Command) isAstray(ctx context.Context, r heldRoute) (bool, error) {
	object, err := c.readRoute(ctx, r)
	if err != nil || object == nil {
		return false, err
	}
	canary, err := c.canaryOf(ctx, r)
	return canary != nil || route.KindOf(r.kind).Read(object, nil, r.use()).Strays, err
}

// readRoute reads a route; nil if there is none, or no such kind.
func (c *Command) readRoute(ctx context.Context, r heldRoute) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(route.GroupVersionKind(r.kind))
	err := c.client.Get(ctx, r.key, object)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read route: %w", err)
	}
	return object, nil
}

// reclaim returns a route as it was before its annotation was taken away; nil if it refers to the
// Services no more. It is an error if nobody can tell: what it refers to may be somebody else's.
func (c *Command) reclaim(ctx context.Context, r heldRoute, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	canary, err := c.canaryOf(ctx, r)
	if err != nil {
		return nil, err
	}
	if !route.KindOf(r.kind).Read(object, nil, r.use()).Strays {
		if canary != nil { // which still takes its share of the requests
			return object, nil
		}
		return nil, nil
	}
	free, err := c.sidesAreFree(ctx, r)
	if err != nil {
		return nil, err
	}
	if again := route.Reclaimed(r.kind, object, canary, r.use(), r.steps); free && again != nil {
		return again, nil
	}
	sides := route.SidesOf(r.service)
	return nil, fmt.Errorf("it refers to %s or %s, its annotation %s is gone, and nobody can tell what it was: restore it by hand: make it refer to Service %s",
		sides.Stable, sides.Canary, v1alpha1.TrafficAnnotation, r.service)
}

// sidesAreFree reports whether the two Services that a route refers to are those of the release, or
// there are none.
func (c *Command) sidesAreFree(ctx context.Context, r heldRoute) (bool, error) {
	sides := route.SidesOf(r.service)
	for _, name := range []string{sides.Stable, sides.Canary} {
		service := &metav1.PartialObjectMetadata{}
		service.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
		err := c.client.Get(ctx, client.ObjectKey{Namespace: r.use().Namespace, Name: name}, service)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return false, fmt.Errorf("read Service %s: %w", name, err)
		}
		if !r.owns(service) {
			return false, nil
		}
	}
	return true, nil
}

// canaryOf returns the second Ingress that the release has made beside one; nil if there is none.
func (c *Command) canaryOf(ctx context.Context, r heldRoute) (*unstructured.Unstructured, error) {
	if r.kind != v1alpha1.RouteIngress {
		return nil, nil
	}
	r.key.Name = route.CanaryIngressName(r.key.Name)
	canary, err := c.readRoute(ctx, r)
	if err != nil || canary == nil || !r.owns(canary) {
		return nil, err
	}
	return canary, nil
}

// owns reports whether an object belongs to the release. The UID of a holder is what an annotation
// says, where anybody who may write the route can name that of something else.
func (r heldRoute) owns(object metav1.Object) bool {
	owner := metav1.GetControllerOf(object)
	if owner == nil || owner.Kind != "BatchRelease" || string(owner.UID) != r.holder.UID {
		return false
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	_, name, _ := strings.Cut(r.holder.Release, "/")
	return err == nil && version.Group == v1alpha1.GroupVersion.Group && owner.Name == name
}
