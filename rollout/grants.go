package rollout

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// notGranted is which ReferenceGrant a route of another namespace lacks; nil if none. Its own namespace must let the release refer to it, and that
// of the release must let it refer to the two Services.
func (r *Reconciler) notGranted(ctx context.Context, v *view, key routeKey, named v1alpha1.TrafficRoute) (*v1alpha1.TrafficProblem, error) {
	grants, err := r.grants(ctx, key.Namespace)
	if err != nil {
		return nil, err
	}
	problem := &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNotGranted, Object: traffic.Words(named)}
	from := reference{group: v1alpha1.GroupVersion.Group, kind: "BatchRelease", place: v.release.Namespace}
	if !allowed(grants, from, reference{group: gatewayGroup, kind: string(key.kind), place: key.Name}) {
		problem.Message = fmt.Sprintf("a ReferenceGrant in namespace %s must let BatchReleases of group %s and namespace %s refer to %ss of group %s",
			key.Namespace, from.group, from.place, key.kind, gatewayGroup)
		return problem, nil
	}
	refers, err := r.mayRefer(ctx, v, key, named)
	if err != nil || refers {
		return nil, err
	}
	problem.Message = fmt.Sprintf("a ReferenceGrant in namespace %s must let %ss of group %s and namespace %s refer to Services, or to %s and %s",
		v.release.Namespace, key.kind, gatewayGroup, key.Namespace,
		sideService(named.Service, traffic.StableSide), sideService(named.Service, traffic.CanarySide))
	return problem, nil
}

// mayRefer reports whether a route of another namespace may refer to both sides of a Service.
func (r *Reconciler) mayRefer(ctx context.Context, v *view, key routeKey, named v1alpha1.TrafficRoute) (bool, error) {
	grants, err := r.grants(ctx, v.release.Namespace)
	if err != nil {
		return false, err
	}
	from := reference{group: gatewayGroup, kind: string(key.kind), place: key.Namespace}
	for _, side := range []traffic.SideName{traffic.StableSide, traffic.CanarySide} {
		if !allowed(grants, from, reference{kind: "Service", place: sideService(named.Service, side)}) {
			return false, nil
		}
	}
	return true, nil
}

// grants are the ReferenceGrants of a namespace, in the newest version that is served.
func (r *Reconciler) grants(ctx context.Context, namespace string) ([]unstructured.Unstructured, error) {
	if !r.routes.sees(namespace) {
		return nil, nil
	}
	for _, kind := range grantKinds {
		served, err := r.routes.kinds.serves(ctx, kind)
		if err != nil {
			return nil, err
		}
		if !served {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := r.routes.reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list ReferenceGrants: %w", err)
		}
		return list.Items, nil
	}
	return nil, nil
}

// reference is one end of a reference: whose it is, of which kind, and the namespace that it comes from or the name that it goes to.
type reference struct{ group, kind, place string }

// allowed reports whether one of the grants of a namespace allows a reference.
func allowed(grants []unstructured.Unstructured, from, to reference) bool {
	for i := range grants {
		spec, _ := grants[i].Object["spec"].(map[string]any)
		if matches(spec["from"], "namespace", from, false) && matches(spec["to"], "name", to, true) {
			return true
		}
	}
	return false
}

// matches reports whether a list of references has one. Where any place will do, one that names none has all.
func matches(list any, place string, wanted reference, anyPlace bool) bool {
	items, _ := list.([]any)
	for _, item := range items {
		one, _ := item.(map[string]any)
		group, _ := one["group"].(string)
		kind, _ := one["kind"].(string)
		at, _ := one[place].(string)
		if (reference{group, kind, at}) == wanted || anyPlace && at == "" && group == wanted.group && kind == wanted.kind {
			return true
		}
	}
	return false
}
