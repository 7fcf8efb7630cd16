package rollout

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// canaryKey returns that of the second Ingress of one.
func canaryKey(key routeKey) routeKey {
	key.Name = route.CanaryIngressName(key.Name)
	return key
}

// canaryOf returns the second Ingress of one, if the release has made it and nobody has deleted it;
// nil if there is none.
func canaryOf(v *view, key routeKey) *unstructured.Unstructured {
	canary := v.traffic.routes[canaryKey(key)]
	if key.kind != v1alpha1.RouteIngress || canary == nil || !ownedBy(canary, v.release.UID) || canary.GetDeletionTimestamp() != nil {
		return nil
	}
	return canary
}

// canaryTaken says that somebody else has an Ingress of the name of the second one; nil if nobody
// has.
func canaryTaken(v *view, key routeKey) *v1alpha1.TrafficProblem {
	canary := v.traffic.routes[canaryKey(key)]
	if key.kind != v1alpha1.RouteIngress || canary == nil || ownedBy(canary, v.release.UID) {
		return nil
	}
	return &v1alpha1.TrafficProblem{
		Type: v1alpha1.TrafficNameTaken, Object: canaryKey(key).words(),
		Message: "the release needs this name for an Ingress of its own",
	}
}

// writeCanary has the second Ingress of one share requests, or deletes it where there are none to
// share. The first is written before it, and refers to the stable side by then: requests always
// reach endpoints that are ready.
func (r *routeWriter) writeCanary(ctx context.Context, v *view, key routeKey, service string, share traffic.Share) error {
	if key.kind != v1alpha1.RouteIngress {
		return nil
	}
	owner := *metav1.NewControllerRef(v.release, v1alpha1.GroupVersion.WithKind("BatchRelease"))
	wanted, problem := route.CanaryIngress(v.traffic.routes[key], useOf(v.release, service), share, owner)
	if problem != nil {
		v.process.traffic.unshared[heldKey{key, service}] = knownProblem{*problem, decidedOn(v, v.traffic.routes[key]), r.clock.Now()}
		return nil
	}
	known := canaryOf(v, key)
	switch {
	case wanted == nil:
		return r.dropCanary(ctx, v, key)
	case known == nil:
		return r.createCanary(ctx, v, key, wanted)
	}
	changed := known.DeepCopy()
	changed.Object["spec"] = wanted.Object["spec"]
	changed.SetAnnotations(wanted.GetAnnotations())
	return r.writeRoute(ctx, v, canaryKey(key), known, changed)
}

func (r *routeWriter) createCanary(ctx context.Context, v *view, key routeKey, canary *unstructured.Unstructured) error {
	err := r.client.Create(ctx, canary)
	if err == nil {
		sawRoute(v, canaryKey(key), canary)
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Ingress: %w", err)
	}
	fresh := routeOf(route.GroupVersionKind(key.kind))
	if err := r.readTaken(ctx, canaryKey(key).NamespacedName, fresh, err); err != nil {
		return err
	}
	sawRoute(v, canaryKey(key), fresh)
	return errOutdated
}

// dropCanary deletes the second Ingress of one, if there is one of the release.
func (r *routeWriter) dropCanary(ctx context.Context, v *view, key routeKey) error {
	canary := canaryOf(v, key)
	if canary == nil {
		return nil
	}
	objects, name := v.process.traffic.objects[key.kind], client.ObjectKeyFromObject(canary)
	preconditions := client.Preconditions{UID: new(canary.GetUID()), ResourceVersion: new(canary.GetResourceVersion())}
	switch o := kube.OutcomeOf(r.client.Delete(ctx, canary.DeepCopy(), preconditions)).(type) {
	case kube.Written, kube.Unchanged, kube.Gone:
		objects.Saw(canary) // which the cache may not have had yet
		objects.Deleted(name)
		delete(v.traffic.routes, canaryKey(key))
		return nil
	case kube.Outdated:
		fresh := routeOf(route.GroupVersionKind(key.kind))
		err := r.changed(ctx, canary, fresh, o.Err)
		if fresh.GetUID() != "" {
			sawRoute(v, canaryKey(key), fresh)
		}
		return fmt.Errorf("delete Ingress: %w", err)
	case kube.Refused:
		return fmt.Errorf("delete Ingress: %w", o.Err)
	case kube.Failed:
		return fmt.Errorf("delete Ingress: %w", o.Err)
	}
	return nil
}
