package spec

import (
	"fmt"
	"strings"
	"testing"
)

// withTraffic returns a release with a list of routes, and steps of which the first says something
// of requests.
func withTraffic(routes, step string) string {
	return release("web", template+"strategy:\n  traffic:\n    routes: ["+routes+"]\n  steps:\n  - replicas: 10%\n    "+step+"\n  - replicas: 100%")
}

const route = "{kind: HTTPRoute, name: web, service: web}"

// TestTrafficIsRead: routes and requests against the CRD's rules are refused at their line.
func TestTrafficIsRead(t *testing.T) {
	t.Parallel()
	const of = "r.yaml:10: spec.strategy.traffic.routes[0]"
	inStep := func(step string) string { return withTraffic(route, step) }
	inMatch := func(match string) string { return inStep("matches: [{" + match + "}]") }
	const match = "r.yaml:13: spec.strategy.steps[0].matches[0]"
	header := func(header string) string { return inMatch("headers: [{" + header + "}]") }
	long := strings.Repeat("x", 2000)
	tests := map[string]struct {
		text string
		want []string
	}{
		"canary":          {inStep("traffic: 5%"), nil},
		"every field":     {strings.Replace(inMatch("path: {type: Exact, value: /a/b.c%20d}, headers: [{name: x-Canary, value: 'a b', type: RegularExpression}], queryParams: [{name: q, value: ä}]"), "      routes:", "      keepOldPods: true\n      oldPodsDelaySeconds: 604800\n      readySeconds: 0\n      drainSeconds: 3600\n      allowOverload: true\n      routes:", 1), nil},
		"a path as regex": {inMatch("path: {type: RegularExpression, value: '.*[.]php'}"), nil},

		"a route of no kind":           {withTraffic("{name: web, service: web}", "traffic: 5%"), []string{of + ".kind: Required value: HTTPRoute, GRPCRoute or Ingress"}},
		"a route of another kind":      {withTraffic("{kind: TCPRoute, name: web, service: web}", "traffic: 5%"), []string{of + `.kind: Unsupported value: "TCPRoute"`}},
		"a route of no name":           {withTraffic("{kind: HTTPRoute, service: web}", "traffic: 5%"), []string{of + ".name: Required value: names the route"}},
		"a route elsewhere in the API": {withTraffic("{kind: HTTPRoute, name: ../../secrets/a, service: web}", "traffic: 5%"), []string{of + `.name: Invalid value: "../../secrets/a"`}},
		"a route of no Service":        {withTraffic("{kind: HTTPRoute, name: web}", "traffic: 5%"), []string{of + ".service: Required value: names the Service"}},
		"a Service that can be none":   {withTraffic("{kind: HTTPRoute, name: web, service: web.shop}", "traffic: 5%"), []string{of + `.service: Invalid value: "web.shop"`}},
		"a namespace that can be none": {withTraffic("{kind: HTTPRoute, name: web, service: web, namespace: ../x}", "traffic: 5%"), []string{of + `.namespace: Invalid value: "../x"`}},
		"an Ingress elsewhere":         {withTraffic("{kind: Ingress, name: web, service: web, namespace: edge}", "traffic: 5%"), []string{of + ".namespace: Forbidden: an Ingress can only"}},
		"a field that there is not":    {withTraffic("{kind: HTTPRoute, name: web, service: web, weight: 5}", "traffic: 5%"), []string{of + ".weight: unknown field"}},
		"another group's route":        {withTraffic("{kind: HTTPRoute, name: web, services: web}", "traffic: 5%"), []string{of + ".services: unknown field; did you mean service?"}},
		"a route twice":                {withTraffic(route+", "+route, "traffic: 5%"), []string{"r.yaml:10: spec.strategy.traffic.routes[1]: Forbidden: names the route and Service of routes[0] again"}},
		"too many routes": {
			withTraffic(manyRoutes(9), "traffic: 5%"), []string{"r.yaml:10: spec.strategy.traffic.routes: Too many: 9: must have at most 8 items"},
		},
		"seconds": {
			strings.Replace(inStep("traffic: 5%"), "      routes:", "      keepOldPods: true\n      oldPodsDelaySeconds: 604801\n      readySeconds: -1\n      drainSeconds: 3601\n      routes:", 1), []string{
				"r.yaml:11: spec.strategy.traffic.oldPodsDelaySeconds: Invalid value: 604801: must be from 0 to 604800",
				"r.yaml:12: spec.strategy.traffic.readySeconds: Invalid value: -1: must be from 0 to 3600",
				"r.yaml:13: spec.strategy.traffic.drainSeconds: Invalid value: 3601: must be from 0 to 3600",
			},
		},
		"routes that are none": {
			strings.Replace(inStep("traffic: 5%"), "routes: [", "#", 1), []string{"r.yaml:9: spec.strategy.traffic: must not be null"},
		},
		"seconds in words": {
			strings.Replace(inStep("traffic: 50%"), "      routes:", "      allowOverload: 'yes'\n      routes:", 1), []string{"r.yaml:10: spec.strategy.traffic.allowOverload: must be true or false"},
		},
		"for a StatefulSet": {
			strings.Replace(inStep("traffic: 5%"), "Deployment", "StatefulSet", 1), []string{"r.yaml:9: spec.strategy.traffic: Forbidden: is for Deployments"},
		},

		"a number": {inStep("traffic: 5"), []string{"r.yaml:13: spec.strategy.steps[0].traffic: must be a string, not the number 5: write 5%"}},
		"a number below 0": {inStep("traffic: -5"), []string{
			"r.yaml:13: spec.strategy.steps[0].traffic: must be a string, not the number -5: write a whole percentage from 0% to 100%",
		}},
		"a number of 0 in front": {inStep("traffic: 05%"), []string{`r.yaml:13: spec.strategy.steps[0].traffic: Invalid value: "05%": must be a whole percentage from 0% to 100%`}},
		"too much":               {inStep("traffic: 500%"), []string{`r.yaml:13: spec.strategy.steps[0].traffic: Invalid value: "500%": must be a whole percentage from 0% to 100%`}},
		"more than pods":         {inStep("traffic: 50%"), []string{`r.yaml:13: spec.strategy.steps[0].traffic: Invalid value: "50%": must not be more than the step's replicas, 10%`}},
		"no traffic":             {inStep("gates: []"), []string{"r.yaml:9: spec.strategy.traffic: Forbidden: no step has traffic or matches"}},
		"no routes":              {release("web", template+"strategy:\n  steps:\n  - replicas: 10%\n    traffic: 5%\n  - replicas: 100%"), []string{"r.yaml:11: spec.strategy.steps[0].traffic: Forbidden: needs strategy.traffic"}},
		"traffic of a rollback":  {release("web", template+strategy+"rollback:\n  steps:\n  - replicas: 100%\n    traffic: 100%"), []string{"r.yaml:12: spec.rollback.steps[0].traffic: Forbidden: a rollback has no traffic"}},

		"too many matches":            {inStep("matches: [" + strings.Repeat("{path: {value: /a}}, ", 9) + "]"), []string{"r.yaml:13: spec.strategy.steps[0].matches: Too many: 9: must have at most 8 items"}},
		"a match of nothing":          {inMatch("headers: []"), []string{match + ": Required value: name a path, a header or a query parameter"}},
		"a match of what there isn't": {inMatch("method: GET"), []string{match + ".method: unknown field"}},
		"a path from nowhere":         {inMatch("path: {value: a}"), []string{match + `.path.value: Invalid value: "a": must be an absolute path`}},
		"a path that leads elsewhere": {inMatch("path: {value: /a/../b}"), []string{match + `.path.value: Invalid value: "/a/../b": must be an absolute path`}},
		"a path that ends elsewhere":  {inMatch("path: {value: /a/..}"), []string{match + `.path.value: Invalid value`}},
		"a path with an empty part":   {inMatch("path: {value: /a//b}"), []string{match + `.path.value: Invalid value`}},
		"a path with a hidden slash":  {inMatch("path: {value: /a%2fb}"), []string{match + `.path.value: Invalid value`}},
		"a path with a fragment":      {inMatch("path: {value: '/a#b'}"), []string{match + `.path.value: Invalid value`}},
		"a path of no type":           {inMatch("path: {value: /a, type: Prefix}"), []string{match + `.path.type: Unsupported value: "Prefix"`}},
		"no path":                     {inMatch("path: {type: Exact}"), []string{match + ".path.value: Required value"}},
		"a long path":                 {inMatch("path: {value: /" + long + "}"), []string{match + ".path.value: Too long"}},
		"a header of no name":         {header("value: a"), []string{match + ".headers[0].name: Required value"}},
		"a pseudo header":             {header("name: ':method', value: GET"), []string{match + `.headers[0].name: Invalid value: ":method"`}},
		"a long header":               {header("name: " + long + ", value: GET"), []string{match + ".headers[0].name: Too long"}},
		"no value":                    {header("name: a, value: ''"), []string{match + ".headers[0].value: Required value"}},
		"a long value":                {header("name: a, value: " + long), []string{match + ".headers[0].value: Too long"}},
		"a value with another line":   {header(`name: a, value: "b\nevil: c"`), []string{match + `.headers[0].value: Invalid value: "b\nevil: c": must have no control characters`}},
		"a header twice":              {inMatch("headers: [{name: a, value: b}, {name: A, value: b}]"), []string{match + `.headers[1].name: Duplicate value: "A"`}},
		"a comparison that isn't":     {header("name: a, value: b, type: Prefix"), []string{match + `.headers[0].type: Unsupported value: "Prefix"`}},
		"too many headers":            {inMatch("headers: [" + manyHeaders(17) + "]"), []string{match + ".headers: Too many: 17: must have at most 16 items"}},
		"a query":                     {inMatch("queryParams: [{name: a b, value: b}]"), []string{match + `.queryParams[0].name: Invalid value: "a b"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := read(t, map[string]string{"r.yaml": tt.text})
			wantErrors(t, result, tt.want...)
			if tt.want == nil {
				wantReleases(t, result, "shop/web")
			}
		})
	}
}

func manyHeaders(n int) string {
	var headers []string
	for i := range n {
		headers = append(headers, fmt.Sprintf("{name: h%d, value: v}", i))
	}
	return strings.Join(headers, ", ")
}

func manyRoutes(n int) string {
	var routes []string
	for i := range n {
		routes = append(routes, fmt.Sprintf("{kind: HTTPRoute, name: web%d, service: web}", i))
	}
	return strings.Join(routes, ", ")
}
