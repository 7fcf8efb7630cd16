package handback

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
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
func staying(found *routes, looked error) stay {
	s := stay{all: found.unread || len(found.unlisted) > 0 || looked != nil, namespaces: map[string]bool{}}
	for _, l := range found.leaving {
		if namespace, _, _ := strings.Cut(l.name, "/"); !l.claimed && len(l.failed) > 0 {
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

// ours returns the releases in scope, their gates, and, unless only some workloads are meant, the
// sources. Where the CRDs are gone there is nothing.
func (c *Command) ours(ctx context.Context) ([]client.Object, error) {
	var releases v1alpha1.BatchReleaseList
	var gates v1alpha1.GateList
	var sources v1alpha1.ReleaseSourceList
	lists := []client.ObjectList{&releases, &gates}
	if len(c.options.Names) == 0 {
		lists = append(lists, &sources)
	}
	for _, list := range lists {
		if err := c.client.List(ctx, list, client.InNamespace(c.options.Namespace)); err != nil && !absent(err) {
			return nil, fmt.Errorf("list objects to take finalizers off: %w", err)
		}
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

// finalizers are all that Sluice sets.
var finalizers = []string{v1alpha1.Finalizer, v1alpha1.ForgeFinalizer, v1alpha1.SourceFinalizer}

// strip takes Sluice's finalizers off an object, also if it changes meanwhile.
func (c *Command) strip(ctx context.Context, object client.Object) error {
	var outcome kube.Outcome
	for range tries {
		wanted := object.DeepCopyObject().(client.Object)
		wanted.SetFinalizers(slices.DeleteFunc(wanted.GetFinalizers(), func(f string) bool { return slices.Contains(finalizers, f) }))
		switch outcome = kube.Patch(ctx, c.client, object, wanted); outcome.(type) {
		case kube.Unchanged, kube.Gone:
			return nil
		case kube.Written:
			c.tell(fmt.Sprintf("%s: finalizers taken off its %s", client.ObjectKeyFromObject(object), kindOf(object)))
			return nil
		case kube.Outdated:
			if err := c.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return client.IgnoreNotFound(err)
			}
			continue
		case kube.Refused, kube.Failed:
		}
		break
	}
	return fmt.Errorf("take finalizers off %s %s: %w", kindOf(object), client.ObjectKeyFromObject(object), kube.Err(outcome))
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
