package route

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Kinds are all kinds of routes, in the order in which they are read.
var Kinds = []v1alpha1.TrafficRouteKind{v1alpha1.RouteHTTP, v1alpha1.RouteGRPC, v1alpha1.RouteIngress}

// GroupVersionKind returns how the API server calls a kind of route.
func GroupVersionKind(kind v1alpha1.TrafficRouteKind) schema.GroupVersionKind {
	group := GatewayGroup
	if kind == v1alpha1.RouteIngress {
		group = "networking.k8s.io"
	}
	return schema.GroupVersionKind{Group: group, Version: "v1", Kind: string(kind)}
}

// Held says that a release shares the requests for a Service of its namespace.
type Held struct {
	Service string
	Holder
}

// mostHeld is for how many Services a route can be shared: the Gateway API takes 16 rules of 16
// backends each, and a Service that is shared has two.
const mostHeld = 16 * 16 / 2

// Holders returns the releases that share requests of a route by its annotation, sorted by Service,
// and whether all of it can be read. An entry that can't be read was not written by Sluice.
func Holders(route metav1.Object) (holders []Held, readable bool) {
	text, found := route.GetAnnotations()[v1alpha1.TrafficAnnotation]
	if !found {
		return nil, true
	}
	var all holds
	if json.Unmarshal([]byte(text), &all) != nil || all == nil || len(all) > mostHeld {
		return nil, false
	}
	readable = true
	for _, key := range slices.Sorted(maps.Keys(all)) {
		one, bad := all.of(key)
		service := keyed(key, route.GetNamespace())
		if bad != nil || service.key() != key || !one.by(service) {
			readable = false
			continue
		}
		holders = append(holders, Held{Service: service.Service, Holder: one.Holder})
	}
	return holders, readable
}

// by reports whether a hold is that of a release for a Service of its namespace, both with names
// that objects can have.
func (h *hold) by(service names) bool {
	namespace, release, _ := strings.Cut(h.Release, "/")
	return namespace == service.namespace && len(validation.IsDNS1123Subdomain(release)) == 0 && len(validation.IsDNS1123Label(service.Service)) == 0
}
