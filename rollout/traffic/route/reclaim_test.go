package route

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestReclaimed: a route without the annotation is the release's again only if its rules equal
// those that sharing writes.
func TestReclaimed(t *testing.T) {
	t.Parallel()
	step := []v1alpha1.RequestMatch{header("x", "y")}
	const copied = "{matches: [{path: {type: PathPrefix, value: /}, headers: [{type: Exact, name: x, value: \"y\"}]}], backendRefs: [{name: web-canary, weight: 1}]}"
	for name, tc := range map[string]struct {
		rules      string
		annotation any
		want       string
	}{
		"shared":             {"[{backendRefs: [{name: web-stable, weight: 270}, {name: web-canary, weight: 30}, {name: api, weight: 100}]}]", nil, "[{backendRefs: [{name: web, weight: 3}, {name: api, weight: 1}]}]"},
		"nothing to canary":  {"[{backendRefs: [{name: web-stable, weight: 100}]}, {backendRefs: [{name: api, weight: 7}]}]", nil, "[{backendRefs: [{name: web, weight: 1}]}, {backendRefs: [{name: api, weight: 7}]}]"},
		"all to canary":      {"[{backendRefs: [{name: web-canary, weight: 100}]}]", nil, "[{backendRefs: [{name: web, weight: 1}]}]"},
		"with a step's rule": {"[" + copied + ", {backendRefs: [{name: web-stable, weight: 100}]}]", nil, "[{backendRefs: [{name: web, weight: 1}]}]"},
		"another's hold":     {"[{backendRefs: [{name: web-stable, weight: 50}, {name: web-canary, weight: 50}]}]", `{"api":{"release":"shop/api","uid":"2"}}`, "[{backendRefs: [{name: web, weight: 1}]}]"},

		"the user's":                       {"[{backendRefs: [{name: web, weight: 1}]}]", nil, ""},
		"no reference":                     {"[{backendRefs: [{name: api, weight: 1}]}, {}]", nil, ""},
		"weights of somebody":              {"[{backendRefs: [{name: web-stable, weight: 9}, {name: web-canary, weight: 1}]}]", nil, ""},
		"beside the Service":               {"[{backendRefs: [{name: web, weight: 1}, {name: web-canary, weight: 100}]}]", nil, ""},
		"a rule beside":                    {"[{backendRefs: [{name: web-stable, weight: 100}]}, {backendRefs: [{name: web, weight: 1}]}]", nil, ""},
		"for looking at the new version":   {"[{matches: [{path: {value: /new}}], backendRefs: [{name: web-canary, weight: 1}]}, {backendRefs: [{name: web, weight: 1}]}]", nil, ""},
		"... while the others are shared":  {"[{matches: [{path: {value: /new}}], backendRefs: [{name: web-canary, weight: 1}]}, {backendRefs: [{name: web-stable, weight: 100}]}]", nil, ""},
		"shares that differ":               {"[{backendRefs: [{name: web-stable, weight: 50}, {name: web-canary, weight: 50}]}, {backendRefs: [{name: web-stable, weight: 100}]}]", nil, ""},
		"another's part is not multiplied": {"[{backendRefs: [{name: web-stable, weight: 50}, {name: web-canary, weight: 50}, {name: api, weight: 1}]}]", nil, ""},
		"in another namespace":             {"[{backendRefs: [{name: web-stable, namespace: blog, weight: 100}]}]", nil, ""},
		"what can't be read":               {"[{backendRefs: [{name: web-stable, weight: 100}]}]", "{", ""},
		"an entry that can't be read":      {"[{backendRefs: [{name: web-stable, weight: 100}]}]", `{"web":3}`, ""},
		"another release":                  {"[{backendRefs: [{name: web-stable, weight: 100}]}]", `{"web":{"release":"shop/other","uid":"9"}}`, ""},
		"held":                             {"[{backendRefs: [{name: web-stable, weight: 100}]}]", `{"web":{"release":"shop/web","uid":"1","weight":0}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			route := routed(t, tc.rules)
			if tc.annotation != nil {
				route = annotated(route, tc.annotation)
			}
			before := encoded(t, route)
			again := Reclaimed(v1alpha1.RouteHTTP, route, nil, web, []v1alpha1.Step{{}, {Matches: []v1alpha1.RequestMatch{header("a", "b")}}, {Matches: step}})
			if before != encoded(t, route) {
				t.Error("it was changed")
			}
			if tc.want == "" {
				if again != nil {
					t.Errorf("want it left alone, got %v", again.Object)
				}
				return
			}
			if again == nil {
				t.Fatal("want it to be the release's again")
			}
			restored, problem := KindOf(v1alpha1.RouteHTTP).Restore(again, web)
			if problem != nil {
				t.Fatal(problem.Message)
			}
			wantJSON(t, "restored", routed(t, tc.want).Object["spec"], restored.Object["spec"])
			wantJSON(t, "what others have said", metadataOf(route)["annotations"], metadataOf(restored)["annotations"])
		})
	}
}

// TestReclaimedIsWhatWasShared: any shared route is read the same without the annotation as with
// it.
func TestReclaimedIsWhatWasShared(t *testing.T) {
	t.Parallel()
	for _, kind := range gatewayKinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				use := pick(t, "use", uses...)
				route, share := drawRouteOf(t, kind, use), drawShare(t, kind == v1alpha1.RouteGRPC)
				shared := mustShare(t, kind, route, use, share)
				if again := Reclaimed(kind, route, nil, use, []v1alpha1.Step{{Matches: share.Matches}}); again != nil {
					t.Fatalf("want the user's route left alone, got %v", again.Object)
				}
				again := Reclaimed(kind, withoutHolds(shared), nil, use, []v1alpha1.Step{{Matches: share.Matches}})
				if again == nil {
					t.Fatalf("want the release's route again, of %s", encoded(t, shared))
				}
				wantSame(t, "Restore(Reclaimed(Share(x) without its annotation))", route, mustRestore(t, kind, again, use))
			})
		})
	}
}

// withoutHolds returns a route whose annotation somebody has taken away.
func withoutHolds(route *unstructured.Unstructured) *unstructured.Unstructured {
	next := cloned(route)
	_ = holds(nil).write(next)
	return next
}
