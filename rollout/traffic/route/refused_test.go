package route

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

func many(n int, text string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(text+", ", n), ", ") + "]"
}

// TestNotShareable: an unshareable rule is reported with its place, and nothing is returned.
func TestNotShareable(t *testing.T) {
	t.Parallel()
	simple := "{name: web, weight: 1}"
	step := []v1alpha1.RequestMatch{header("x", "y")}
	regex := v1alpha1.RequestMatch{Path: &v1alpha1.PathMatch{Type: v1alpha1.PathRegularExpression, Value: "/a.*"}}
	cases := map[string]struct {
		rules, want string
		matches     []v1alpha1.RequestMatch
	}{
		"no list":          {"{}", "spec.rules must be a list, is {}", nil},
		"no object":        {"[1]", "spec.rules[0] must be an object, is 1", nil},
		"no references":    {"[{}, {backendRefs: web}]", `spec.rules[1].backendRefs must be a list, is "web"`, nil},
		"text":             {"[{}, {}, {backendRefs: [{name: web, weight: \"1\"}]}]", `spec.rules[2].backendRefs[0].weight must be an integer from 0 to 1000000, is "1"`, nil},
		"negative":         {"[{backendRefs: [{name: web, weight: -1}]}]", "is -1", nil},
		"a fraction":       {"[{backendRefs: [{name: web, weight: 1.5}]}]", "is 1.5", nil},
		"huge":             {"[{backendRefs: [{name: web, weight: 1e30}]}]", "is 1e+30", nil},
		"too much":         {"[{backendRefs: [{name: web, weight: 10001}]}]", "spec.rules[0].backendRefs[0].weight must be at most 10000, is 10001", nil},
		"another too much": {"[{backendRefs: [" + simple + ", {name: api, weight: 10001}]}]", "spec.rules[0].backendRefs[1].weight must be at most 10000", nil},
		"a side":           {"[{backendRefs: [" + simple + ", {name: web-canary, weight: 1}]}]", `spec.rules[0].backendRefs[1] refers to Service "web-canary", which a release makes and deletes: refer to web`, nil},
		"backends":         {"[{backendRefs: " + many(9, simple) + "}]", "spec.rules[0] would have 18 backendRefs", nil},
		"more rules":       {rulesFor(9), "spec.rules would have 18 rules", step},
		"matches of a rule": {"[{matches: " + many(33, "{path: {value: /}}") + ", backendRefs: [" + simple + "]}]", "more than 64 matches",
			[]v1alpha1.RequestMatch{header("x", "y"), header("x", "z")}},
		"matches in all": {"[{matches: " + many(64, "{path: {value: /a}}") + ", backendRefs: [" + simple + "]}, {matches: [{path: {value: /b}}]}]", "spec.rules would have 129 matches", step},
		"conditions":     {"[{matches: [{headers: " + headers(16) + "}], backendRefs: [" + simple + "]}]", "spec.rules[0].matches[0].headers would have 17 conditions", step},
		"regular path":   {"[{matches: [{path: {value: /api}}], backendRefs: [" + simple + "]}]", "spec.rules[0].matches[0].path and the step's path", []v1alpha1.RequestMatch{regex}},
		"regular path beside others": {"[{matches: [{path: {value: /}}], backendRefs: [" + simple + "]}, {matches: [{path: {value: /api}}], backendRefs: [{name: api}]}]",
			`may take requests from spec.rules[1].matches[0]: name a path of type Exact or PathPrefix`, []v1alpha1.RequestMatch{regex}},
		"two conditions": {"[{matches: [{headers: [{name: X, type: RegularExpression, value: .*}]}], backendRefs: [" + simple + "]}]",
			"two conditions for \"x\"", step},
		"nothing matches": {"[{matches: [{path: {value: /api}}], backendRefs: [" + simple + "]}]", "no request to Service web can match the step", []v1alpha1.RequestMatch{onPath("", "/shop")}},
		"no request":      {"[{backendRefs: [{name: web, weight: 0}]}]", "no request to Service web can match the step", step},
		"no path":         {"[{backendRefs: [" + simple + "]}]", `a route can't have the step's path "api": a path begins with /`, []v1alpha1.RequestMatch{onPath("", "api")}},
		"narrowed": {"[{matches: [{path: {value: /a}}], filters: [{urlRewrite: {path: {replacePrefixMatch: /}}}], backendRefs: [" + simple + "]}]",
			"spec.rules[0].matches[0].path can't be narrowed", []v1alpha1.RequestMatch{onPath("", "/a/b")}},
		"taken from another": {"[{matches: [{path: {value: /}}], backendRefs: [" + simple + "]}, {matches: [{path: {value: /}, queryParams: [{name: a, value: b}]}]}]",
			"requests that spec.rules[1].matches[0] takes, and that match the step, would go to the new version by the rule of spec.rules[0].matches[0]: " +
				"make spec.rules[1].matches[0] more specific, or the match of the step less", step},
		"another's path": {"[{matches: [{path: {value: /}}], backendRefs: [" + simple + "]}, {matches: [{path: {value: /api}}]}]", "no request to Service web can match", []v1alpha1.RequestMatch{onPath("", "/api/v2")}},
		"long":           {"[{backendRefs: [" + simple + "]}]", "more than 262144 bytes", longMatches()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared, problem := KindOf(v1alpha1.RouteHTTP).Share(routed(t, tc.rules), web, traffic.Share{Weight: 10, Matches: tc.matches})
			if shared != nil || problem == nil || problem.Type != v1alpha1.TrafficNotShareable || !strings.Contains(problem.Message, tc.want) || problem.Object != "HTTPRoute shop/web" {
				t.Errorf("want NotShareable with %q, got %+v", tc.want, problem)
			}
		})
	}
}

func rulesFor(n int) string {
	rules := make([]string, n)
	for i := range rules {
		rules[i] = fmt.Sprintf("{matches: [{path: {value: /%d}}], backendRefs: [{name: web, weight: 1}]}", i)
	}
	return "[" + strings.Join(rules, ", ") + "]"
}

func headers(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("{name: h%d, value: v}", i)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func longMatches() []v1alpha1.RequestMatch {
	var matches []v1alpha1.RequestMatch
	for range 8 {
		var match v1alpha1.RequestMatch
		for i := range 16 {
			match.QueryParams = append(match.QueryParams, v1alpha1.ValueMatch{Name: fmt.Sprintf("q%d", i), Value: strings.Repeat("v", 1024)})
			match.Headers = append(match.Headers, v1alpha1.ValueMatch{Name: fmt.Sprintf("h%d", i), Value: strings.Repeat("v", 1024)})
		}
		matches = append(matches, match)
	}
	return matches
}

func TestGRPCMatches(t *testing.T) {
	t.Parallel()
	route := routed(t, "[{backendRefs: [{name: web, weight: 1}]}]")
	_, problem := KindOf(v1alpha1.RouteGRPC).Share(route, web, traffic.Share{Matches: []v1alpha1.RequestMatch{onPath("", "/a")}})
	if problem == nil || !strings.Contains(problem.Message, "only name headers") {
		t.Errorf("want a GRPCRoute to refuse paths, got %+v", problem)
	}
}

// TestHolds: the annotation decides which release may write a route. It counts only if it can be
// read.
func TestHolds(t *testing.T) {
	t.Parallel()
	shared := "[{backendRefs: [{name: web-stable, weight: 90}, {name: web-canary, weight: 10}]}]"
	matches := "[" + strings.TrimSuffix(strings.Repeat(`{"headers":[]},`, 17), ",") + "]"
	conditions := "[{\"headers\":[" + strings.TrimSuffix(strings.Repeat(`{"name":"a","value":"b"},`, 17), ",") + "]}]"
	cases := map[string]struct {
		annotation any
		want       v1alpha1.TrafficProblemType
	}{
		"no JSON":         {"{", v1alpha1.TrafficNotShareable},
		"null":            {"null", v1alpha1.TrafficNotShareable},
		"a list":          {"[]", v1alpha1.TrafficNotShareable},
		"empty":           {"", v1alpha1.TrafficNotShareable},
		"no text":         {int64(3), v1alpha1.TrafficNotShareable},
		"entry unread":    {`{"web":3}`, v1alpha1.TrafficNotShareable},
		"entry null":      {`{"web":null}`, v1alpha1.TrafficNotShareable},
		"entry empty":     {`{"web":{}}`, v1alpha1.TrafficNotShareable},
		"weight":          {`{"web":{"release":"shop/web","weight":101}}`, v1alpha1.TrafficNotShareable},
		"many matches":    {`{"web":{"release":"shop/web","matches":` + matches + `}}`, v1alpha1.TrafficNotShareable},
		"many conditions": {`{"web":{"release":"shop/web","matches":` + conditions + `}}`, v1alpha1.TrafficNotShareable},
		"another":         {`{"web":{"release":"shop/other\nrelease","uid":"9"}}`, v1alpha1.TrafficHeldByAnother},
		"two of a key":    {`{"web":{"release":"shop/web","uid":"1"},"web":{"release":"shop/other","uid":"9"}}`, v1alpha1.TrafficHeldByAnother},
		"two of a field":  {`{"web":{"release":"shop/web","uid":"1","RELEASE":"shop/other"}}`, v1alpha1.TrafficHeldByAnother},
		"other letters":   {`{"WEB":{"release":"shop/web","uid":"1"},"w\u00ebb":{"release":"shop/web","uid":"1"}}`, v1alpha1.TrafficNotShareable},
		"long":            {`{"web":{"release":"` + strings.Repeat("x", 250_000) + `","uid":"9"}}`, v1alpha1.TrafficHeldByAnother},
		"not held":        {`{"api":{"release":"shop/api","uid":"9"}}`, v1alpha1.TrafficNotShareable}, // it refers to the sides
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			route := annotated(routed(t, shared), tc.annotation)
			seen := KindOf(v1alpha1.RouteHTTP).Read(route, nil, web)
			if seen.Held || seen.Problem == nil || seen.Problem.Type != tc.want || strings.Contains(seen.Problem.Message, "\n") || len(seen.Problem.Message) > messageLength {
				t.Errorf("want it not held, and %s, got %+v with %+v", tc.want, seen, seen.Problem)
			}
			if !seen.Strays {
				t.Error("want it to be said that the route refers to the sides all the same")
			}
			if next, problem := KindOf(v1alpha1.RouteHTTP).Share(route, web, traffic.Share{}); next != nil || problem == nil {
				t.Errorf("want no share of it, got %v", next)
			}
			next, problem := KindOf(v1alpha1.RouteHTTP).Restore(route, web)
			if name == "not held" || name == "other letters" {
				wantJSON(t, "what is not held stays as it is", route.Object, next.Object)
			} else if next != nil || problem == nil {
				t.Errorf("want it not restored, got %v", next)
			}
		})
	}
}

// TestEntryOfAnother: an entry that can't be read is kept, and keeps nobody else from sharing.
func TestEntryOfAnother(t *testing.T) {
	t.Parallel()
	route := annotated(routed(t, "[{backendRefs: [{name: web, weight: 1}]}]"), `{"api":[1,2]}`)
	shared, problem := KindOf(v1alpha1.RouteHTTP).Share(route, web, traffic.Share{})
	if problem != nil || !strings.HasPrefix(shared.GetAnnotations()[v1alpha1.TrafficAnnotation], `{"api":[1,2],"web":`) {
		t.Fatalf("want the entry of another kept, got %+v, %+v", shared, problem)
	}
	restored, _ := KindOf(v1alpha1.RouteHTTP).Restore(shared, web)
	wantJSON(t, "restored", route.Object, restored.Object)
}

func TestNotNamed(t *testing.T) {
	t.Parallel()
	for _, rules := range []string{"[]", "[{}]", "[{backendRefs: [{name: api}]}]", "[{backendRefs: [{name: web, kind: Bucket}, {name: web, group: x}, {name: web, namespace: blog}]}]"} {
		if seen := KindOf(v1alpha1.RouteHTTP).Read(routed(t, rules), nil, web); seen.Problem == nil || seen.Problem.Type != v1alpha1.TrafficServiceNotNamed {
			t.Errorf("%s: want ServiceNotNamed, got %+v", rules, seen.Problem)
		}
	}
}

// FuzzHostile: no object causes a panic, or an object together with a problem.
func FuzzHostile(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"metadata":null,"spec":null}`, `{"metadata":[],"spec":3}`, `{"spec":{"rules":[null,[],{"backendRefs":[null]}]}}`,
		`{"metadata":{"name":3,"namespace":"shop","annotations":{"rollouts.sluice.dev/traffic":"{\"web\":{\"release\":\"shop/web\"}}"}},"spec":{"rules":[{"backendRefs":[{"name":"web-stable","weight":1e400}]}]}}`,
		`{"metadata":{"namespace":"shop","annotations":{"rollouts.sluice.dev/traffic":"{\"web\":{\"release\":\"shop/web\",\"matches\":[{\"path\":{\"value\":\"/\"}}]}}"}},"spec":{"rules":[{"matches":[{"path":3}],"backendRefs":[{"name":"web-canary"}]}]}}`,
		`{"spec":{"rules":[{"matches":[{"path":{"value":"/"},"headers":[{"name":[]}]}],"filters":[3,{"urlRewrite":{"path":null}}],"backendRefs":[{"name":"web","weight":1}]}]}}`,
		`{"spec":{"defaultBackend":{"service":3},"rules":[{"http":{"paths":[{"backend":{"service":{"name":"web"}}}]}}]}}`,
		`{"spec":{"rules":[{"http":[]},{"http":{"paths":3}},{"http":{"paths":[{"backend":[]}]}}]}}`,
	} {
		f.Add(seed, byte(10), "x", "/a")
	}
	f.Fuzz(func(t *testing.T, text string, weight byte, name, path string) {
		obj := &unstructured.Unstructured{}
		if err := unmarshal(text, &obj.Object); err != nil {
			t.Skip()
		}
		shares := []traffic.Share{{}, {Weight: int32(weight)}, {Weight: 1, Matches: []v1alpha1.RequestMatch{header(name, "v"), onPath("", path), onPath(v1alpha1.PathRegularExpression, path)}}}
		before := encoded(t, obj)
		for _, kind := range []v1alpha1.TrafficRouteKind{v1alpha1.RouteHTTP, v1alpha1.RouteGRPC, v1alpha1.RouteIngress} {
			for _, use := range uses {
				seen := KindOf(kind).Read(obj, obj, use)
				wantFit(t, seen.Problem, seen.Refused)
				if again := Reclaimed(kind, obj, obj, use, []v1alpha1.Step{{Matches: shares[2].Matches}}); again != nil {
					restored, problem := KindOf(kind).Restore(again, use)
					wantEither(t, restored, problem)
				}
				for _, share := range shares {
					shared, problem := KindOf(kind).Share(obj, use, share)
					wantEither(t, shared, problem)
					if shared != nil {
						restored, problem := KindOf(kind).Restore(shared, use)
						wantEither(t, restored, problem)
					}
					if _, problem := CanaryIngress(obj, use, share, owner); problem != nil {
						wantFit(t, problem)
					}
				}
			}
		}
		if after := encoded(t, obj); before != after {
			t.Errorf("it was changed: before %s\nafter %s", before, after)
		}
	})
}

func wantEither(t *testing.T, obj *unstructured.Unstructured, problem *v1alpha1.TrafficProblem) {
	t.Helper()
	if (obj == nil) == (problem == nil) {
		t.Errorf("want an object or a problem, got %v and %+v", obj, problem)
	}
	wantFit(t, problem)
}

func wantFit(t *testing.T, problems ...*v1alpha1.TrafficProblem) {
	t.Helper()
	for _, p := range problems {
		if p != nil && (len(p.Message) > messageLength || strings.ContainsAny(p.Message+p.Object, "\n\r\x1b") || p.Message == "") {
			t.Errorf("want one line of at most %d bytes, got %+v", messageLength, p)
		}
	}
}
