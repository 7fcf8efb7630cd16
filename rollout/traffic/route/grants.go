package route

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// GatewayGroup is that of the Gateway API.
const GatewayGroup = "gateway.networking.k8s.io"

// GrantKinds are the versions of ReferenceGrant that Sluice reads, the newest first.
var GrantKinds = []schema.GroupVersionKind{
	{Group: GatewayGroup, Version: "v1", Kind: "ReferenceGrant"},
	{Group: GatewayGroup, Version: "v1beta1", Kind: "ReferenceGrant"},
}

// NotGranted returns which ReferenceGrant a route of another namespace than that of the release
// lacks; nil if none. One of those there, in the route's namespace, must let the release refer to
// the route, and one of those here, in the release's, the route to the two Services.
func NotGranted(named v1alpha1.TrafficRoute, namespace string, there, here []unstructured.Unstructured) *v1alpha1.TrafficProblem {
	problem := &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNotGranted, Object: traffic.Words(named)}
	from := reference{group: v1alpha1.GroupVersion.Group, kind: "BatchRelease", place: namespace}
	if !allowed(there, from, reference{group: GatewayGroup, kind: string(named.Kind), place: named.Name}) {
		problem.Message = fmt.Sprintf("a ReferenceGrant in namespace %s must let BatchReleases of group %s and namespace %s refer to %ss of group %s",
			named.Namespace, from.group, from.place, named.Kind, GatewayGroup)
		return problem
	}
	if MayRefer(named, here) {
		return nil
	}
	sides := SidesOf(named.Service)
	problem.Message = fmt.Sprintf("a ReferenceGrant in namespace %s must let %ss of group %s and namespace %s refer to Services, or to %s and %s",
		namespace, named.Kind, GatewayGroup, named.Namespace, sides.Stable, sides.Canary)
	return problem
}

// MayRefer reports whether the grants of the release's namespace let a route of another one refer
// to both sides of its Service.
func MayRefer(named v1alpha1.TrafficRoute, here []unstructured.Unstructured) bool {
	from, sides := reference{group: GatewayGroup, kind: string(named.Kind), place: named.Namespace}, SidesOf(named.Service)
	return allowed(here, from, reference{kind: "Service", place: sides.Stable}) && allowed(here, from, reference{kind: "Service", place: sides.Canary})
}

// MayReferFrom reports whether the grants of the release's namespace let routes of a kind and of
// another namespace refer to anything.
func MayReferFrom(kind v1alpha1.TrafficRouteKind, namespace string, here []unstructured.Unstructured) bool {
	from := reference{group: GatewayGroup, kind: string(kind), place: namespace}
	return slices.ContainsFunc(here, func(grant unstructured.Unstructured) bool {
		spec, _ := grant.Object["spec"].(map[string]any)
		return matches(spec["from"], "namespace", from, false)
	})
}

// reference is one end of a reference: whose it is, of which kind, and the namespace that it comes
// from or the name that it goes to.
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

// matches reports whether a list of references has one. Where any place will do, one that names
// none has all.
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
