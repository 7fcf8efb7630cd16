package rollout

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// askFor is how long to wait for an answer of the API server on which kinds it serves.
const askFor = 10 * time.Second

// routeCaches make and run caches of kinds that the API server may serve later, or no longer. Each
// life of a kind has a cache of its own: that of the manager would go on to hand out the objects of
// one that is gone, and ask for it for ever.
type routeCaches struct {
	config  *rest.Config
	options cache.Options
	server  rest.Interface
	// begun has the controller told of what a cache sees.
	begun func(cache.Cache, schema.GroupVersionKind) error

	mu sync.Mutex
	// waiting are to run once the manager has started. Then run runs what comes later.
	waiting []func(context.Context)
	run     func(func(context.Context))
}

// newRouteCaches makes them with the options of the manager's cache.
func newRouteCaches(mgr ctrl.Manager, options cache.Options, begun func(cache.Cache, schema.GroupVersionKind) error) (*routeCaches, error) {
	server, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("set up discovery: %w", err)
	}
	options.Scheme, options.HTTPClient, options.ByObject = mgr.GetScheme(), mgr.GetHTTPClient(), nil
	return &routeCaches{config: mgr.GetConfig(), options: options, server: server.RESTClient(), begun: begun}, nil
}

// NeedLeaderElection says that they run in every replica, as the manager's cache does.
func (c *routeCaches) NeedLeaderElection() bool { return false }

// Start runs them until the context ends.
func (c *routeCaches) Start(ctx context.Context) error {
	var running sync.WaitGroup
	c.mu.Lock()
	c.run = func(one func(context.Context)) { running.Go(func() { one(ctx) }) }
	for _, one := range c.waiting {
		c.run(one)
	}
	c.waiting = nil
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	c.run = func(func(context.Context)) {} // nobody waits for more
	c.mu.Unlock()
	running.Wait()
	return nil
}

func (c *routeCaches) start(one func(context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == nil {
		c.waiting = append(c.waiting, one)
		return
	}
	c.run(one)
}

// open makes a cache of a kind, in which nothing can be found yet. It sends no request.
func (c *routeCaches) open(kind schema.GroupVersionKind, resource *metav1.APIResource, lost func()) (*life, error) {
	options := c.options
	options.Mapper = mapperOf(kind, resource)
	options.DefaultWatchErrorHandler = func(ctx context.Context, r *toolscache.Reflector, err error) {
		if apierrors.IsNotFound(err) {
			lost()
			return
		}
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
	}
	of, err := cache.New(c.config, options)
	if err != nil {
		return nil, fmt.Errorf("make cache: %w", err)
	}
	informer, err := of.GetInformer(context.Background(), routeOf(kind), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	if err := c.begun(of, kind); err != nil {
		return nil, err
	}
	ended, end := context.WithCancel(context.Background())
	run := func(ctx context.Context) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		context.AfterFunc(ended, stop)
		_ = of.Start(ctx) // it fails only if it was started before
	}
	return &life{reader: of, synced: informer.HasSynced, start: func() { c.start(run) }, stop: end}, nil
}

// mapperOf knows one kind, so that nobody asks the API server for it again.
func mapperOf(kind schema.GroupVersionKind, resource *metav1.APIResource) meta.RESTMapper {
	mapper, scope := meta.NewDefaultRESTMapper([]schema.GroupVersion{kind.GroupVersion()}), meta.RESTScopeRoot
	if resource.Namespaced {
		scope = meta.RESTScopeNamespace
	}
	mapper.AddSpecific(kind, kind.GroupVersion().WithResource(resource.Name), kind.GroupVersion().WithResource(resource.SingularName), scope)
	return mapper
}

// ask asks the API server for a kind.
func (c *routeCaches) ask(ctx context.Context, kind schema.GroupVersionKind) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	resource, err := c.resourceOf(ctx, kind)
	if err != nil || resource != nil {
		return answer{resource: resource}, err
	}
	var group metav1.APIGroup
	if served, err := c.read(ctx, &group, "apis", kind.Group); err != nil || !served {
		return answer{}, err
	}
	for _, version := range group.Versions {
		other := schema.GroupVersionKind{Group: kind.Group, Version: version.Version, Kind: kind.Kind}
		if resource, err := c.resourceOf(ctx, other); err != nil || resource != nil {
			return answer{elsewhere: true}, err
		}
	}
	return answer{}, nil
}

// resourceOf returns what a kind is served as; nil if it is not.
func (c *routeCaches) resourceOf(ctx context.Context, kind schema.GroupVersionKind) (*metav1.APIResource, error) {
	var list metav1.APIResourceList
	if served, err := c.read(ctx, &list, "apis", kind.Group, kind.Version); err != nil || !served {
		return nil, err
	}
	i := slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == kind.Kind && slices.Contains(r.Verbs, "watch") // which subresources don't have
	})
	if i < 0 {
		return nil, nil
	}
	return &list.APIResources[i], nil
}

// read reads a document of discovery, and reports whether there is one.
func (c *routeCaches) read(ctx context.Context, into runtime.Object, path ...string) (bool, error) {
	err := c.server.Get().AbsPath(path...).Do(ctx).Into(into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
