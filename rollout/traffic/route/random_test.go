package route

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// The uses of one route: two Services of its namespace by two releases, and one of another
// namespace with the name of the first.
var uses = []Use{
	{"shop", "web", Holder{"shop/web", "1"}},
	{"shop", "api", Holder{"shop/api", "2"}},
	{"blog", "web", Holder{"blog/web", "3"}},
}

func pick[T any](t *rapid.T, label string, of ...T) T { return rapid.SampledFrom(of).Draw(t, label) }

func chance(t *rapid.T, label string) bool { return rapid.Bool().Draw(t, label) }

// drawBackend draws a backend as the API server returns it: with group, kind and weight.
func drawBackend(t *rapid.T) any {
	ref := object{"group": "", "kind": "Service", "name": pick(t, "name", "web", "web", "web", "api", "other"), "port": int64(80)}
	switch rapid.IntRange(0, 9).Draw(t, "kind of backend") {
	case 0:
		ref["namespace"] = "blog"
	case 1:
		ref["namespace"] = "shop"
	case 2:
		ref["port"] = int64(8080)
	case 3:
		ref["filters"] = []any{object{"type": "RequestHeaderModifier", "requestHeaderModifier": object{
			"set": []any{object{"name": "x-by", "value": pick(t, "by", "1", "2")}}}}}
	case 4:
		ref["group"], ref["kind"] = "example.com", "Bucket"
	}
	ref["weight"] = pick[int64](t, "weight", 0, 1, 1, 2, 3, 7, 50, 100)
	return ref
}

func drawMatch(t *rapid.T, grpc bool) any {
	match := object{}
	if grpc {
		if chance(t, "method") {
			match["method"] = object{"type": "Exact", "service": pick(t, "service", "shop.Cart", "shop.Search"), "method": "Get"}
		}
	} else {
		match["path"] = object{"type": pick(t, "type", "PathPrefix", "PathPrefix", "Exact"), "value": pick(t, "path", "/", "/api", "/api/v2", "/apis", "/shop")}
		if chance(t, "method") {
			match["method"] = pick(t, "verb", "GET", "POST")
		}
		if chance(t, "query") {
			match["queryParams"] = []any{object{"type": "Exact", "name": "lang", "value": pick(t, "lang", "de", "fr")}}
		}
	}
	if chance(t, "headers") {
		match["headers"] = []any{object{"type": "Exact", "name": pick(t, "header", "X-Canary", "x-tenant"), "value": pick(t, "value", "a", "b")}}
	}
	return match
}

func drawRule(t *rapid.T, grpc bool) any {
	rule := object{"matches": rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return drawMatch(t, grpc) }), 1, 2).Draw(t, "matches")}
	if grpc && chance(t, "no matches") {
		delete(rule, "matches")
	}
	if chance(t, "has backends") || chance(t, "has backends after all") {
		rule["backendRefs"] = rapid.SliceOfN(rapid.Custom(drawBackend), 0, 4).Draw(t, "backends")
	}
	if chance(t, "named") {
		rule["name"] = pick(t, "rule", "one", "two")
	}
	if chance(t, "filtered") {
		rule["filters"] = []any{object{"type": "ResponseHeaderModifier", "responseHeaderModifier": object{"remove": []any{"server"}}}}
	}
	if chance(t, "unknown field") {
		rule["timeouts"] = object{"request": "10s"}
	}
	return rule
}

func drawRoute(t *rapid.T, kind v1alpha1.TrafficRouteKind) *unstructured.Unstructured {
	metadata := object{"name": "web", "namespace": "shop", "generation": int64(3), "resourceVersion": "7"}
	if chance(t, "annotated") {
		metadata["annotations"] = object{"team": "shop"}
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": string(kind), "metadata": metadata,
		"spec": object{
			"parentRefs": []any{object{"name": "edge"}},
			"rules":      rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return drawRule(t, kind == v1alpha1.RouteGRPC) }), 1, 4).Draw(t, "rules"),
		},
	}}
}

// drawRouteOf draws a route that can be shared by releases, most of the time: a rule refers to the
// Service of each. Of draws that nearly all are left, rapid finds too few.
func drawRouteOf(t *rapid.T, kind v1alpha1.TrafficRouteKind, users ...Use) *unstructured.Unstructured {
	route := drawRoute(t, kind)
	rules := route.Object["spec"].(object)["rules"].([]any)
	for _, use := range users {
		rule := pick(t, "rule that refers to it", rules...).(object)
		backends, _ := rule["backendRefs"].([]any)
		backend := object{"group": "", "kind": "Service", "name": use.Service, "port": int64(80), "weight": pick[int64](t, "weight", 1, 2, 7)}
		if use.Namespace != route.GetNamespace() {
			backend["namespace"] = use.Namespace
		}
		rule["backendRefs"] = append(backends, backend)
	}
	return route
}

func drawStepMatch(t *rapid.T, grpc bool) v1alpha1.RequestMatch {
	var match v1alpha1.RequestMatch
	if !grpc && chance(t, "step path") {
		match.Path = &v1alpha1.PathMatch{Type: pick(t, "type", v1alpha1.PathPrefix, v1alpha1.PathExact, ""), Value: pick(t, "path", "/", "/api", "/api/v2", "/shop/cart")}
	}
	if !grpc && chance(t, "step query") {
		match.QueryParams = []v1alpha1.ValueMatch{{Name: "lang", Value: pick(t, "lang", "de", "fr")}}
	}
	if grpc || match.Path == nil && match.QueryParams == nil || chance(t, "step header") {
		match.Headers = []v1alpha1.ValueMatch{{
			Type: pick(t, "type", "", v1alpha1.MatchExact), Name: pick(t, "header", "x-canary", "x-user"), Value: pick(t, "value", "a", "b"),
		}}
	}
	return match
}

func drawShare(t *rapid.T, grpc bool) traffic.Share {
	share := traffic.Share{Weight: pick[int32](t, "share", 0, 1, 10, 33, 50, 99, 100)}
	if chance(t, "with matches") {
		share.Matches = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) v1alpha1.RequestMatch { return drawStepMatch(t, grpc) }), 1, 2).Draw(t, "step matches")
	}
	return share
}

var gatewayKinds = []v1alpha1.TrafficRouteKind{v1alpha1.RouteHTTP, v1alpha1.RouteGRPC}

// encoded returns an object as it is compared: as JSON.
func encoded(t interface{ Fatalf(string, ...any) }, obj *unstructured.Unstructured) string {
	data, err := json.MarshalIndent(obj.Object, "", " ")
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return string(data)
}

func wantSame(t *rapid.T, what string, want, got *unstructured.Unstructured) {
	t.Helper()
	if diff := cmp.Diff(encoded(t, want), encoded(t, got)); diff != "" {
		t.Fatalf("%s: -want +got:\n%s", what, diff)
	}
}

// mustShare shares a route, and leaves a draw that can't be shared.
func mustShare(t *rapid.T, kind v1alpha1.TrafficRouteKind, route *unstructured.Unstructured, use Use, share traffic.Share) *unstructured.Unstructured {
	t.Helper()
	before := encoded(t, route)
	shared, problem := KindOf(kind).Share(route, use, share)
	if before != encoded(t, route) {
		t.Fatalf("Share has changed what it was given")
	}
	if problem != nil {
		t.Skip(problem.Message)
	}
	return shared
}

func mustRestore(t *rapid.T, kind v1alpha1.TrafficRouteKind, route *unstructured.Unstructured, use Use) *unstructured.Unstructured {
	t.Helper()
	before := encoded(t, route)
	restored, problem := KindOf(kind).Restore(route, use)
	if problem != nil {
		t.Fatalf("Restore: %s", problem.Message)
	}
	if before != encoded(t, route) {
		t.Fatalf("Restore has changed what it was given")
	}
	return restored
}

func TestInverse(t *testing.T) {
	t.Parallel()
	for _, kind := range gatewayKinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				grpc := kind == v1alpha1.RouteGRPC
				use := pick(t, "use", uses...)
				route := drawRouteOf(t, kind, use)
				one, other := drawShare(t, grpc), drawShare(t, grpc)
				shared := mustShare(t, kind, route, use, one)
				wantSame(t, "Restore(Share(x))", route, mustRestore(t, kind, shared, use))
				wantSame(t, "Restore(Restore(Share(x)))", route, mustRestore(t, kind, route, use))
				wantSame(t, "Share(Share(x, a), a)", shared, mustShare(t, kind, shared, use, one))
				wantSame(t, "Share(Share(x, a), b)", mustShare(t, kind, route, use, other), mustShare(t, kind, shared, use, other))
				seen := KindOf(kind).Read(shared, nil, use)
				want := traffic.Route{
					TrafficRoute: v1alpha1.TrafficRoute{Kind: kind, Name: "web", Service: use.Service},
					Held:         true, Whole: true, Observed: true, Accepted: true, Share: one, Generation: 3,
				}
				if use.Namespace != "shop" {
					want.Namespace = "shop"
				}
				if diff := cmp.Diff(want, seen); diff != "" {
					t.Fatalf("Read(Share(x)): -want +got:\n%s", diff)
				}
			})
		})
	}
}

// TestSeveralReleases: releases share requests for several Services of one route, and write and
// restore it in any order.
func TestSeveralReleases(t *testing.T) {
	t.Parallel()
	for _, kind := range gatewayKinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				grpc := kind == v1alpha1.RouteGRPC
				one, other := drawShare(t, grpc), drawShare(t, grpc)
				order := rapid.Permutation(uses).Draw(t, "order")
				a, b, c := order[0], order[1], order[2]
				route := drawRouteOf(t, kind, a, b)
				first := mustShare(t, kind, mustShare(t, kind, route, a, one), b, other)
				wantSame(t, "the order of releases", first, mustShare(t, kind, mustShare(t, kind, route, b, other), a, one))
				wantSame(t, "Restore of one", mustShare(t, kind, route, b, other), mustRestore(t, kind, first, a))
				wantSame(t, "Restore of both", route, mustRestore(t, kind, mustRestore(t, kind, first, a), b))
				wantSame(t, "Restore by one that holds nothing", first, mustRestore(t, kind, first, c))
				for use, share := range map[Use]traffic.Share{a: one, b: other} {
					if seen := KindOf(kind).Read(first, nil, use); !seen.Whole || !cmp.Equal(seen.Share, share) {
						t.Fatalf("Read by %v: want it whole, with %v, got %+v", use, share, seen)
					}
				}
			})
		})
	}
}

// edits are what users do to a route, shared or not, that can be told from what Sluice does.
var edits = map[string]func(t *rapid.T, kind v1alpha1.TrafficRouteKind) func(rules []any) []any{
	"adds a rule at the end": func(t *rapid.T, kind v1alpha1.TrafficRouteKind) func([]any) []any {
		rule := drawRule(t, kind == v1alpha1.RouteGRPC)
		return func(rules []any) []any { return append(rules, clone(rule)) }
	},
	"takes the last rule out": func(*rapid.T, v1alpha1.TrafficRouteKind) func([]any) []any {
		return func(rules []any) []any { return rules[:len(rules)-1] }
	},
	"filters a rule": func(*rapid.T, v1alpha1.TrafficRouteKind) func([]any) []any {
		return func(rules []any) []any {
			rules[len(rules)-1].(object)["filters"] = []any{object{"type": "RequestHeaderModifier", "requestHeaderModifier": object{"remove": []any{"x"}}}}
			return rules
		}
	},
	"changes the matches of a rule": func(t *rapid.T, kind v1alpha1.TrafficRouteKind) func([]any) []any {
		match := drawMatch(t, kind == v1alpha1.RouteGRPC)
		return func(rules []any) []any {
			rules[len(rules)-1].(object)["matches"] = []any{clone(match)}
			return rules
		}
	},
	"applies the original again": func(*rapid.T, v1alpha1.TrafficRouteKind) func([]any) []any { return nil },
}

func edited(route *unstructured.Unstructured, change func([]any) []any) *unstructured.Unstructured {
	next := cloned(route)
	spec := next.Object["spec"].(object)
	spec["rules"] = change(spec["rules"].([]any))
	return next
}

func TestEditsStay(t *testing.T) {
	t.Parallel()
	for _, kind := range gatewayKinds {
		for what, edit := range edits {
			t.Run(fmt.Sprintf("%s/%s", kind, what), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					grpc := kind == v1alpha1.RouteGRPC
					use, share := pick(t, "use", uses...), drawShare(t, grpc)
					route := drawRouteOf(t, kind, use)
					shared := mustShare(t, kind, route, use, share)
					change := edit(t, kind)
					if change == nil {
						change = func([]any) []any { return clone(route.Object["spec"].(object)["rules"]).([]any) }
					}
					want, have := edited(route, change), edited(shared, change)
					if len(want.Object["spec"].(object)["rules"].([]any)) == 0 {
						t.Skip("a route without rules")
					}
					restored := mustRestore(t, kind, have, use)
					wantSame(t, "Restore of what was edited", want, restored)
					if again := KindOf(kind).Read(have, nil, use); again.Problem == nil {
						wantSame(t, "Share of what was edited", mustShare(t, kind, want, use, share), mustShare(t, kind, have, use, share))
					}
				})
			})
		}
	}
}
