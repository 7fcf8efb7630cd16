package handback

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// snapshot holds the routes as they were read, or written since: each is read once, whatever number
// of releases hold it.
type snapshot struct {
	*Command

	routes map[routeID]readRoute
	// waits marks that the routes were restored, and are waited for.
	waits bool
}

// readRoute is a route, nil if there is none, or why it can't be read.
type readRoute struct {
	object *unstructured.Unstructured
	err    error
}

func (c *Command) newSnapshot() *snapshot {
	return &snapshot{Command: c, routes: map[routeID]readRoute{}}
}

// read returns a route; nil if there is none, or no such kind.
func (s *snapshot) read(ctx context.Context, id routeID) (*unstructured.Unstructured, error) {
	if one, read := s.routes[id]; read {
		return one.object, one.err
	}
	one := readRoute{object: &unstructured.Unstructured{}}
	one.object.SetGroupVersionKind(route.GroupVersionKind(id.kind))
	if err := s.client.Get(ctx, id.key, one.object); absent(err) {
		one = readRoute{}
	} else if err != nil {
		one = readRoute{err: fmt.Errorf("read route: %w", err)}
	}
	s.routes[id] = one
	return one.object, one.err
}

// canaryOf returns the second Ingress that the release has made beside one; nil if there is none.
func (s *snapshot) canaryOf(ctx context.Context, r heldRoute) (*unstructured.Unstructured, error) {
	if r.kind != v1alpha1.RouteIngress {
		return nil, nil
	}
	canary, err := s.read(ctx, r.canary())
	if err != nil || canary == nil || !r.owns(canary) {
		return nil, err
	}
	return canary, nil
}

// owns reports whether an object belongs to the release. The UID of a holder is from an annotation:
// anybody who may write the route can write the UID of another object there.
func (r heldRoute) owns(object metav1.Object) bool {
	owner := metav1.GetControllerOf(object)
	if owner == nil || owner.Kind != "BatchRelease" || string(owner.UID) != r.holder.UID {
		return false
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	_, name, _ := strings.Cut(r.holder.Release, "/")
	return err == nil && version.Group == v1alpha1.GroupVersion.Group && owner.Name == name
}

// see returns a route as traffic.Next takes it. A route without the annotation that still refers to
// the Services of the release is held, if its rules show what it was.
func (s *snapshot) see(ctx context.Context, l *leaving, r heldRoute) (traffic.Route, error) {
	object, err := s.read(ctx, r.routeID)
	if err != nil || object == nil {
		return traffic.Route{TrafficRoute: r.named(), Accepted: true}, err
	}
	canary, err := s.canaryOf(ctx, r)
	if err != nil {
		return traffic.Route{}, err
	}
	if route.KindOf(r.kind).Read(object, nil, r.use()).Strays {
		if l.claimed {
			return traffic.Route{TrafficRoute: r.named(), Accepted: true}, nil
		}
		if object, err = s.reclaim(ctx, l, r, object, canary); err != nil {
			return traffic.Route{}, err
		}
	}
	seen := route.KindOf(r.kind).Read(object, canary, r.use())
	seen.TrafficRoute = r.named()
	holders, readable := route.Holders(object)
	if !seen.Held && (!readable || slices.Contains(holders, route.Held{Service: r.service, Holder: r.holder})) {
		_, err = without(object, r)
	}
	return seen, err
}

// reclaim returns a route as it was before its annotation was taken away.
func (s *snapshot) reclaim(
	ctx context.Context, l *leaving, r heldRoute, object, canary *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if _, err := without(object, r); err != nil { // the annotation can't be read
		return nil, err
	}
	sides := route.SidesOf(r.service)
	if err := l.unsure[r]; err != nil {
		return nil, fmt.Errorf("it refers to %s or %s, its annotation %s is gone, and it is unknown whether its namespace consents to the release: "+
			"get the right to list referencegrants in namespaces %s and %s, or make it refer to Service %s by hand, and run the command again: %w",
			sides.Stable, sides.Canary, v1alpha1.TrafficAnnotation, r.key.Namespace, r.use().Namespace, r.service, err)
	}
	free, err := s.sidesAreFree(ctx, r)
	if err != nil {
		return nil, err
	}
	if again := route.Reclaimed(r.kind, object, canary, r.use(), l.steps); free && again != nil {
		return again, nil
	}
	return nil, fmt.Errorf("it refers to %s or %s, its annotation %s is gone, and nobody can tell what it was: restore it by hand: make it refer to Service %s",
		sides.Stable, sides.Canary, v1alpha1.TrafficAnnotation, r.service)
}

// without returns a route as it is without the release.
func without(object *unstructured.Unstructured, r heldRoute) (*unstructured.Unstructured, error) {
	restored, problem := route.KindOf(r.kind).Restore(object, r.use())
	if problem != nil {
		return nil, fmt.Errorf("%s: restore it by hand: make it refer to Service %s, and remove its annotation %s",
			problem.Message, r.service, v1alpha1.TrafficAnnotation)
	}
	return restored, nil
}

// sidesAreFree reports whether the two Services that a route refers to belong to the release, or
// don't exist.
func (s *snapshot) sidesAreFree(ctx context.Context, r heldRoute) (bool, error) {
	sides := route.SidesOf(r.service)
	for _, name := range []string{sides.Stable, sides.Canary} {
		service := &metav1.PartialObjectMetadata{}
		service.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
		err := s.client.Get(ctx, client.ObjectKey{Namespace: r.use().Namespace, Name: name}, service)
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

// restoring is a route that a release is to give back.
type restoring struct {
	*leaving

	route heldRoute
}

// restore gives a route back for all releases by one write. One that has changed is read again, to
// be decided on again.
func (s *snapshot) restore(ctx context.Context, id routeID, of []restoring) {
	object, _ := s.read(ctx, id)
	restored, given := object, []restoring(nil)
	for _, q := range of {
		next, err := s.restored(ctx, restored, q)
		if err != nil {
			q.fail(q.route, err)
			continue
		}
		restored, given = next, append(given, q)
	}
	outcome, err := s.write(ctx, id, object, restored, given)
	if err != nil {
		for _, q := range given {
			q.fail(q.route, err)
		}
	}
	if _, written := outcome.(kube.Written); !written || err != nil {
		return
	}
	done := "restored"
	if s.options.DryRun {
		done = "would be restored"
	}
	for _, q := range given {
		sides := route.SidesOf(q.route.service)
		s.tell(fmt.Sprintf("%s: %s: its requests go to Service %s again, and no longer to %s and %s", id, done, q.route.service, sides.Stable, sides.Canary))
	}
}

// restored returns a route without a release. Its annotation may have been taken away.
func (s *snapshot) restored(ctx context.Context, object *unstructured.Unstructured, q restoring) (*unstructured.Unstructured, error) {
	canary, err := s.canaryOf(ctx, q.route)
	if err == nil && route.KindOf(q.route.kind).Read(object, nil, q.route.use()).Strays {
		object, err = s.reclaim(ctx, q.leaving, q.route, object, canary)
	}
	if err != nil {
		return nil, err
	}
	return without(object, q.route)
}

// write writes a route, and then deletes its second Ingress: in this order, all requests reach the
// user's Service.
func (s *snapshot) write(ctx context.Context, id routeID, object, restored *unstructured.Unstructured, given []restoring) (kube.Outcome, error) {
	outcome := kube.Patch(ctx, s.client, object, restored)
	switch outcome.(type) {
	case kube.Unchanged:
	case kube.Written:
		s.routes[id] = readRoute{object: restored}
	case kube.Gone:
		s.routes[id] = readRoute{}
	case kube.Outdated:
		delete(s.routes, id)
		return outcome, nil
	case kube.Refused, kube.Failed:
		return outcome, fmt.Errorf("patch route: %w", kube.Err(outcome))
	}
	for _, q := range given {
		if err := s.dropCanary(ctx, q.route); err != nil {
			return outcome, err
		}
	}
	return outcome, nil
}

// dropCanary deletes the second Ingress that a release has made beside one.
func (s *snapshot) dropCanary(ctx context.Context, r heldRoute) error {
	canary, err := s.canaryOf(ctx, r)
	if err != nil || canary == nil {
		return err
	}
	err = s.client.Delete(ctx, canary.DeepCopy(), client.Preconditions{UID: new(canary.GetUID()), ResourceVersion: new(canary.GetResourceVersion())})
	switch o := kube.OutcomeOf(err).(type) {
	case kube.Written, kube.Unchanged, kube.Gone:
		s.routes[r.canary()] = readRoute{}
	case kube.Outdated:
		delete(s.routes, r.canary())
	case kube.Refused, kube.Failed:
		return fmt.Errorf("delete Ingress %s: %w", canary.GetName(), kube.Err(o))
	}
	return nil
}
