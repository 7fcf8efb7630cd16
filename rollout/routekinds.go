package rollout

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

const gatewayGroup = "gateway.networking.k8s.io"

// grantKinds are the versions of ReferenceGrant, the newest first.
var grantKinds = []schema.GroupVersionKind{
	{Group: gatewayGroup, Version: "v1", Kind: "ReferenceGrant"},
	{Group: gatewayGroup, Version: "v1beta1", Kind: "ReferenceGrant"},
}

// servedAgain is after how long to ask again for a kind that the API server does not serve. A watch of its definition would tell, but takes
// a right in the whole cluster: where nobody asks for traffic, nobody asks for the kind.
const servedAgain = 15 * time.Second

// kinds knows which kinds the API server serves, and has an informer of each that it was asked for.
type kinds struct {
	mapper meta.RESTMapper
	cache  cache.Cache
	// begin sets up what a new informer is for: its index, and who hears of changes.
	begin func(context.Context, *unstructured.Unstructured) error
	clock clock.PassiveClock

	mu    sync.Mutex
	known map[schema.GroupVersionKind]*knownKind
}

// knownKind is a kind that was asked for; one without an informer was not served then.
type knownKind struct {
	asked    time.Time
	informer cache.Informer
}

func newKinds(
	mapper meta.RESTMapper, c cache.Cache, now clock.PassiveClock, begin func(context.Context, *unstructured.Unstructured) error,
) *kinds {
	return &kinds{mapper: mapper, cache: c, clock: now, begin: begin, known: map[schema.GroupVersionKind]*knownKind{}}
}

// serves reports whether the API server serves a kind. From the first time that it does there is an informer of it, which errUnseen says
// is still to see all objects.
func (k *kinds) serves(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	informer, err := k.informer(ctx, kind)
	switch {
	case err != nil || informer == nil:
		return false, err
	case !informer.HasSynced():
		return false, errUnseen
	default:
		return true, nil
	}
}

// informer is that of a kind; nil if the kind is not served.
func (k *kinds) informer(ctx context.Context, kind schema.GroupVersionKind) (cache.Informer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.known[kind]; known != nil && (known.informer != nil || k.clock.Since(known.asked) < servedAgain) {
		return known.informer, nil
	}
	_, err := k.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		k.known[kind] = &knownKind{asked: k.clock.Now()}
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find out whether %s is served: %w", kind.Kind, err)
	}
	if err := k.begin(ctx, routeOf(kind)); err != nil {
		return nil, fmt.Errorf("watch %s: %w", kind.Kind, err)
	}
	informer, err := k.cache.GetInformer(ctx, routeOf(kind), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", kind.Kind, err)
	}
	k.known[kind] = &knownKind{informer: informer}
	return informer, nil
}

// watched lists each kind of route that has an informer which has seen all.
func (k *kinds) watched() []v1alpha1.TrafficRouteKind {
	k.mu.Lock()
	defer k.mu.Unlock()
	var watched []v1alpha1.TrafficRouteKind
	for _, kind := range route.Kinds {
		if known := k.known[route.GroupVersionKind(kind)]; known != nil && known.informer != nil && known.informer.HasSynced() {
			watched = append(watched, kind)
		}
	}
	return watched
}

func routeOf(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}
