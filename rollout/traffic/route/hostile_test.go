package route

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// alike returns a name as long as one can be, that differs from others in its end.
func alike(n int) string { return fmt.Sprintf("%s%03d", strings.Repeat("h", 253), n) }

// compared returns n conditions of a route on names that are alike.
func compared(from, n int) []any {
	var list []any
	for i := range n {
		list = append(list, object{"type": byExact, "name": alike(from + i), "value": "v"})
	}
	return list
}

// TestForgedStatus: a forged status of a route makes a release wait, or not wait, and has no other
// effect. A claim counts for the route as it is now.
func TestForgedStatus(t *testing.T) {
	t.Parallel()
	condition := func(kind, status string, generation any) any {
		return object{"type": kind, "status": status, "observedGeneration": generation, "message": "\x1b[31m::error::\n" + strings.Repeat("x", 1<<15)}
	}
	entry := func(accepted, resolved any) any { return object{"conditions": []any{accepted, resolved}} }
	claims := func(status string, generation any) any {
		return entry(condition("Accepted", status, generation), condition("ResolvedRefs", status, generation))
	}
	entries := func(n int, one any, others ...any) []any {
		list := others
		for range n {
			list = append(list, one)
		}
		return list
	}
	const now = int64(3)
	cases := map[string]struct {
		parents           []any
		accepted, refused bool
	}{
		"accepted by all that there can be":   {entries(32, claims("True", now)), true, false},
		"... but one, which is late":          {entries(31, claims("True", now), claims("True", now-1)), false, false},
		"... but one, which never was asked":  {entries(31, claims("True", now), object{}), false, false},
		"... but one, which can't resolve":    {entries(31, claims("True", now), entry(condition("Accepted", "True", now), condition("ResolvedRefs", "False", now))), true, true},
		"refused by all that there can be":    {entries(32, claims("False", now)), false, true},
		"of a generation to come":             {entries(1, claims("True", int64(math.MaxInt64))), true, false},
		"... and refused":                     {entries(1, claims("False", int64(math.MaxInt64))), false, true},
		"of a negative generation":            {entries(1, claims("True", int64(math.MinInt64))), false, false},
		"of no number":                        {entries(1, claims("True", "3")), false, false},
		"of a number beyond all":              {entries(1, claims("True", 1e300)), false, false},
		"of no generation":                    {entries(1, claims("True", nil)), false, false},
		"neither true nor false":              {entries(1, claims("true", now)), false, true},
		"both, and the first counts":          {entries(1, object{"conditions": []any{condition("Accepted", "False", now), condition("Accepted", "True", now), condition("ResolvedRefs", "True", now)}}), false, true},
		"more entries than the API takes":     {entries(100_000, claims("True", now)), true, false},
		"of conditions that are none":         {entries(1, entry(nil, []any{})), false, false},
		"of somebody whom no parentRef names": {entries(1, object{"controllerName": "evil.example/none", "conditions": []any{condition("Accepted", "True", now), condition("ResolvedRefs", "True", now)}}), true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			route := routed(t, "[{backendRefs: [{name: web, weight: 1}]}]")
			route.Object["status"] = object{"parents": tc.parents}
			seen := KindOf(v1alpha1.RouteHTTP).Read(route, nil, web)
			if seen.Accepted != tc.accepted || (seen.Refused != nil) != tc.refused {
				t.Errorf("want accepted %t, refused %t; got %t, %+v", tc.accepted, tc.refused, seen.Accepted, seen.Refused)
			}
			wantFit(t, seen.Refused)
			if seen.Problem != nil || seen.Held || seen.Strays {
				t.Errorf("want nothing else to be said, got %+v", seen)
			}
		})
	}
}

// drawForged draws a route whose owner has written what they like: references to sides, weights,
// and an annotation that says who holds it.
func drawForged(t *rapid.T, kind v1alpha1.TrafficRouteKind) *unstructured.Unstructured {
	route := drawRoute(t, kind)
	for _, rule := range route.Object["spec"].(object)["rules"].([]any) {
		refs, _ := rule.(object)["backendRefs"].([]any)
		for _, ref := range refs {
			if chance(t, "a side") {
				ref.(object)["name"] = pick(t, "side", "web-stable", "web-canary", "api-stable", "api-canary")
				ref.(object)["weight"] = pick[int64](t, "its weight", 0, 1, 1, 33, 99, 100, 101, 1_000_000)
			}
		}
	}
	holds := holds{}
	for _, use := range uses[:2] {
		if use.Service == "web" || chance(t, "api is held") {
			share := drawShare(t, kind == v1alpha1.RouteGRPC)
			holds, _ = holds.with(use.Service, use.Holder, share)
		}
	}
	if holds.write(route) != nil {
		t.Fatal("want an annotation")
	}
	return route
}

// TestForgedRoutesSettle: any route of an owner is shared by one write, and restored by one, so
// that no route causes endless writes.
func TestForgedRoutesSettle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := pick(t, "kind", gatewayKinds...)
		route, share := drawForged(t, kind), drawShare(t, kind == v1alpha1.RouteGRPC)
		shared := mustShare(t, kind, route, web, share)
		seen := KindOf(kind).Read(shared, nil, web)
		if !seen.Held || !seen.Whole || seen.Share.Weight != share.Weight || !same(seen.Share.Matches, share.Matches) {
			t.Fatalf("want it shared as it was written, %+v, got %+v", share, seen)
		}
		restored := mustRestore(t, kind, shared, web)
		if left := KindOf(kind).Read(restored, nil, web); left.Held || left.Strays {
			t.Fatalf("want nothing of it left, got %+v in %s", left, encoded(t, restored))
		}
		wantSame(t, "restored again", restored, mustRestore(t, kind, restored, web))
	})
}
