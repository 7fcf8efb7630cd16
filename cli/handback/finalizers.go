package handback

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// stay says where finalizers stay, because something is held there still: anyone who may keep
// something of their namespace held keeps no other namespace from being cleaned up.
type stay struct {
	// all says that nobody could look for all that is held.
	all        bool
	namespaces map[string]bool
}

// staying returns where finalizers stay by what keeps workloads held, and by what came of looking
// for these.
func staying(k kept, looked error) stay {
	s := stay{all: k.all || len(k.unseen) > 0 || looked != nil, namespaces: map[string]bool{}}
	for release, failed := range k.failed {
		if namespace, _, _ := strings.Cut(release, "/"); failed {
			s.namespaces[namespace] = true
		}
	}
	return s
}

// removeFinalizers takes Sluice's finalizers off what is in scope, so that objects can go that wait
// for a controller. All other finalizers stay.
func (c *Command) removeFinalizers(ctx context.Context, where stay) error {
	if where.all {
		c.tell("finalizers stay: not all that is held could be looked for")
		return nil
	}
	objects, err := c.ours(ctx)
	if err != nil {
		return err
	}
	if len(where.namespaces) > 0 {
		c.tell("finalizers stay in these namespaces, where something is not handed back: " + strings.Join(slices.Sorted(maps.Keys(where.namespaces)), ", "))
	}
	var failed []error
	for _, object := range objects {
		if !where.namespaces[object.GetNamespace()] {
			failed = append(failed, c.strip(ctx, object))
		}
	}
	return errors.Join(failed...)
}

// ours returns the releases in scope, their gates, and the sources. Where the CRDs are gone there
// is nothing.
func (c *Command) ours(ctx context.Context) ([]client.Object, error) {
	var releases v1alpha1.BatchReleaseList
	if err := c.list(ctx, &releases); err != nil {
		return nil, err
	}
	var gates v1alpha1.GateList
	if err := c.list(ctx, &gates); err != nil {
		return nil, err
	}
	var objects []client.Object
	others := map[types.UID]bool{}
	for i := range releases.Items {
		if release := &releases.Items[i]; c.names(release.Spec.WorkloadRef) {
			objects = append(objects, release)
		} else {
			others[release.UID] = true
		}
	}
	for i := range gates.Items {
		if gate := &gates.Items[i]; !others[gate.Spec.ReleaseRef.UID] {
			objects = append(objects, gate)
		}
	}
	return c.withSources(ctx, objects)
}

// withSources adds the sources, unless only some workloads are meant.
func (c *Command) withSources(ctx context.Context, objects []client.Object) ([]client.Object, error) {
	var sources v1alpha1.ReleaseSourceList
	if len(c.options.Names) > 0 {
		return objects, nil
	}
	if err := c.list(ctx, &sources); err != nil {
		return nil, err
	}
	for i := range sources.Items {
		objects = append(objects, &sources.Items[i])
	}
	return objects, nil
}

// names reports whether a workload is among those that were named, or none was.
func (c *Command) names(of v1alpha1.WorkloadReference) bool {
	return len(c.options.Names) == 0 || slices.ContainsFunc(c.options.Names, func(name Name) bool {
		return name.Name == of.Name && (name.Kind == "" || name.Kind == of.Kind)
	})
}

func (c *Command) list(ctx context.Context, list client.ObjectList) error {
	err := c.client.List(ctx, list, client.InNamespace(c.options.Namespace))
	if err != nil && !absent(err) {
		return fmt.Errorf("list objects to take finalizers off: %w", err)
	}
	return nil
}

// finalizers are all that Sluice sets.
var finalizers = []string{v1alpha1.Finalizer, v1alpha1.ForgeFinalizer, v1alpha1.SourceFinalizer}

// strip takes Sluice's finalizers off an object, whatever else happens to it meanwhile.
func (c *Command) strip(ctx context.Context, object client.Object) error {
	err := c.tryStrip(ctx, object)
	for try := 1; try < tries && apierrors.IsConflict(err); try++ {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return client.IgnoreNotFound(err)
		}
		err = c.tryStrip(ctx, object)
	}
	if err != nil {
		return fmt.Errorf("take finalizers off %s %s: %w", kindOf(object), client.ObjectKeyFromObject(object), err)
	}
	return nil
}

func (c *Command) tryStrip(ctx context.Context, object client.Object) error {
	before := object.DeepCopyObject().(client.Object)
	left := slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(f string) bool { return slices.Contains(finalizers, f) })
	if len(left) == len(before.GetFinalizers()) {
		return nil
	}
	object.SetFinalizers(left)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.client.Patch(ctx, object, patch); err != nil {
		return client.IgnoreNotFound(err)
	}
	c.tell(fmt.Sprintf("%s: finalizers taken off its %s", client.ObjectKeyFromObject(before), kindOf(object)))
	return nil
}

func kindOf(object client.Object) string {
	switch object.(type) {
	case *v1alpha1.BatchRelease:
		return "BatchRelease"
	case *v1alpha1.Gate:
		return "Gate"
	default:
		return "ReleaseSource"
	}
}
