package route

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

var owner = metav1.OwnerReference{APIVersion: "rollouts.sluice.dev/v1alpha1", Kind: "BatchRelease", Name: "web", UID: "1"}

// unmarshal decodes as the API's client does: integers are int64.
func unmarshal(text string, into *map[string]any) error {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	return decoder.Decode(into)
}

const ingressOfUser = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: shop, generation: 2, annotations: {kubernetes.io/ingress.class: old, team: shop}}
spec:
  ingressClassName: nginx
  tls: [{hosts: [shop.example.com]}]
  defaultBackend: {service: {name: web, port: {number: 80}}}
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}
      - {path: /api, pathType: Prefix, backend: {service: {name: api, port: {number: 80}}}}
      - {path: /img, pathType: Prefix, backend: {resource: {kind: Bucket, name: web}}}
  - host: api.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: api, port: {number: 80}}}}]}
  - host: bare.example.com
`

func TestIngress(t *testing.T) {
	t.Parallel()
	user := parsed(t, ingressOfUser)
	kind := KindOf(v1alpha1.RouteIngress)
	share := traffic.Share{Weight: 10, Matches: []v1alpha1.RequestMatch{header("x-canary", "yes")}}
	shared, problem := kind.Share(user, web, share)
	if problem != nil {
		t.Fatal(problem.Message)
	}
	want := parsed(t, strings.ReplaceAll(ingressOfUser, "service: {name: web,", "service: {name: web-stable,"))
	metadataOf(want)["annotations"].(object)[v1alpha1.TrafficAnnotation] =
		`{"web":{"release":"shop/web","uid":"1","weight":10,"matches":[{"headers":[{"name":"x-canary","value":"yes"}]}]}}`
	wantJSON(t, "shared", want.Object, shared.Object)
	again, _ := kind.Share(shared, web, traffic.Share{Weight: 50})
	fresh, _ := kind.Share(user, web, traffic.Share{Weight: 50})
	wantJSON(t, "shared again", fresh.Object, again.Object)
	restored, _ := kind.Restore(shared, web)
	wantJSON(t, "restored", user.Object, restored.Object)
	for what, from := range map[string]*unstructured.Unstructured{"the user's": user, "the shared": shared} {
		canary, problem := CanaryIngress(from, web, share, owner)
		if problem != nil {
			t.Fatal(problem.Message)
		}
		wantJSON(t, "canary of "+what, parsed(t, `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop-canary
  namespace: shop
  labels: {rollouts.sluice.dev/traffic: web}
  annotations:
    kubernetes.io/ingress.class: old
    nginx.ingress.kubernetes.io/canary: "true"
    nginx.ingress.kubernetes.io/canary-weight: "10"
    nginx.ingress.kubernetes.io/canary-by-header: x-canary
    nginx.ingress.kubernetes.io/canary-by-header-value: "yes"
  ownerReferences: [{apiVersion: rollouts.sluice.dev/v1alpha1, kind: BatchRelease, name: web, uid: "1"}]
spec:
  ingressClassName: nginx
  defaultBackend: {service: {name: web-canary, port: {number: 80}}}
  rules:
  - host: shop.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web-canary, port: {name: http}}}}]}
`).Object, canary.Object)
	}
	if canary, problem := CanaryIngress(shared, web, traffic.Share{}, owner); canary != nil || problem != nil {
		t.Errorf("want no second Ingress where the canary side gets nothing, got %v, %v", canary, problem)
	}
}

func TestReadIngress(t *testing.T) {
	t.Parallel()
	kind := KindOf(v1alpha1.RouteIngress)
	user := parsed(t, ingressOfUser)
	shared, _ := kind.Share(user, web, traffic.Share{Weight: 10})
	canary, _ := CanaryIngress(user, web, traffic.Share{Weight: 10}, owner)
	changed := func(key, value string) *unstructured.Unstructured {
		next := cloned(canary)
		metadataOf(next)["annotations"].(object)[key] = value
		return next
	}
	none, _ := kind.Share(user, web, traffic.Share{})
	cases := map[string]struct {
		route, canary *unstructured.Unstructured
		held, whole   bool
		weight        int32
	}{
		"the user's":                {user, nil, false, false, 0},
		"shared":                    {shared, canary, true, true, 10},
		"nothing to the canary":     {none, nil, true, true, 0},
		"the second is not there":   {shared, nil, true, false, 0},
		"the second has another":    {shared, changed(weightAnnotation, "50"), true, false, 50},
		"the second has nonsense":   {shared, changed(weightAnnotation, "x"), true, false, 0},
		"the second takes too much": {shared, changed(weightAnnotation, "1000"), true, false, 100},
		"by a cookie":               {shared, changed(nginx+"canary-by-cookie", "c"), true, false, 10},
		"somebody's annotation":     {shared, changed("team", "shop"), true, true, 10},
		"the second is left":        {user, canary, true, false, 10},
		"the second should be gone": {none, canary, true, false, 10},
	}
	for name, tc := range cases {
		seen := kind.Read(tc.route, tc.canary, web)
		if seen.Problem != nil || seen.Held != tc.held || seen.Whole != tc.whole || seen.Share.Weight != tc.weight || !seen.Accepted {
			t.Errorf("%s: want held %t, whole %t, weight %d, got %+v, problem %+v", name, tc.held, tc.whole, tc.weight, seen, seen.Problem)
		}
		if seen.Strays {
			t.Errorf("%s: it is known who refers to the sides, or nobody does", name)
		}
	}
	unannotated := cloned(shared)
	unannotated.SetAnnotations(nil)
	if seen := kind.Read(unannotated, nil, web); seen.Held || !seen.Strays || seen.Problem == nil {
		t.Errorf("without the annotation: want it to be said that the Ingress refers to the stable side all the same, got %+v", seen)
	}
}

func TestIngressNotShareable(t *testing.T) {
	t.Parallel()
	two := []v1alpha1.RequestMatch{header("a", "b"), header("a", "c")}
	cases := map[string]struct {
		from, to, want string
		matches        []v1alpha1.RequestMatch
	}{
		"two matches":     {"", "", "one match with one header", two},
		"a path":          {"", "", "one match with one header", []v1alpha1.RequestMatch{onPath("", "/")}},
		"a line break":    {"", "", "can't be in an annotation", []v1alpha1.RequestMatch{header("a", "b\nc")}},
		"a canary":        {"team: shop", `nginx.ingress.kubernetes.io/canary: "true"`, "is itself a canary", nil},
		"a side":          {"name: api", "name: web-canary", `refers to Service "web-canary"`, nil},
		"no path":         {"name: web,", "name: api,", "no path refers to Service web", nil},
		"no object":       {"defaultBackend: {service: {name: web, port: {number: 80}}}", "defaultBackend: []", "spec.defaultBackend must be an object, is []", nil},
		"no paths":        {"paths: [", "paths: 3 #", "spec.rules[1].http.paths must be a list, is 3", nil},
		"another Service": {"team: shop", `rollouts.sluice.dev/traffic: '{"api":{"release":"shop/api"}}'`, "one Service at a time", nil},
	}
	for name, tc := range cases {
		text := strings.ReplaceAll(ingressOfUser, tc.from, tc.to)
		if tc.from == "" {
			text = ingressOfUser
		}
		if name == "no paths" {
			text = strings.Replace(ingressOfUser, "http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: api, port: {number: 80}}}}]}", "http: {paths: 3}", 1)
		}
		shared, problem := KindOf(v1alpha1.RouteIngress).Share(parsed(t, text), web, traffic.Share{Weight: 1, Matches: tc.matches})
		if shared != nil || problem == nil || !strings.Contains(problem.Message, tc.want) {
			t.Errorf("%s: want %q, got %+v", name, tc.want, problem)
		}
	}
	annotations, problem := canaryAnnotations(traffic.Share{Matches: []v1alpha1.RequestMatch{{Headers: []v1alpha1.ValueMatch{{Type: v1alpha1.MatchRegularExpression, Name: "a", Value: "b.*"}}}}})
	want := object{canaryAnnotation: "true", weightAnnotation: "0", headerAnnotation: "a", patternAnnotation: "b.*"}
	if diff := cmp.Diff(want, annotations); problem != nil || diff != "" {
		t.Errorf("a regular expression is a pattern: %v, -want +got:\n%s", problem, diff)
	}
}

// drawIngress draws an Ingress of some paths to Services, that of the release among them more often
// than not.
func drawIngress(t *rapid.T) *unstructured.Unstructured {
	backend := func(t *rapid.T) object {
		if rapid.IntRange(0, 5).Draw(t, "kind of backend") == 0 {
			return object{"resource": object{"apiGroup": "example.com", "kind": "Bucket", "name": "web"}}
		}
		return object{"service": object{"name": pick(t, "name", "web", "web", "api", "other"), "port": pick[any](t, "port", object{"number": int64(80)}, object{"name": "http"})}}
	}
	rule := rapid.Custom(func(t *rapid.T) any {
		rule := object{"host": pick(t, "host", "shop.example.com", "*.example.com")}
		if chance(t, "has paths") {
			rule["http"] = object{"paths": rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any {
				return object{"path": pick(t, "path", "/", "/api"), "pathType": "Prefix", "backend": backend(t)}
			}), 1, 3).Draw(t, "paths")}
		}
		return rule
	})
	metadata := object{"name": "web", "namespace": "shop", "generation": int64(3), "resourceVersion": "7"}
	if chance(t, "annotated") {
		metadata["annotations"] = object{"team": "shop", nginx + "proxy-body-size": "8m"}
	}
	spec := object{"ingressClassName": "nginx"}
	if chance(t, "default") {
		spec["defaultBackend"] = backend(t)
	}
	if rules := rapid.SliceOfN(rule, 0, 3).Draw(t, "rules"); len(rules) > 0 {
		spec["rules"] = rules
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec,
	}}
}

// TestInverseOfIngress: Restore undoes Share, whatever was shared before; and both Ingresses
// together read as what was asked.
func TestInverseOfIngress(t *testing.T) {
	t.Parallel()
	const kind = v1alpha1.RouteIngress
	rapid.Check(t, func(t *rapid.T) {
		route, use := drawIngress(t), pick(t, "use", uses[0], uses[1])
		var shares []traffic.Share
		for range 2 {
			share := traffic.Share{Weight: pick[int32](t, "share", 0, 1, 50, 100)}
			if chance(t, "with a match") {
				share.Matches = []v1alpha1.RequestMatch{header("x-canary", pick(t, "value", "a", "b"))}
			}
			shares = append(shares, share)
		}
		one, other := shares[0], shares[1]
		shared := mustShare(t, kind, route, use, one)
		wantSame(t, "Restore(Share(x))", route, mustRestore(t, kind, shared, use))
		wantSame(t, "Restore(x)", route, mustRestore(t, kind, route, use))
		wantSame(t, "Share(Share(x, a), a)", shared, mustShare(t, kind, shared, use, one))
		wantSame(t, "Share(Share(x, a), b)", mustShare(t, kind, route, use, other), mustShare(t, kind, shared, use, other))
		canary, problem := CanaryIngress(shared, use, one, owner)
		if problem != nil {
			t.Fatalf("make canary: %+v", problem)
		}
		want := traffic.Route{
			TrafficRoute: v1alpha1.TrafficRoute{Kind: kind, Name: "web", Service: use.Service}, Held: true, Whole: true, Accepted: true, Share: one, Generation: 3,
		}
		if diff := cmp.Diff(want, KindOf(kind).Read(shared, canary, use)); diff != "" {
			t.Fatalf("Read(Share(x)): -want +got:\n%s", diff)
		}
	})
}

// TestHolders: who holds a route is told by names that objects can have, and only a release of the
// Service's namespace can.
func TestHolders(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]Held{
		`{"web":{"release":"shop/web","uid":"1"},"blog/web":{"release":"blog/web","uid":"3"}}`: {{"web", Holder{"blog/web", "3"}}, {"web", Holder{"shop/web", "1"}}},
		`{"web":{"release":"blog/web","uid":"1"}}`:                                             nil,
		`{"shop/web":{"release":"shop/web","uid":"1"}}`:                                        nil,
		`{"web":{"release":"shop/","uid":"1"},"api":{"release":"shop/a\u001b"}}`:               nil,
		`{"x\u001b[2J":{"release":"shop/web","uid":"1"}}`:                                      nil,
		`{"web":{"release":"shop/web","uid":"1"},"api":3}`:                                     {{"web", Holder{"shop/web", "1"}}},
		"{": nil, "null": nil, "": nil,
	} {
		got, readable := Holders(annotated(&unstructured.Unstructured{Object: object{"metadata": object{"namespace": "shop"}}}, text))
		if diff := cmp.Diff(want, got); diff != "" || readable != (len(want) == 2) {
			t.Errorf("%s: readable %v, -want +got:\n%s", text, readable, diff)
		}
	}
	// An annotation has room for thousands of claims. Each would cost a read and a write when the
	// route is restored.
	for count, want := range map[int]bool{mostHeld: true, mostHeld + 1: false} {
		claims := map[string]any{}
		for i := range count {
			claims[fmt.Sprint("web", i)] = map[string]any{"release": "shop/web", "uid": "1"}
		}
		text, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		route := annotated(&unstructured.Unstructured{Object: object{"metadata": object{"namespace": "shop"}}}, string(text))
		if got, readable := Holders(route); readable != want || readable != (len(got) == count) {
			t.Errorf("%d holders: readable %v, got %d", count, readable, len(got))
		}
	}
	if got, readable := Holders(&unstructured.Unstructured{Object: object{}}); got != nil || !readable {
		t.Errorf("want none where there is no annotation, got %v, %v", got, readable)
	}
}
