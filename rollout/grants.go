package rollout

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// ungranted returns which ReferenceGrant a route of another namespace lacks; nil if none, or if
// nobody can see the namespace.
func (r *routeReader) ungranted(ctx context.Context, v *view, key routeKey, named v1alpha1.TrafficRoute) (*v1alpha1.TrafficProblem, error) {
	if key.Namespace == v.release.Namespace || !r.routes.sees(key.Namespace) {
		return nil, nil
	}
	there, err := r.grants(ctx, named.Namespace)
	if err != nil {
		return nil, err
	}
	here, err := r.grants(ctx, v.release.Namespace)
	if err != nil {
		return nil, err
	}
	return route.NotGranted(named, v.release.Namespace, there, here), nil
}

// mayRefer reports whether a route of another namespace may refer to both sides of a Service.
func (r *routeReader) mayRefer(ctx context.Context, v *view, named v1alpha1.TrafficRoute) (bool, error) {
	grants, err := r.grants(ctx, v.release.Namespace)
	return err == nil && route.MayRefer(named, grants), err
}

// mayReferFrom reports whether routes of another namespace may refer to anything in that of the
// release.
func (r *routeReader) mayReferFrom(ctx context.Context, v *view, key routeKey) (bool, error) {
	grants, err := r.grants(ctx, v.release.Namespace)
	return err == nil && route.MayReferFrom(key.kind, key.Namespace, grants), err
}

// grants returns the ReferenceGrants of a namespace, in the newest version that is served.
func (r *routeReader) grants(ctx context.Context, namespace string) ([]unstructured.Unstructured, error) {
	if !r.routes.sees(namespace) {
		return nil, nil
	}
	for _, kind := range route.GrantKinds {
		is, err := r.routes.kinds.of(ctx, kind)
		if err != nil {
			return nil, err
		}
		if is.reader == nil {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := is.reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list ReferenceGrants: %w", err)
		}
		return list.Items, nil
	}
	return nil, nil
}
