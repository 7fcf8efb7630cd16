package rollout

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// writeTraffic carries out a write, and has the pass see the result.
func (r *routeWriter) writeTraffic(ctx context.Context, v *view, write traffic.Write) error {
	if r.routes == nil || v.process.traffic == nil {
		return errOutdated // nothing was seen that could be written
	}
	if err := r.sendTraffic(ctx, v, write); err != nil {
		return err
	}
	seen, err := r.routeReader.observeTraffic(ctx, v)
	v.facts.Traffic = seen
	return err
}

func (r *routeWriter) sendTraffic(ctx context.Context, v *view, write traffic.Write) error {
	switch w := write.(type) {
	case traffic.PointSide:
		return r.sides.pointSide(ctx, v, w)
	case traffic.DropSides:
		return r.sides.dropSides(ctx, v)
	case traffic.ShareRoute:
		return r.shareRoute(ctx, v, w)
	case traffic.RestoreRoute:
		return r.restoreRoute(ctx, v, w)
	default:
		return fmt.Errorf("write %T is unknown", write)
	}
}

// shareRoute has a route share requests.
func (r *routeWriter) shareRoute(ctx context.Context, v *view, w traffic.ShareRoute) error {
	key := keyOf(v.release.Namespace, w.Route)
	object := v.traffic.routes[key]
	if object == nil {
		return errOutdated
	}
	of := heldKey{key, w.Route.Service}
	delete(v.process.traffic.unshared, of)
	if !r.routeReader.readRoute(v, key, w.Route).Whole { // somebody has changed it
		if err := r.sides.sidesFollow(ctx, v, w.Route.Service); err != nil {
			return err
		}
	}
	base, err := r.heldRoute(ctx, v, key, w.Route.Service)
	if err != nil {
		return err
	}
	shared, problem := route.KindOf(key.kind).Share(base, useOf(v.release, w.Route.Service), w.Share)
	if problem != nil {
		v.process.traffic.unshared[of] = knownProblem{*problem, decidedOn(v, object), r.clock.Now()}
		return nil
	}
	if err := r.writeRoute(ctx, v, key, object, shared); err != nil {
		return err
	}
	if err := r.writeCanary(ctx, v, key, w.Route.Service, w.Share); err != nil || v.process.traffic.unshared[of].problem.Type != "" {
		return err
	}
	if one := r.routeReader.readRoute(v, key, w.Route); !one.Whole || !equality.Semantic.DeepEqual(one.Share, w.Share) {
		return &rewritten{fields: []string{"spec.rules"}, written: true}
	}
	return nil
}

// restoreRoute gives a route back what it had.
func (r *routeWriter) restoreRoute(ctx context.Context, v *view, w traffic.RestoreRoute) error {
	key := keyOf(v.release.Namespace, w.Route)
	object := v.traffic.routes[key]
	if object == nil {
		return errOutdated
	}
	base, err := r.heldRoute(ctx, v, key, w.Route.Service)
	if err != nil {
		return err
	}
	reclaimed := base != object
	restored, problem := route.KindOf(key.kind).Restore(base, useOf(v.release, w.Route.Service))
	if problem != nil { // it is told as that of the route
		return nil
	}
	if err := r.writeRoute(ctx, v, key, object, restored); err != nil {
		return err
	}
	if err := r.dropCanary(ctx, v, key); err != nil {
		return err
	}
	if one := r.routeReader.readRoute(v, key, w.Route); one.Held || one.Strays && reclaimed {
		return &rewritten{fields: []string{"metadata.annotations[" + v1alpha1.TrafficAnnotation + "]"}, written: true}
	}
	return nil
}

// heldRoute returns a route as it is, or as it was before somebody took away that the release holds
// it.
func (r *routeWriter) heldRoute(ctx context.Context, v *view, key routeKey, service string) (*unstructured.Unstructured, error) {
	if again := v.traffic.reclaimed[heldKey{key, service}]; again != nil {
		return again, r.sides.stillFree(ctx, v, service)
	}
	return v.traffic.routes[key], nil
}

// decidedOn tells apart what a share was decided on: with another step, in a rollback, or of
// another route, it may be of use.
func decidedOn(v *view, object *unstructured.Unstructured) string {
	s := &v.release.Status
	return fmt.Sprint(v.release.Generation, s.Attempt, s.CurrentStepIndex, s.Phase, object.GetUID(), object.GetGeneration())
}

// routeProblem returns why a route could not be shared a moment ago; nil if there was nothing, or
// it was about something else.
func (r *routeReader) routeProblem(v *view, key heldKey) *v1alpha1.TrafficProblem {
	known := v.process.traffic.unshared[key]
	if known.of != decidedOn(v, v.traffic.routes[key.routeKey]) {
		return nil
	}
	left := problemAgain - r.clock.Since(known.at)
	if known.problem.Type == "" || left <= 0 {
		return nil
	}
	v.wakes = append(v.wakes, plan.Wake{After: left, Why: plan.WakeRouteProblem})
	return known.problem.DeepCopy()
}

// problemAgain is after how long to find out whether there still is a problem.
const problemAgain = 10 * time.Second

// writeRoute writes the difference between a route as it was seen and as it is to be.
func (r *routeWriter) writeRoute(ctx context.Context, v *view, key routeKey, seen, wanted *unstructured.Unstructured) error {
	outcome := kube.Patch(ctx, r.client, seen, wanted, routeOwner(wanted)...)
	switch outcome.(type) {
	case kube.Unchanged:
		return nil
	case kube.Written:
		sawRoute(v, key, wanted)
		return nil
	case kube.Outdated, kube.Gone:
		fresh := routeOf(route.GroupVersionKind(key.kind))
		err := r.changed(ctx, seen, fresh, kube.Err(outcome))
		switch {
		case fresh.GetUID() == "":
			v.process.traffic.objects[key.kind].Forget(key.NamespacedName)
		case outdated(err):
			sawRoute(v, key, fresh)
		}
		return fmt.Errorf("patch %s: %w", key.kind, err)
	case kube.Refused, kube.Failed:
	}
	return fmt.Errorf("patch %s: %w", key.kind, kube.Err(outcome))
}

// routeOwner returns who writes a route: another than usual if no release holds it any more. GitOps
// tools ignore what the usual one has written, and would go on to ignore the rules of the route, in
// which later changes of theirs are.
func routeOwner(wanted *unstructured.Unstructured) []client.PatchOption {
	_, held := wanted.GetAnnotations()[v1alpha1.TrafficAnnotation]
	if _, made := wanted.GetLabels()[v1alpha1.TrafficLabel]; held || made {
		return nil
	}
	return []client.PatchOption{client.FieldOwner(v1alpha1.OwnerRestored)}
}

// sawRoute takes over what a read of, or a write to, a route answered, but for who wrote which
// field, as in the cache.
func sawRoute(v *view, key routeKey, object *unstructured.Unstructured) {
	object.SetManagedFields(nil)
	v.process.traffic.objects[key.kind].Saw(object)
	v.traffic.routes[key] = object
	maps.DeleteFunc(v.traffic.reclaimed, func(of heldKey, _ *unstructured.Unstructured) bool { return of.routeKey == key })
}
