package route_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

func grant(t *testing.T, spec string) []unstructured.Unstructured {
	t.Helper()
	object := unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("spec: "+spec), &object.Object); err != nil {
		t.Fatal(err)
	}
	return []unstructured.Unstructured{object}
}

// TestNotGranted: a route of another namespace needs the consent of its own, and of that of the
// Services.
func TestNotGranted(t *testing.T) {
	t.Parallel()
	named := v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Namespace: "edge", Name: "web", Service: "web"}
	const (
		releases = "{from: [{group: rollouts.sluice.dev, kind: BatchRelease, namespace: shop}], to: [{group: gateway.networking.k8s.io, kind: HTTPRoute}]}"
		services = `{from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: edge}], to: [{group: "", kind: Service}]}`

		lacksThere = "a ReferenceGrant in namespace edge must let BatchReleases of group rollouts.sluice.dev and namespace shop refer to HTTPRoutes"
		lacksHere  = "a ReferenceGrant in namespace shop must let HTTPRoutes of group gateway.networking.k8s.io and namespace edge refer to Services, or to web-stable and web-canary"
	)
	for name, tc := range map[string]struct{ there, here, want string }{
		"Granted":          {releases, services, ""},
		"ByName":           {strings.Replace(releases, "kind: HTTPRoute", "kind: HTTPRoute, name: web", 1), services, ""},
		"OtherRoute":       {strings.Replace(releases, "kind: HTTPRoute", "kind: HTTPRoute, name: api", 1), services, lacksThere},
		"OtherKind":        {strings.Replace(releases, "HTTPRoute", "GRPCRoute", 1), services, lacksThere},
		"OtherGroup":       {strings.Replace(releases, "rollouts.sluice.dev", "apps", 1), services, lacksThere},
		"OtherNamespace":   {strings.Replace(releases, "namespace: shop", "namespace: shops", 1), services, lacksThere},
		"AnyNamespace":     {strings.Replace(releases, ", namespace: shop", "", 1), services, lacksThere}, // the API has no such grant
		"NoneThere":        {"{}", services, lacksThere},
		"NoneHere":         {releases, "{}", lacksHere},
		"OneSide":          {releases, strings.Replace(services, "kind: Service", "kind: Service, name: web-stable", 1), lacksHere},
		"BothSides":        {releases, strings.Replace(services, "{group: \"\", kind: Service}", "{kind: Service, name: web-stable}, {kind: Service, name: web-canary}", 1), ""},
		"TheUsers":         {releases, strings.Replace(services, "kind: Service", "kind: Service, name: web", 1), lacksHere},
		"SomethingAltered": {releases, "{from: 1, to: [2]}", lacksHere},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if problem := route.NotGranted(named, "shop", grant(t, tc.there), grant(t, tc.here)); problem != nil {
				got = problem.Message
				if problem.Type != v1alpha1.TrafficNotGranted || problem.Object != "HTTPRoute edge/web" {
					t.Errorf("want the route to be told, got %+v", problem)
				}
			}
			if refers := route.MayRefer(named, grant(t, tc.here)); refers && !route.MayReferFrom(named.Kind, named.Namespace, grant(t, tc.here)) {
				t.Error("want the namespace of a route to be one from which routes may refer")
			}
			if !strings.HasPrefix(got, tc.want) || (tc.want == "") != (got == "") {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}
