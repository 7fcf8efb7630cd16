package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// kindOf returns what can be seen of a kind of which a release may hold routes. A release that has
// shared requests is not looked at before that is known.
func (r *routeReader) kindOf(ctx context.Context, v *view, kind v1alpha1.TrafficRouteKind) (seenKind, error) {
	if v.release.Status.Traffic == nil {
		return r.routes.kinds.now(route.GroupVersionKind(kind)), nil
	}
	return r.routes.kinds.of(ctx, route.GroupVersionKind(kind))
}

// observeKinds finds out what can be seen of each kind of route. Where the cluster serves a kind
// only in another version, there may be routes that share requests, and nobody can read them.
func (r *routeReader) observeKinds(ctx context.Context, v *view, keys map[routeKey]bool) (*v1alpha1.TrafficProblem, error) {
	v.traffic.kinds = map[v1alpha1.TrafficRouteKind]seenKind{}
	for _, key := range slices.SortedFunc(maps.Keys(keys), compareKeys) {
		if _, known := v.traffic.kinds[key.kind]; known {
			continue
		}
		is, err := r.routes.kinds.of(ctx, route.GroupVersionKind(key.kind))
		if err != nil {
			return nil, err
		}
		v.traffic.kinds[key.kind] = is
		if is.reader == nil {
			v.wakes = append(v.wakes, plan.Wake{After: servedAgain, Why: plan.WakeRouteKind})
		}
		if is.reader == nil && !is.gone {
			return notServed(key), nil
		}
	}
	return nil, nil
}

// notServed says that the cluster does not serve the kind of a route.
func notServed(key routeKey) *v1alpha1.TrafficProblem {
	return &v1alpha1.TrafficProblem{
		Type: v1alpha1.TrafficNoGatewayAPI, Object: key.words(),
		Message: fmt.Sprintf("the cluster does not serve %ss of %s", key.kind, route.GroupVersionKind(key.kind).GroupVersion()),
	}
}
