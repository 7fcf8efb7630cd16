package lookup

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kinds"
)

// ErrDone ends Follow: what was waited for is there.
var ErrDone = errors.New("done")

// Watched is the choice of objects that Follow watches.
type Watched struct {
	Config *rest.Config
	Scheme *runtime.Scheme
	// Namespace that the objects are in; empty for all.
	Namespace string
	// Objects are the objects to watch.
	Objects Objects
}

// Objects are kinds, each with what limits which of them.
type Objects map[client.Object]cache.ByObject

// Follow calls see once everything has been read, and again whenever something has changed, with a
// cache of it. Changes that come in quick succession are one. It returns nil after ErrDone, the
// error of the context when that ends, and what see or the API server refuses; a connection that is
// lost is made again.
func Follow(ctx context.Context, watched Watched, see func(context.Context, client.Reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &following{changed: make(chan struct{}, 1), refused: make(chan error, 1)}
	objects, err := cache.New(watched.Config, f.options(watched))
	if err != nil {
		return fmt.Errorf("make cache: %w", err)
	}
	for object := range watched.Objects {
		informer, err := objects.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
		if _, err := informer.AddEventHandler(f); err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = objects.Start(ctx) // it only ends because ctx does
	}()
	defer func() {
		cancel()
		<-ended
	}()
	return f.loop(ctx, objects, see)
}

// following turns what informers see into wake-ups.
type following struct {
	changed chan struct{}
	refused chan error
}

func (f *following) options(watched Watched) cache.Options {
	options := cache.Options{Scheme: watched.Scheme, ByObject: watched.Objects, DefaultWatchErrorHandler: f.onError}
	if watched.Namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{watched.Namespace: {}}
	}
	return options
}

func (f *following) loop(ctx context.Context, objects cache.Cache, see func(context.Context, client.Reader) error) error {
	synced := make(chan bool, 1)
	go func() { synced <- objects.WaitForCacheSync(ctx) }()
	changed := (chan struct{})(nil) // what comes before all is read is part of it
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-f.refused:
			return fmt.Errorf("watch: %w", err)
		case ok := <-synced:
			if !ok {
				return context.Cause(ctx)
			}
			synced, changed = nil, f.changed
			f.wake()
		case <-changed:
			if err := see(ctx, objects); errors.Is(err, ErrDone) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}

func (f *following) wake() {
	select {
	case f.changed <- struct{}{}:
	default: // it is going to look anyway
	}
}

// OnAdd implements cache.ResourceEventHandler, as OnUpdate and OnDelete do.
func (f *following) OnAdd(any, bool)   { f.wake() }
func (f *following) OnUpdate(any, any) { f.wake() }
func (f *following) OnDelete(any)      { f.wake() }

// onError gives up where trying again is of no use. Reflectors try again after everything else.
func (f *following) onError(_ context.Context, _ *toolscache.Reflector, err error) {
	if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) && !apierrors.IsNotFound(err) {
		return
	}
	select {
	case f.refused <- err:
	default:
	}
}

// OneRelease returns a release without what belongs to it.
func OneRelease(name string) Objects {
	return Objects{
		&v1alpha1.BatchRelease{}: {Field: fields.OneTermEqualSelector("metadata.name", name)},
	}
}

// WholeRelease returns a release with all that Whole reads. It has all pods, ReplicaSets and
// ControllerRevisions of the namespace, since the workload can get others.
func WholeRelease(release *v1alpha1.BatchRelease) Objects {
	objects := OneRelease(release.Name)
	if release.IsTrain() {
		objects = Objects{&v1alpha1.BatchRelease{}: {}} // its members too
	}
	objects[&v1alpha1.Gate{}] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{v1alpha1.ReleaseLabel: release.Name})}
	if source := release.Labels[v1alpha1.SourceLabel]; source != "" {
		objects[&v1alpha1.ReleaseSource{}] = cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", source)}
	}
	kind := kinds.Named(release.Spec.WorkloadRef.Kind)
	if kind == nil {
		return objects
	}
	versions := client.Object(&appsv1.ControllerRevision{})
	if kind.BySets() {
		versions = &appsv1.ReplicaSet{}
	}
	objects[kind.New().(client.Object)] = workloadOf(release)
	objects[versions], objects[&corev1.Pod{}] = cache.ByObject{}, cache.ByObject{}
	return objects
}

func workloadOf(release *v1alpha1.BatchRelease) cache.ByObject {
	return cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", release.Spec.WorkloadRef.Name)}
}
