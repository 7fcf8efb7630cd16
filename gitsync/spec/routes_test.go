package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sharing returns a release of a Deployment of its own that shares requests.
func sharing(name, routes string) string {
	text := strings.Replace(withTraffic(routes, "traffic: 5%"), "  name: web\n", "  name: "+name+"\n", 1)
	return strings.ReplaceAll(text, "kind: Deployment, name: web", "kind: Deployment, name: "+name)
}

// TestReleasesThatShareTheSame: two releases of one Service in one route are both refused, each
// with the place of the other.
func TestReleasesThatShareTheSame(t *testing.T) {
	t.Parallel()
	const api = "{kind: HTTPRoute, name: web, service: api}"
	refused := func(index int, file, other, line, of string) string {
		return fmt.Sprintf("%s:10: spec.strategy.traffic.routes[%d]: BatchRelease shop/%s in %s:%s also shares the requests for Service web in %s, and a Service can be shared by one release only",
			file, index, other, map[string]string{"a.yaml": "b.yaml", "b.yaml": "a.yaml"}[file], line, of)
	}
	for name, tt := range map[string]struct {
		a, b     string
		errors   []string
		releases []string
	}{
		"the same": {
			sharing("a", route), sharing("b", api+", "+route),
			[]string{refused(0, "a.yaml", "b", "1", "HTTPRoute shop/web"), refused(1, "b.yaml", "a", "1", "HTTPRoute shop/web")}, nil,
		},
		"its namespace is given once": {
			sharing("a", route), sharing("b", "{kind: HTTPRoute, name: web, namespace: shop, service: web}"),
			[]string{refused(0, "a.yaml", "b", "1", "HTTPRoute shop/web"), refused(0, "b.yaml", "a", "1", "HTTPRoute shop/web")}, nil,
		},
		"another Service":   {sharing("a", route), sharing("b", api), nil, []string{"shop/a", "shop/b"}},
		"another kind":      {sharing("a", route), sharing("b", "{kind: GRPCRoute, name: web, service: web}"), nil, []string{"shop/a", "shop/b"}},
		"another namespace": {sharing("a", route), sharing("b", "{kind: HTTPRoute, name: web, namespace: edge, service: web}"), nil, []string{"shop/a", "shop/b"}},
		"another name":      {sharing("a", route), sharing("b", "{kind: HTTPRoute, name: api, service: web}"), nil, []string{"shop/a", "shop/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := read(t, map[string]string{"a.yaml": tt.a, "b.yaml": tt.b})
			wantErrors(t, result, tt.errors...)
			wantReleases(t, result, tt.releases...)
		})
	}
}

// TestRoutesAreFound: routes and Services are in the result where they stand, and nothing of them
// is an error: the API server checks them.
func TestRoutesAreFound(t *testing.T) {
	t.Parallel()
	route := func(version, kind, metadata string) string {
		return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {%s}\nspec: {rules: 5}\n", version, kind, metadata)
	}
	result := read(t, map[string]string{"r.yaml": strings.Join([]string{
		release("web", template+strategy),
		route("gateway.networking.k8s.io/v1", "HTTPRoute", "name: a"),
		route("gateway.networking.k8s.io/v1alpha2", "GRPCRoute", "name: b, namespace: edge"),
		route("networking.k8s.io/v1", "Ingress", "name: c"),
		route("gateway.networking.k8s.io/v1", "TLSRoute", "name: d"),
		route("gateway.networking.k8s.io/v1", "Ingress", "name: e"),
		route("example.org/v1", "HTTPRoute", "name: f"),
		route("gateway.networking.k8s.io/v1", "HTTPRoute", "generateName: g"),
		route("gateway.networking.k8s.io/v1", "HTTPRoute", "name: 5"),
		route("v1", "Service", "name: h"),
		route("v1", "Service", "name: i, namespace: edge"),
		route("serving.knative.dev/v1", "Service", "name: j"),
		route("v1", "Service", "name: []"),
	}, "---\n")})
	wantErrors(t, result)
	wantReleases(t, result, "shop/web")
	var got []string
	for _, r := range result.Routes {
		got = append(got, fmt.Sprintf("%s %s/%s %s:%d, %s", r.Kind, r.Namespace, r.Name, r.Place.File, r.Place.Line, r.Object().GetNamespace()))
	}
	lines := strings.Count(release("web", template+strategy), "\n") + 2
	want := []string{
		fmt.Sprintf("HTTPRoute shop/a r.yaml:%d, shop", lines), fmt.Sprintf("GRPCRoute edge/b r.yaml:%d, edge", lines+5), fmt.Sprintf("Ingress shop/c r.yaml:%d, shop", lines+10),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	got = nil
	for _, s := range result.Services {
		got = append(got, fmt.Sprintf("Service %s/%s r.yaml:%d, %s", s.Namespace, s.Name, s.Place.Line, s.Object().GetNamespace()))
	}
	want = []string{fmt.Sprintf("Service shop/h r.yaml:%d, shop", lines+40), fmt.Sprintf("Service edge/i r.yaml:%d, edge", lines+45)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Services (-want +got):\n%s", diff)
	}
}
