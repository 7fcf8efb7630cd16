package route

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

var web = uses[0]

// parsed returns an object written as YAML.
func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(data, &obj.Object)
	}
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return obj
}

// routed returns an HTTPRoute of the namespace shop with these rules.
func routed(t *testing.T, rules string) *unstructured.Unstructured {
	t.Helper()
	return parsed(t, "{metadata: {name: web, namespace: shop, generation: 3}, spec: {rules: "+rules+"}}")
}

func header(name, value string) v1alpha1.RequestMatch {
	return v1alpha1.RequestMatch{Headers: []v1alpha1.ValueMatch{{Name: name, Value: value}}}
}

func onPath(kind v1alpha1.PathMatchType, value string) v1alpha1.RequestMatch {
	return v1alpha1.RequestMatch{Path: &v1alpha1.PathMatch{Type: kind, Value: value}}
}

func TestShare(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, rules, want string
		share               traffic.Share
	}{
		"one backend": {
			"a side that gets nothing is left out",
			"[{backendRefs: [{name: web, port: 80, weight: 3}]}]",
			"[{backendRefs: [{name: web-stable, port: 80, weight: 300}]}]", traffic.Share{},
		},
		"all": {
			"as is the other", "[{backendRefs: [{name: web, port: 80, weight: 3}]}]",
			"[{backendRefs: [{name: web-canary, port: 80, weight: 300}]}]", traffic.Share{Weight: 100},
		},
		"others": {
			"their part stays, with filters and whatever else",
			"[{backendRefs: [{name: web, weight: 3, filters: [{type: X}], new: 1}, {name: api, weight: 1, filters: [{type: Y}]}]}, {backendRefs: [{name: api, weight: 2}]}]",
			"[{backendRefs: [{name: web-stable, weight: 270, filters: [{type: X}], new: 1}, {name: web-canary, weight: 30, filters: [{type: X}], new: 1}, " +
				"{name: api, weight: 100, filters: [{type: Y}]}]}, {backendRefs: [{name: api, weight: 2}]}]",
			traffic.Share{Weight: 10},
		},
		"a header": {
			"a copy without a name takes the requests that match, and no other backend does",
			"[{name: all, filters: [{type: X}], matches: [{path: {type: PathPrefix, value: /}, headers: [{name: a, value: b}]}], " +
				"backendRefs: [{name: web, weight: 1}, {name: api, weight: 1}]}]",
			"[{filters: [{type: X}], matches: [{path: {type: PathPrefix, value: /}, headers: [{name: a, value: b}, {type: Exact, name: x-canary, value: \"yes\"}]}], " +
				"backendRefs: [{name: web-canary, weight: 1}]}, " +
				"{name: all, filters: [{type: X}], matches: [{path: {type: PathPrefix, value: /}, headers: [{name: a, value: b}]}], " +
				"backendRefs: [{name: web-stable, weight: 100}, {name: api, weight: 100}]}]",
			traffic.Share{Matches: []v1alpha1.RequestMatch{header("x-canary", "yes")}},
		},
		"two ports": {
			"a copy shares its requests between the ports as its rule does",
			"[{matches: [{path: {value: /}}], backendRefs: [{name: web, port: 80, weight: 90}, {name: web, port: 81, weight: 10}, {name: web, port: 82, weight: 0}]}]",
			"[{matches: [{path: {value: /}, headers: [{type: Exact, name: x, value: \"y\"}]}], backendRefs: [{name: web-canary, port: 80, weight: 9}, {name: web-canary, port: 81, weight: 1}]}, " +
				"{matches: [{path: {value: /}}], backendRefs: [{name: web-stable, port: 80, weight: 9000}, {name: web-stable, port: 81, weight: 1000}, {name: web-stable, port: 82, weight: 0}]}]",
			traffic.Share{Matches: []v1alpha1.RequestMatch{header("x", "y")}},
		},
		"two ports of a rule for the step's matches, all requests": {
			"a rule that looks like a copy, but for the divisor of its weights, is somebody's own",
			"[{matches: [{path: {value: /}, headers: [{type: Exact, name: x, value: \"y\"}]}], backendRefs: [{name: web, port: 80, weight: 3}, {name: web, port: 81, weight: 7}]}]",
			"[{matches: [{path: {value: /}, headers: [{type: Exact, name: x, value: \"y\"}]}], backendRefs: [{name: web-canary, port: 80, weight: 3}, {name: web-canary, port: 81, weight: 7}]}, " +
				"{matches: [{path: {value: /}, headers: [{type: Exact, name: x, value: \"y\"}]}], backendRefs: [{name: web-canary, port: 80, weight: 300}, {name: web-canary, port: 81, weight: 700}]}]",
			traffic.Share{Weight: 100, Matches: []v1alpha1.RequestMatch{header("x", "y")}},
		},
		"sessions": {
			"a copy keeps the sessions of its rule, and not their name",
			"[{name: all, matches: [{path: {value: /}}], sessionPersistence: {sessionName: shop, type: Cookie}, backendRefs: [{name: web, weight: 1}]}]",
			"[{matches: [{path: {value: /}, headers: [{type: Exact, name: x, value: \"y\"}]}], sessionPersistence: {type: Cookie}, backendRefs: [{name: web-canary, weight: 1}]}, " +
				"{name: all, matches: [{path: {value: /}}], sessionPersistence: {sessionName: shop, type: Cookie}, backendRefs: [{name: web-stable, weight: 100}]}]",
			traffic.Share{Matches: []v1alpha1.RequestMatch{header("x", "y")}},
		},
		"weight 0": {
			"what gets no requests gets none that match",
			"[{matches: [{path: {value: /a}}], backendRefs: [{name: web, weight: 0}]}, {matches: [{path: {value: /b}}], backendRefs: [{name: web, weight: 1}]}]",
			"[{matches: [{path: {value: /a}}], backendRefs: [{name: web-stable, weight: 0}]}, " +
				"{matches: [{path: {value: /b}, headers: [{type: Exact, name: x, value: \"y\"}]}], backendRefs: [{name: web-canary, weight: 1}]}, " +
				"{matches: [{path: {value: /b}}], backendRefs: [{name: web-stable, weight: 50}, {name: web-canary, weight: 50}]}]",
			traffic.Share{Weight: 50, Matches: []v1alpha1.RequestMatch{header("x", "y")}},
		},
		"replaced prefix": {
			"the API takes one match in a rule whose filter replaces the prefix",
			"[{matches: [{path: {value: /a}}], filters: [{urlRewrite: {path: {replacePrefixMatch: /}}}], backendRefs: [{name: web, weight: 1}]}]",
			"[{matches: [{path: {value: /a}, headers: [{type: Exact, name: x, value: \"1\"}]}], filters: [{urlRewrite: {path: {replacePrefixMatch: /}}}], backendRefs: [{name: web-canary, weight: 1}]}, " +
				"{matches: [{path: {value: /a}, headers: [{type: Exact, name: x, value: \"2\"}]}], filters: [{urlRewrite: {path: {replacePrefixMatch: /}}}], backendRefs: [{name: web-canary, weight: 1}]}, " +
				"{matches: [{path: {value: /a}}], filters: [{urlRewrite: {path: {replacePrefixMatch: /}}}], backendRefs: [{name: web-stable, weight: 100}]}]",
			traffic.Share{Matches: []v1alpha1.RequestMatch{header("x", "1"), header("x", "2")}},
		},
		"a path below": {
			"the narrower of two prefixes is what both hold for; a rule that it is not below is left alone",
			"[{matches: [{path: {value: /api}}], backendRefs: [{name: web, weight: 1}]}, {matches: [{path: {value: /b}}], backendRefs: [{name: web, weight: 1}]}]",
			"[{matches: [{path: {type: PathPrefix, value: /api/v2}}], backendRefs: [{name: web-canary, weight: 1}]}, " +
				"{matches: [{path: {value: /api}}], backendRefs: [{name: web-stable, weight: 100}]}, {matches: [{path: {value: /b}}], backendRefs: [{name: web-stable, weight: 100}]}]",
			traffic.Share{Matches: []v1alpha1.RequestMatch{onPath("", "/api/v2")}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			route, want := routed(t, tc.rules), routed(t, tc.want)
			shared, problem := KindOf(v1alpha1.RouteHTTP).Share(route, web, tc.share)
			if problem != nil {
				t.Fatalf("%s: %s", tc.reason, problem.Message)
			}
			wantJSON(t, tc.reason, want.Object["spec"], shared.Object["spec"])
			restored, _ := KindOf(v1alpha1.RouteHTTP).Restore(shared, web)
			wantJSON(t, "restored", route.Object, restored.Object)
		})
	}
}

func wantJSON(t *testing.T, why string, want, got any) {
	t.Helper()
	one, _ := json.MarshalIndent(want, "", " ")
	other, _ := json.MarshalIndent(got, "", " ")
	if diff := cmp.Diff(string(one), string(other)); diff != "" {
		t.Errorf("%s: -want +got:\n%s", why, diff)
	}
}

// TestAnnotation: the annotation is a part of what is written that others read.
func TestAnnotation(t *testing.T) {
	t.Parallel()
	route := routed(t, "[{backendRefs: [{name: web, weight: 1}, {name: web, namespace: blog, weight: 1}]}]")
	share := traffic.Share{Weight: 10, Matches: []v1alpha1.RequestMatch{header("x", "y")}}
	shared, _ := KindOf(v1alpha1.RouteHTTP).Share(route, web, share)
	shared, problem := KindOf(v1alpha1.RouteHTTP).Share(shared, uses[2], traffic.Share{})
	if problem != nil {
		t.Fatal(problem.Message)
	}
	want := `{"blog/web":{"release":"blog/web","uid":"3","weight":0},` +
		`"web":{"release":"shop/web","uid":"1","weight":10,"matches":[{"headers":[{"name":"x","value":"y"}]}]}}`
	if diff := cmp.Diff(want, shared.GetAnnotations()[v1alpha1.TrafficAnnotation]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func annotated(route *unstructured.Unstructured, value any) *unstructured.Unstructured {
	next := cloned(route)
	metadataOf(next)["annotations"] = object{v1alpha1.TrafficAnnotation: value}
	return next
}

const ours = `{"web":{"release":"shop/web","uid":"1","weight":10}}`

// TestLowered: with any weights of other backends, requests can be taken from the canary side. The
// weights stay, and the stable side gets the canary side's requests. It can't get more than
// before, and the problem says why.
func TestLowered(t *testing.T) {
	t.Parallel()
	matched := `{"web":{"release":"shop/web","uid":"1","weight":10,"matches":[{"headers":[{"name":"x","value":"y"}]}]}}`
	copied := `{matches: [{headers: [{name: x, value: "y"}]}], backendRefs: [{name: web-canary, weight: 1}]}`
	cases := map[string]struct{ rules, annotation, lowered, restored string }{
		"two sides": {"[{backendRefs: [{name: web-stable, weight: 90}, {name: web-canary, weight: 10}, {name: api, weight: 20001}]}]", ours,
			"[{backendRefs: [{name: web-stable, weight: 100}, {name: api, weight: 20001}]}]", "[{backendRefs: [{name: web, weight: 100}, {name: api, weight: 20001}]}]"},
		"all of it": {"[{backendRefs: [{name: web-canary, weight: 100}, {name: api, weight: 20001}]}]", ours,
			"[{backendRefs: [{name: web-stable, weight: 100}, {name: api, weight: 20001}]}]", "[{backendRefs: [{name: web, weight: 100}, {name: api, weight: 20001}]}]"},
		"one of two rules": {"[" + copied + ", {backendRefs: [{name: api, weight: 20001}, {name: web-canary, weight: 10}]}, {backendRefs: [{name: web-stable, weight: 90}, {name: web-canary, weight: 10}]}]", matched,
			"[{backendRefs: [{name: api, weight: 20001}, {name: web-stable, weight: 10}]}, {backendRefs: [{name: web-stable, weight: 100}]}]",
			"[{backendRefs: [{name: api, weight: 20001}, {name: web, weight: 10}]}, {backendRefs: [{name: web, weight: 1}]}]"},
		"many backends": {"[" + strings.Trim(many(16, "{backendRefs: [{name: web-canary, weight: 100}]}"), "[]") + ", {backendRefs: [{name: api, weight: 20001}, {name: web-canary, weight: 1000000}, {name: web-stable, weight: 1000000}]}]", ours,
			"[" + strings.Trim(many(16, "{backendRefs: [{name: web-stable, weight: 100}]}"), "[]") + ", {backendRefs: [{name: api, weight: 20001}, {name: web-stable, weight: 1000000}]}]",
			"[" + strings.Trim(many(16, "{backendRefs: [{name: web, weight: 1}]}"), "[]") + ", {backendRefs: [{name: api, weight: 20001}, {name: web, weight: 1000000}]}]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, route := KindOf(v1alpha1.RouteHTTP), annotated(routed(t, tc.rules), tc.annotation)
			if seen := kind.Read(route, nil, web); seen.Problem != nil {
				t.Errorf("requests can be taken from the canary side, and there is no problem: got %+v", seen.Problem)
			}
			lowered, problem := kind.Share(route, web, traffic.Share{})
			if problem != nil {
				t.Fatal(problem.Message)
			}
			wantJSON(t, "weights stay", routed(t, tc.lowered).Object["spec"], lowered.Object["spec"])
			if seen := kind.Read(lowered, nil, web); !seen.Whole || !seen.Held || seen.Share.Weight != 0 || seen.Problem != nil {
				t.Errorf("want it held, whole and without a problem, with no requests for the canary side; got %+v", seen)
			}
			if _, problem := kind.Share(lowered, web, traffic.Share{Weight: 1}); problem == nil {
				t.Error("a weight that can't be multiplied is a problem where the canary side is to have requests")
			}
			restored, problem := kind.Restore(lowered, web)
			if problem != nil {
				t.Fatal(problem.Message)
			}
			wantJSON(t, "at the end", routed(t, tc.restored).Object, restored.Object)
		})
	}
}

// TestLastRuleStays: where only an inserted rule is left, it stays: a route without rules is none.
func TestLastRuleStays(t *testing.T) {
	t.Parallel()
	route := annotated(routed(t, "[{matches: [{headers: [{name: x, value: \"y\"}]}], backendRefs: [{name: web-canary, weight: 1}]}]"),
		`{"web":{"release":"shop/web","uid":"1","weight":10,"matches":[{"headers":[{"name":"x","value":"y"}]}]}}`)
	restored, problem := KindOf(v1alpha1.RouteHTTP).Restore(route, web)
	if problem != nil {
		t.Fatal(problem.Message)
	}
	wantJSON(t, "one rule", routed(t, "[{matches: [{headers: [{name: x, value: \"y\"}]}], backendRefs: [{name: web, weight: 1}]}]").Object, restored.Object)
}

func TestRead(t *testing.T) {
	t.Parallel()
	half := "[{backendRefs: [{name: web-stable, weight: 90}, {name: web-canary, weight: 10}]}]"
	cases := map[string]struct {
		reason string
		route  *unstructured.Unstructured
		weight int32
		held   bool
		whole  bool
	}{
		"as written":      {"the weight is that of the rules", annotated(routed(t, half), ours), 10, true, true},
		"annotation lies": {"the rules tell", annotated(routed(t, half), strings.Replace(ours, "10", "20", 1)), 10, true, false},
		"release made anew": {"one of the same name has taken the place of the one that is gone, and says so with the next write",
			annotated(routed(t, half), strings.Replace(ours, `"1"`, `"0"`, 1)), 10, true, false},
		"rules differ":   {"the most that any of them gives counts", annotated(routed(t, strings.Replace(half, "]}]", "]}, {backendRefs: [{name: web-canary, weight: 100}]}]", 1)), ours), 100, true, false},
		"original again": {"it is held, and shares nothing", annotated(routed(t, "[{backendRefs: [{name: web, weight: 1}]}]"), ours), 10, true, false},
		"not held":       {"", routed(t, "[{backendRefs: [{name: web, weight: 1}]}]"), 0, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := KindOf(v1alpha1.RouteHTTP).Read(tc.route, nil, web)
			if seen.Problem != nil || seen.Held != tc.held || seen.Whole != tc.whole || seen.Share.Weight != tc.weight {
				t.Errorf("%s: want held %t, whole %t, weight %d; got %+v, problem %+v", tc.reason, tc.held, tc.whole, tc.weight, seen, seen.Problem)
			}
		})
	}
}

func TestAcceptance(t *testing.T) {
	t.Parallel()
	parent := func(accepted, resolved string) string { return "{conditions: [" + accepted + ", " + resolved + "]}" }
	condition := func(kind, status, generation string) string {
		return "{type: " + kind + ", status: \"" + status + "\", observedGeneration: " + generation + ", message: \"so it\\nis\"}"
	}
	yes, old := parent(condition("Accepted", "True", "3"), condition("ResolvedRefs", "True", "3")), parent(condition("Accepted", "True", "2"), condition("ResolvedRefs", "True", "2"))
	no := parent(condition("Accepted", "False", "3"), condition("ResolvedRefs", "True", "3"))
	broken := parent(condition("Accepted", "True", "3"), condition("ResolvedRefs", "False", "3"))
	partly := func(entry, status, generation string) string {
		return strings.TrimSuffix(entry, "]}") + ", " + condition("PartiallyInvalid", status, generation) + "]}"
	}
	cases := map[string]struct {
		status            string
		accepted, refused bool
	}{
		"one drops rules":           {"{parents: [" + partly(yes, "True", "3") + "]}", true, true},
		"one of two drops rules":    {"{parents: [" + yes + ", " + partly(yes, "True", "3") + "]}", true, true},
		"one keeps rules of before": {"{parents: [" + partly(old, "True", "3") + "]}", false, true},
		"one dropped rules before":  {"{parents: [" + partly(yes, "True", "2") + "]}", true, false},
		"one drops none":            {"{parents: [" + partly(yes, "False", "3") + "]}", true, false},
		"nobody":                    {"{}", true, false},
		"one":                       {"{parents: [" + yes + "]}", true, false},
		"later than the route":      {"{parents: [" + strings.ReplaceAll(yes, "3", "4") + "]}", true, false},
		"one is late":               {"{parents: [" + yes + ", " + old + "]}", false, false},
		"one refuses":               {"{parents: [" + no + ", " + yes + "]}", true, false},
		"all refuse":                {"{parents: [" + no + ", " + no + "]}", false, true},
		"one refuses, one is late":  {"{parents: [" + no + ", " + old + "]}", false, false},
		"backends not resolved":     {"{parents: [" + yes + ", " + broken + "]}", true, true},
		"refused before":            {"{parents: [" + strings.ReplaceAll(no, "3", "2") + "]}", false, false},
		"half a status":             {"{parents: [{conditions: [" + condition("Accepted", "True", "3") + "]}]}", false, false},
		"hostile":                   {"{parents: [1, {conditions: 2}, {conditions: [3, {type: 4}]}]}", false, false},
		"one refuses, and no more":  {"{parents: [" + yes + ", {conditions: [" + condition("Accepted", "False", "3") + "]}]}", true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			route := routed(t, "[{backendRefs: [{name: web, weight: 1}]}]")
			route.Object["status"] = parsed(t, tc.status).Object
			seen := KindOf(v1alpha1.RouteHTTP).Read(route, nil, web)
			if seen.Accepted != tc.accepted || (seen.Refused != nil) != tc.refused {
				t.Errorf("want accepted %t, refused %t; got %t, %+v", tc.accepted, tc.refused, seen.Accepted, seen.Refused)
			}
			if seen.Refused != nil && (seen.Refused.Type != v1alpha1.TrafficNotAccepted || strings.Contains(seen.Refused.Message, "\n")) {
				t.Errorf("want a problem of one line, got %+v", seen.Refused)
			}
		})
	}
}

// TestObserved: a route that was read is observed, whether or not somebody serves it.
func TestObserved(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]bool{
		"{}": true,
		"{parents: [{conditions: [{type: Accepted, status: \"True\", observedGeneration: 3}, {type: ResolvedRefs, status: \"False\", observedGeneration: 3}]}]}": true,
		"{parents: [{conditions: [{type: Accepted, status: \"False\", observedGeneration: 3}]}]}":                                                                true,
		"{parents: [{conditions: [{type: Accepted, status: \"True\", observedGeneration: 3}]}]}":                                                                 false,
		"{parents: [{conditions: [{type: Accepted, status: \"True\", observedGeneration: 3}, {type: ResolvedRefs, status: \"False\", observedGeneration: 2}]}]}": false,
	} {
		route := routed(t, "[{backendRefs: [{name: web, weight: 1}]}]")
		route.Object["status"] = parsed(t, status).Object
		if got := KindOf(v1alpha1.RouteHTTP).Read(route, nil, web).Observed; got != want {
			t.Errorf("%s: want observed %t, got %t", status, want, got)
		}
	}
}

// TestPending: Who has not accepted a route as it is now is named, in one line each.
func TestPending(t *testing.T) {
	t.Parallel()
	parent := func(ref, generation, accepted string) string {
		return "{parentRef: " + ref + ", conditions: [{type: Accepted, status: \"" + accepted + "\", observedGeneration: " + generation +
			"}, {type: ResolvedRefs, status: \"True\", observedGeneration: " + generation + "}]}"
	}
	live, dead := parent("{name: live}", "3", "True"), parent(`{name: "de\nad", namespace: edge}`, "2", "True")
	for name, tc := range map[string]struct {
		parents string
		want    []string
	}{
		"nobody":          {"", nil},
		"all tell":        {live, nil},
		"one is silent":   {live + ", " + dead, []string{"Gateway edge/de ad"}},
		"one refuses":     {parent("{name: picky}", "3", "False"), []string{"Gateway picky"}},
		"one does either": {parent("{name: picky}", "3", "False") + ", " + parent("{kind: Service, name: mesh}", "2", "True"), []string{"Service mesh"}},
		"hostile":         {"1, {parentRef: 2}", []string{"Gateway", "Gateway"}},
		"many":            {strings.Repeat(parent("{name: g}", "1", "True")+", ", 9), []string{"Gateway g", "Gateway g", "Gateway g", "Gateway g"}},
	} {
		route := routed(t, "[{backendRefs: [{name: web, weight: 1}]}]")
		route.Object["status"] = parsed(t, "{parents: ["+tc.parents+"]}").Object
		if diff := cmp.Diff(tc.want, KindOf(v1alpha1.RouteHTTP).Read(route, nil, web).Pending); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestSidesOf(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(Sides{"web", "web-stable", "web-canary"}, SidesOf("web")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	seen := map[string]string{}
	for _, last := range []string{"", "a", "b"} {
		for length := range 63 {
			service := strings.Repeat("x", length) + last
			for _, name := range []string{SidesOf(service).Stable, SidesOf(service).Canary} {
				if len(name) > 63 || seen[name] != "" {
					t.Errorf("%s of %s: want at most 63 characters that are no other's, and it is that of %s", name, service, seen[name])
				}
				seen[name] = service
			}
			// Somebody may give a Service the name that another's was cut to.
			if cut := strings.TrimSuffix(SidesOf(service).Stable, "-stable"); cut != service && SidesOf(cut).Stable == SidesOf(service).Stable {
				t.Errorf("the sides of %s are those of %s", cut, service)
			}
		}
	}
	if got := CanaryIngressName(strings.Repeat("a.", 126) + "a"); strings.Contains(got, ".-") || len(got) != 253 {
		t.Errorf("%s is no name of an object", got)
	}
}
