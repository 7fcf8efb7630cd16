package route

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// request is one that a Gateway routes. It is modelled here by itself, from the words of the
// Gateway API.
type request struct {
	path, verb, service string
	headers, query      map[string]string
}

// everyRequest returns every combination of what the drawn routes and steps look at.
func everyRequest(grpc bool) []request {
	paths, verbs, services, langs := []string{"/", "/x", "/api", "/api/", "/api/v2", "/api/v2/x", "/apis", "/shop", "/shop/cart"}, []string{"GET", "POST"}, []string{""}, []string{"", "de", "fr"}
	if grpc {
		paths, verbs, services, langs = []string{"/"}, []string{"POST"}, []string{"shop.Cart", "shop.Search", "shop.Pay"}, []string{""}
	}
	var all []request
	for _, path := range paths {
		for _, verb := range verbs {
			for _, service := range services {
				for _, lang := range langs {
					for _, canary := range []string{"", "a", "b"} {
						for _, tenant := range []string{"", "a", "b"} {
							for _, user := range []string{"", "a"} {
								all = append(all, request{path, verb, service,
									given("x-canary", canary, "x-tenant", tenant, "x-user", user), given("lang", lang)})
							}
						}
					}
				}
			}
		}
	}
	return all
}

func given(pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			all[pairs[i]] = pairs[i+1]
		}
	}
	return all
}

func holdsPath(kind, path, of string) bool {
	if kind == "Exact" {
		return path == of
	}
	elements := func(s string) []string { return strings.Split(strings.Trim(s, "/"), "/") }
	want := elements(path)
	return path == "/" || len(elements(of)) >= len(want) && slices.Equal(elements(of)[:len(want)], want)
}

// rank returns the precedence of a match; nil if it does not hold.
func (r request) rank(match object, grpc bool) []int {
	headers, _ := match["headers"].([]any)
	params, _ := match["queryParams"].([]any)
	for _, h := range headers {
		if r.headers[strings.ToLower(h.(object)["name"].(string))] != h.(object)["value"] {
			return nil
		}
	}
	for _, p := range params {
		if r.query[p.(object)["name"].(string)] != p.(object)["value"] {
			return nil
		}
	}
	if grpc {
		method, _ := match["method"].(object)
		if method != nil && method["service"] != r.service {
			return nil
		}
		return []int{len(text(method["service"])), len(headers)}
	}
	path, _ := match["path"].(object)
	if !holdsPath(path["type"].(string), path["value"].(string), r.path) {
		return nil
	}
	exact, verb := 0, 0
	if path["type"] == "Exact" {
		exact = 1
	}
	if match["method"] != nil {
		if match["method"] != r.verb {
			return nil
		}
		verb = 1
	}
	return []int{exact, len(path["value"].(string)), verb, len(headers), len(params)}
}

// goesTo returns the rule that a request goes by; nil if there is none.
func (r request) goesTo(route *unstructured.Unstructured, grpc bool) object {
	var best object
	var rank []int
	for _, item := range route.Object["spec"].(object)["rules"].([]any) {
		matches, _ := item.(object)["matches"].([]any)
		if len(matches) == 0 {
			matches = []any{object{}}
		}
		for _, match := range matches {
			if got := r.rank(match.(object), grpc); got != nil && (rank == nil || slices.Compare(got, rank) > 0) {
				best, rank = item.(object), got
			}
		}
	}
	return best
}

// parts returns the shares of a rule's backends in all requests, in hundredths, by reference.
func parts(rule object) map[string]float64 {
	got, sum := map[string]float64{}, 0.0
	refs, _ := rule["backendRefs"].([]any)
	for _, item := range refs {
		ref := maps.Clone(item.(object))
		weight := float64(ref["weight"].(int64))
		delete(ref, "weight")
		got[fmt.Sprint(ref)] += weight
		sum += weight
	}
	for ref, weight := range got {
		got[ref] = weight / sum
		if weight == 0 {
			delete(got, ref)
		}
	}
	return got
}

func (r request) matches(step []v1alpha1.RequestMatch) bool {
	return slices.ContainsFunc(step, func(m v1alpha1.RequestMatch) bool {
		for _, h := range m.Headers {
			if r.headers[strings.ToLower(h.Name)] != h.Value {
				return false
			}
		}
		for _, p := range m.QueryParams {
			if r.query[p.Name] != p.Value {
				return false
			}
		}
		return m.Path == nil || holdsPath(textOr(nilIfEmpty(string(m.Path.Type)), "PathPrefix"), m.Path.Value, r.path)
	})
}

// asked returns the parts that backends are to get of a request that got others before.
func asked(before map[string]float64, use Use, share traffic.Share, matches bool) map[string]float64 {
	sides := SidesOf(use.Service)
	own := func(ref string) bool {
		in := "shop"
		if strings.Contains(ref, "namespace:blog ") {
			in = "blog"
		}
		return strings.Contains(ref, "name:"+use.Service+" ") && strings.Contains(ref, "kind:Service ") && in == use.Namespace
	}
	named := func(ref, service string) string {
		return strings.Replace(ref, "name:"+use.Service+" ", "name:"+service+" ", 1)
	}
	after, count := map[string]float64{}, 0.0
	for ref := range before {
		if own(ref) {
			count++
		}
	}
	for ref, part := range before {
		switch {
		case matches && count > 0 && own(ref):
			after[named(ref, sides.Canary)] = -1 // of equals
		case matches && count > 0:
		case own(ref):
			after[named(ref, sides.Stable)] += part * float64(100-share.Weight) / 100
			after[named(ref, sides.Canary)] += part * float64(share.Weight) / 100
		default:
			after[ref] += part
		}
	}
	maps.DeleteFunc(after, func(_ string, part float64) bool { return part == 0 })
	return after
}

// TestEveryRequest: every request goes where it is to go: by a rule with the filters that it had,
// to the same other backends, and to the canary side if it matches.
func TestEveryRequest(t *testing.T) {
	t.Parallel()
	for _, kind := range gatewayKinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			grpc := kind == v1alpha1.RouteGRPC
			requests := everyRequest(grpc)
			rapid.Check(t, func(t *rapid.T) {
				use := pick(t, "use", uses...)
				route, share := drawRouteOf(t, kind, use), drawShare(t, grpc)
				shared := mustShare(t, kind, route, use, share)
				for _, r := range requests {
					before, after := r.goesTo(route, grpc), r.goesTo(shared, grpc)
					want, got := asked(parts(before), use, share, r.matches(share.Matches)), parts(after)
					for ref, part := range want {
						if part < 0 && got[ref] > 0 {
							want[ref] = got[ref]
						}
					}
					near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
					if diff := cmp.Diff(want, got, near); diff != "" {
						t.Fatalf("%v with share %v: -want +got:\n%s", r, share, diff)
					}
					if diff := cmp.Diff(before["filters"], after["filters"]); diff != "" {
						t.Fatalf("%v goes by other filters: -before +after:\n%s", r, diff)
					}
				}
			})
		})
	}
}
