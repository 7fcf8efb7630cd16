package spec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Other is an object of the repository that Sluice does not apply, and that releases have to do
// with.
type Other struct {
	Namespace, Name string
	Place           Place

	object json.RawMessage
}

// Route is an HTTPRoute, GRPCRoute or Ingress.
type Route struct {
	Other

	Kind v1alpha1.TrafficRouteKind
}

// Service is a Service.
type Service struct{ Other }

// Object returns the object in its namespace. The caller may change it.
func (o *Other) Object() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: toMap(o.object)}
	object.SetNamespace(o.Namespace)
	return object
}

// parseOther returns such an object; nil if it has no name that can be read, which is for the API
// server to say.
func parseOther(of kind, data []byte) *manifest {
	var object header
	if json.Unmarshal(data, &object) != nil || object.Metadata.Name == "" {
		return nil
	}
	return &manifest{kind: of, namespace: object.Metadata.Namespace, name: object.Metadata.Name, object: data}
}

// others returns the routes and Services of all files.
func (p *pass) others() (routes []Route, services []Service) {
	for _, l := range p.manifests {
		of := Other{Namespace: l.in(p.opts.Namespace), Name: l.name, Place: Place{l.file, l.at.line}, object: l.object}
		switch {
		case l.kind.isRoute():
			routes = append(routes, Route{of, v1alpha1.TrafficRouteKind(l.kind)})
		case l.kind == serviceKind:
			services = append(services, Service{of})
		}
	}
	return routes, services
}

// routesPath is where a BatchRelease names routes.
const routesPath = "spec.strategy.traffic.routes"

// shareKey is a Service in a route, which only one release can share. The Service is in the
// namespace of the release.
type shareKey struct {
	kind                      v1alpha1.TrafficRouteKind
	routeNamespace, route     string
	serviceNamespace, service string
}

// sharer is the place at which a release names a route.
type sharer struct {
	release objectKey
	located located
	index   int
}

// dropSharers drops releases that share the same requests: a Service can select the versions of one
// workload only.
func (p *pass) dropSharers(releases map[objectKey][]located) {
	sharers := map[shareKey][]sharer{}
	for key, ls := range releases {
		for i, route := range ls[0].routes {
			of := shareKey{route.Kind, cmp.Or(route.Namespace, key.namespace), route.Name, key.namespace, route.Service}
			sharers[of] = append(sharers[of], sharer{key, ls[0], i})
		}
	}
	for of, each := range sharers {
		if len(each) > 1 {
			p.failSharers(of, each)
			for _, s := range each {
				delete(releases, s.release)
			}
		}
	}
}

// failSharers reports each of several releases with the place of another one.
func (p *pass) failSharers(of shareKey, each []sharer) {
	slices.SortFunc(each, func(a, b sharer) int {
		return cmp.Or(cmp.Compare(a.located.file, b.located.file), cmp.Compare(a.located.at.line, b.located.at.line), cmp.Compare(a.release.name, b.release.name))
	})
	for i, s := range each {
		other := each[0]
		if i == 0 {
			other = each[1]
		}
		p.fail(s.located.file, s.located.sharing, fmt.Sprintf(
			"%s[%d]: BatchRelease %s/%s in %s also shares the requests for Service %s in %s %s/%s, and a Service can be shared by one release only",
			routesPath, s.index, other.release.namespace, other.release.name, place(other.located.file, other.located.at.line), of.service, of.kind, of.routeNamespace, of.route))
	}
}
