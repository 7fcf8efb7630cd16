package rollout

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// claimed is a cache of routes that claim to be held by one release, and of the ReferenceGrants of
// its namespace.
type claimed struct {
	client.Client

	claims []unstructured.Unstructured
	grants []unstructured.Unstructured
	// lists are how often ReferenceGrants were listed.
	lists int
}

func (c *claimed) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	switch list := into.(type) {
	case *corev1.ServiceList:
		return nil
	case *unstructured.UnstructuredList:
		if kind := list.GroupVersionKind().Kind; kind == "ReferenceGrant" {
			c.lists++
			list.Items = c.grants
		} else if kind == string(v1alpha1.RouteHTTP) {
			list.Items = c.claims
		}
		return nil
	default:
		return fmt.Errorf("%T is not in the cache", into)
	}
}

// TestClaimsOfOtherNamespaces: anybody may write to thousands of routes of their namespace that a
// release of another one holds them. None is read unless a ReferenceGrant of the release's
// namespace is for routes of theirs.
func TestClaimsOfOtherNamespaces(t *testing.T) {
	t.Parallel()
	from := func(namespace string) []unstructured.Unstructured {
		return []unstructured.Unstructured{{Object: map[string]any{"spec": map[string]any{"from": []any{
			map[string]any{"group": route.GatewayGroup, "kind": "HTTPRoute", "namespace": namespace},
		}}}}}
	}
	c := &claimed{}
	served := map[schema.GroupVersionKind]client.Reader{route.GrantKinds[0]: c}
	for _, kind := range route.Kinds {
		served[route.GroupVersionKind(kind)] = c
	}
	for i := range 10_000 {
		one := routeOf(route.GroupVersionKind(v1alpha1.RouteHTTP))
		one.SetNamespace([]string{"evil", "edge"}[i%2])
		one.SetName(fmt.Sprint("web", i))
		c.claims = append(c.claims, *one)
	}
	own := routeOf(route.GroupVersionKind(v1alpha1.RouteHTTP))
	own.SetNamespace("shop")
	c.claims = append(c.claims, *own)
	r := newReconciler(&cluster{client: c, clock: clock.RealClock{}, routes: &routes{kinds: &routeKinds{clock: clock.RealClock{}, served: served}}})
	v := &view{release: &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}}
	for name, tc := range map[string]struct {
		grants []unstructured.Unstructured
		want   map[string]int
	}{
		"nobody may refer to Services": {nil, map[string]int{"shop": 1}},
		"one namespace may":            {from("edge"), map[string]int{"shop": 1, "edge": 5000}},
	} {
		c.grants, c.lists = tc.grants, 0
		held, _, err := r.routeReader.leftOf(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, key := range held {
			got[key.Namespace]++
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: routes by namespace -want +got:\n%s", name, diff)
		}
		if c.lists > 2 {
			t.Errorf("%s: want grants to be listed once for each namespace, got %d", name, c.lists)
		}
	}
}

// TestProblemOfOneService: that one Service's share of a route could not be written says nothing
// about another one's.
func TestProblemOfOneService(t *testing.T) {
	t.Parallel()
	r := newReconciler(&cluster{clock: clock.RealClock{}})
	v := &view{release: &v1alpha1.BatchRelease{}, process: &process{traffic: newTrafficProcess(r.clock)}}
	key := routeKey{kind: v1alpha1.RouteHTTP}
	v.traffic.routes = map[routeKey]*unstructured.Unstructured{key: routeOf(route.GroupVersionKind(v1alpha1.RouteHTTP))}
	problem := v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNotShareable}
	v.process.traffic.unshared[heldKey{key, "web"}] = knownProblem{problem, decidedOn(v, v.traffic.routes[key]), r.clock.Now()}
	if r.routeReader.routeProblem(v, heldKey{key, "web"}) == nil || r.routeReader.routeProblem(v, heldKey{key, "api"}) != nil {
		t.Error("want the problem told of the Service that it is about, and of no other")
	}
}

// TestWhyARouteIsNotSeen: each reason wants something else of people.
func TestWhyARouteIsNotSeen(t *testing.T) {
	t.Parallel()
	r := newReconciler(&cluster{routes: &routes{namespaces: []string{"shop"}}})
	for name, tc := range map[string]struct {
		namespace string
		kind      v1alpha1.TrafficRouteKind
		want      v1alpha1.TrafficProblemType
	}{
		"it does not exist":            {"shop", v1alpha1.RouteHTTP, v1alpha1.TrafficRouteNotFound},
		"its namespace is not watched": {"edge", v1alpha1.RouteHTTP, v1alpha1.TrafficNamespaceNotWatched},
		"its kind is not served":       {"shop", v1alpha1.RouteGRPC, v1alpha1.TrafficNoGatewayAPI},
	} {
		v := &view{}
		v.traffic.kinds = map[v1alpha1.TrafficRouteKind]seenKind{v1alpha1.RouteGRPC: {gone: true}}
		key := routeKey{tc.kind, client.ObjectKey{Namespace: tc.namespace, Name: "web"}}
		if got := r.routeReader.missing(v, key); got.Type != tc.want || got.Object != string(tc.kind)+" "+tc.namespace+"/web" {
			t.Errorf("%s: want %s, got %+v", name, tc.want, got)
		}
	}
}
