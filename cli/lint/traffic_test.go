package lint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const routed = `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: web}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy:
    steps:
    - replicas: 1
      traffic: 10%
    - replicas: 100%
    traffic:
      routes:
      - kind: HTTPRoute
        name: web
        service: web
`

const httpRoute = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec:
  rules:
  - matches: [{path: {type: PathPrefix, value: /shop}}]
    backendRefs: [{name: web, port: 80}]
`

// TestTraffic: the controller's objections to routes and requests in mid-release are reported
// before the push, with their place.
func TestTraffic(t *testing.T) {
	t.Parallel()
	edit := strings.NewReplacer
	matches := func(match string) string {
		return edit("traffic: 10%\n", "matches: [{"+match+"}]\n").Replace(routed)
	}
	ten := strings.Replace(deployment, "spec:\n", "spec:\n  replicas: 10\n", 1)
	kept := func(last string) string {
		return edit("replicas: 1\n", "replicas: 100%\n", "- replicas: 100%\n", "- "+last+"replicas: 100%\n", "routes:", "keepOldPods: true\n      routes:").Replace(routed)
	}
	const gone = "release.yaml:12:7: warning: spec.strategy.traffic.keepOldPods: the old pods go as soon as the new version has all requests: " +
		"to keep them longer, set oldPodsDelaySeconds, or give the last step a gate, such as soak"
	cases := map[string]struct {
		reason                     string
		release, deployment, route string
		want                       []string
	}{
		"Good":      {"nothing is said of what is right", routed, ten, httpRoute, nil},
		"Elsewhere": {"a route may be in another repository", routed, ten, "", nil},
		"AnotherName": {
			"it is probably the one that is meant", routed, ten, strings.Replace(httpRoute, "metadata: {name: web}", "metadata: {name: shop}", 1),
			[]string{"release.yaml:14:9: warning: spec.strategy.traffic.routes[0].name: HTTPRoute web is not in the path: did you mean HTTPRoute shop in route.yaml:1, " +
				"which refers to Service web?"},
		},
		"AnotherNameForAnotherService": {
			"it has nothing to do with the release", routed, ten,
			edit("metadata: {name: web}", "metadata: {name: shop}", "name: web, port", "name: wep, port").Replace(httpRoute), nil,
		},
		"AnotherThatIsNamed": {
			"each is what it is named for", strings.Replace(routed, "service: web\n", "service: web\n      - {kind: HTTPRoute, name: shop, service: web}\n", 1), ten,
			strings.Replace(httpRoute, "metadata: {name: web}", "metadata: {name: shop}", 1), nil,
		},
		"OnePod": {
			"it is updated in the last step", routed, strings.Replace(ten, "10", "1", 1), httpRoute,
			[]string{"release.yaml:8:7: warning: spec.strategy.steps[0].replicas: Deployment web has 1 replica, and only a step with 100% updates the last one: this step has no new pod"},
		},
		"OnePodAtOnce": {"a step with 100% has it", strings.Replace(routed, "replicas: 1\n", "replicas: 100%\n", 1), strings.Replace(ten, "10", "1", 1), httpRoute, nil},
		"AllButTheLastPod": {
			"the last pod is that of the last step", edit("10%", "100%", "replicas: 1\n", "replicas: 10\n      maxUnavailable: 0\n").Replace(routed), ten, httpRoute,
			[]string{"release.yaml:8:7: warning: spec.strategy.steps[0].replicas: 9 of the 10 pods of Deployment web are enough for 90% of the requests, " +
				"and the new version gets no more until a step with 100%, though this one says 100%"},
		},
		"ServiceNotNamed": {
			"nothing could be shared", routed, ten, strings.Replace(httpRoute, "name: web, port", "name: wep, port", 1),
			[]string{"release.yaml:15:9: error: spec.strategy.traffic.routes[0].service: HTTPRoute shop/web in route.yaml:1: no rule refers to Service web"},
		},
		"ServiceElsewhere": {
			"a Service of that name in another namespace is another", routed, ten, strings.Replace(httpRoute, "name: web, port", "name: web, namespace: edge, port", 1),
			[]string{"release.yaml:15:9: error: spec.strategy.traffic.routes[0].service: HTTPRoute shop/web in route.yaml:1: no rule refers to Service web"},
		},
		"NotShareable": {
			"a weight would not fit", routed, ten, strings.Replace(httpRoute, "port: 80", "port: 80, weight: 20000", 1),
			[]string{"release.yaml:13:9: error: spec.strategy.traffic.routes[0]: HTTPRoute shop/web in route.yaml:1: spec.rules[0].backendRefs[0].weight"},
		},
		"AnotherVersion": {
			"a route is the same in all versions of its API", routed, ten, strings.Replace(httpRoute, "k8s.io/v1", "k8s.io/v1beta1", 1), nil,
		},
		"AnotherGroup": {
			"an HTTPRoute of somebody else's is none", routed, ten, edit("gateway.networking.k8s.io", "example.org", "name: web, port", "name: wep, port").Replace(httpRoute), nil,
		},
		"AnotherNamespace": {
			"a route of that name elsewhere is another", routed, ten,
			edit("metadata: {name: web}", "metadata: {name: web, namespace: edge}", "name: web, port", "name: wep, port").Replace(httpRoute), nil,
		},
		"TwoOverlays": {
			"nobody knows which of two is meant", routed, ten, strings.Replace(httpRoute, "name: web, port", "name: wep, port", 1) + "---\n" + httpRoute, nil,
		},
		"NoRoute": {
			"what is no route is the API server's to refuse", routed, ten, "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: [web]}\n", nil,
		},
		"RulesThatAreNone": {
			"a route without rules has nothing to share", routed, ten, "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: web}\nspec: all\n",
			[]string{`release.yaml:13:9: error: spec.strategy.traffic.routes[0]: HTTPRoute shop/web in route.yaml:1: spec must be an object, is "all"`},
		},
		"Matches":   {"a path below the rule's", matches("path: {value: /shop/new}"), ten, httpRoute, nil},
		"NoMatches": {"a path beside the rule's", matches("path: {value: /stock}"), ten, httpRoute, []string{"release.yaml:9:7: error: spec.strategy.steps[0].matches: HTTPRoute shop/web in route.yaml:1: "}},
		"MatchOfAll": {
			"the percentage would mean nothing", edit("traffic: 10%\n", "traffic: 10%\n      matches: [{path: {value: /a}}, {path: {value: /}}]\n").Replace(routed), ten, "",
			[]string{"release.yaml:10:38: warning: spec.strategy.steps[0].matches[1]: sends all requests to the new version, and not 10% of them: " +
				"name a longer path, a header or a query parameter, or set traffic: 100%"},
		},
		"MatchOfAllWithAHeader": {"not all requests have it", matches("path: {value: /}, headers: [{name: a, value: b}]"), ten, "", nil},
		"MatchOfAllWhereAllGo": {
			"all requests go anyway", edit("replicas: 1\n", "replicas: 100%\n", "traffic: 10%\n", "traffic: 100%\n      matches: [{path: {value: /}}]\n").Replace(routed), ten, "", nil,
		},
		"Expression": {
			"most Gateways refuse it", matches("path: {type: RegularExpression, value: '('}"), ten, "",
			[]string{"release.yaml:9:50: warning: spec.strategy.steps[0].matches[0].path.value: not a regular expression of RE2, which most Gateways have: missing closing ): `(`"},
		},
		"ExpressionOfAHeader": {
			"most Gateways refuse it", matches("headers: [{name: a, value: 'a{5000}', type: RegularExpression}]"), ten, "",
			[]string{"release.yaml:9:38: warning: spec.strategy.steps[0].matches[0].headers[0].value: not a regular expression of RE2, which most Gateways have: " +
				"invalid repeat count: `{5000}`"},
		},
		"ExpressionThatIsNone": {"a value is compared as it is", matches("headers: [{name: a, value: '('}], queryParams: [{name: a, value: '*'}]"), ten, "", nil},
		"Capacity": {
			"one of ten pods is not enough for half of the requests", strings.Replace(routed, "10%", "50%", 1), ten, httpRoute,
			[]string{"release.yaml:8:7: warning: spec.strategy.steps[0].replicas: 1 of the 10 pods of Deployment web are not enough for 50% of the requests, " +
				"and the step waits for more: set more, or allowOverload: true in strategy.traffic"},
		},
		"CapacityWithinLimits": {"with two pods missing eight are enough for all", edit("10%", "12%").Replace(routed), ten, "", nil},
		"CapacityBeyondLimits": {
			"one pod of eight that are enough for all", edit("10%", "13%").Replace(routed), ten, "",
			[]string{"release.yaml:8:7: warning: spec.strategy.steps[0].replicas: 1 of the 10 pods of Deployment web are not enough for 13% of the requests"},
		},
		"CapacityOfAStep": {
			"a step may let more be missing", edit("10%", "20%", "replicas: 1\n", "replicas: 1\n      maxUnavailable: 5\n").Replace(routed), ten, "", nil,
		},
		"Overload":     {"the release may say so", edit("10%", "50%", "routes:", "allowOverload: true\n      routes:").Replace(routed), ten, httpRoute, nil},
		"Autoscaled":   {"an HPA may have more", strings.Replace(routed, "10%", "50%", 1), deployment, httpRoute, nil},
		"Few":          {"all pods are enough", edit("10%", "50%", "replicas: 1\n", "replicas: 5\n").Replace(routed), strings.Replace(ten, "10", "2", 1), httpRoute, nil},
		"Kept":         {"old pods are kept for nothing", kept(""), ten, httpRoute, []string{gone}},
		"KeptNone":     {"a gate that is none keeps nothing", kept("gates: [{none: {}}]\n      "), ten, httpRoute, []string{strings.Replace(gone, ":12:", ":13:", 1)}},
		"KeptByGate":   {"the last step keeps them", kept("gates: [{soak: {duration: 1h}}]\n      "), ten, httpRoute, nil},
		"KeptByDelay":  {"a delay keeps them", strings.Replace(kept(""), "keepOldPods: true\n", "keepOldPods: true\n      oldPodsDelaySeconds: 5\n", 1), ten, httpRoute, nil},
		"KeptByAStep":  {"a step before has all requests", strings.Replace(kept(""), "10%", "100%", 1), ten, httpRoute, nil},
		"KeptNowhere":  {"nobody asked for them", strings.Replace(kept(""), "keepOldPods: true", "keepOldPods: false", 1), ten, httpRoute, nil},
		"Falls":        {"the rules are the controller's", edit("- replicas: 100%\n", "- replicas: 50%\n      traffic: 5%\n    - replicas: 100%\n").Replace(routed), ten, "", []string{`release.yaml:11:7: error: spec.strategy.steps[1].traffic: Invalid value: "5%": must not be less than in a step before it`}},
		"OverloadOf10": {"the issue's own example", edit("replicas: 1\n", "replicas: 10%\n", "traffic: 10%", "traffic: 100%").Replace(routed), ten, "", []string{`release.yaml:9:7: error: spec.strategy.steps[0].traffic: Invalid value: "100%": must not be more than the step's replicas, 10%: set allowOverload: true`}},
		"OfADaemonSet": {
			"no Service tells its versions apart", strings.Replace(routed, "kind: Deployment", "kind: DaemonSet", 1), strings.Replace(deployment, "kind: Deployment", "kind: DaemonSet", 1), "",
			[]string{"release.yaml:11:5: error: spec.strategy.traffic: Forbidden: is for Deployments"},
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"release.yaml": tt.release, "deployment.yaml": tt.deployment}
			if tt.route != "" {
				files["route.yaml"] = tt.route
			}
			got := findings(check(t, files))
			for i := range got { // a long sentence is that of another package: its beginning tells which one
				if i < len(tt.want) && strings.HasPrefix(got[i], tt.want[i]) {
					got[i] = tt.want[i]
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}
