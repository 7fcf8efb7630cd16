package examples_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/cli/lint"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// TestTheExamplesOfTraffic: lint has nothing to say of them, so their routes can be shared as their
// steps say.
func TestTheExamplesOfTraffic(t *testing.T) {
	t.Parallel()
	report, err := lint.Check(os.DirFS("."), "traffic", spec.Options{Namespace: "shop"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.Releases != 2 || len(report.Findings) > 0 {
		t.Errorf("want 2 releases without findings, got %d with %v", report.Releases, report.Findings)
	}
}

// TestTrafficAsInGit: the API server refuses of routes and requests what the reader of manifests
// refuses, and takes what it takes.
func TestTrafficAsInGit(t *testing.T) {
	t.Parallel()
	const web = "routes: [{kind: HTTPRoute, name: web, service: web}]"
	const canary = "{replicas: 10%, traffic: 10%}, {replicas: 100%}"
	long := strings.Repeat("x", 1025)
	routes := func(routes string) [2]string { return [2]string{"routes: [" + routes + "]", canary} }
	steps := func(steps string) [2]string { return [2]string{web, steps} }
	matches := func(match string) [2]string {
		return steps("{replicas: 1, matches: [" + match + "]}, {replicas: 100%}")
	}
	of := func(kind, match string) [2]string {
		return [2]string{"routes: [{kind: " + kind + ", name: web, service: web}]", "{replicas: 1, matches: [" + match + "]}, {replicas: 100%}"}
	}
	taken := [][2]string{
		steps(canary), steps("{replicas: 100%, traffic: 100%}"), steps("{replicas: 0, traffic: 0%}, {replicas: 50%, traffic: 9%}, {replicas: 50%, traffic: 10%}, {replicas: 100%}"),
		steps("{replicas: 100%, traffic: 0%}, {replicas: 100%, traffic: 99%}, {replicas: 100%, traffic: 100%}, {replicas: 100%}"),
		steps("{replicas: 1, traffic: 50%}, {replicas: 100%}"), steps("{replicas: 07%, traffic: 5%}, {replicas: 09%, traffic: 9%}, {replicas: 10%, traffic: 10%}, {replicas: 100%}"),
		{web + ", allowOverload: true", "{replicas: 1%, traffic: 100%}, {replicas: 100%}"},
		{web + ", keepOldPods: true, oldPodsDelaySeconds: 604800, readySeconds: 0, drainSeconds: 3600", canary},
		{web + ", keepOldPods: false, oldPodsDelaySeconds: 0", canary},
		routes("{kind: HTTPRoute, name: web, service: web}, {kind: HTTPRoute, name: web, service: api}, {kind: HTTPRoute, name: web, service: web, namespace: edge}"),
		routes("{kind: GRPCRoute, name: a.b-c, service: web}, {kind: Ingress, name: a.b-c, service: web}"),
		matches("{path: {value: /}}, {path: {value: /a/b.c/~d%20e, type: Exact}}, {path: {value: '^/x/.*', type: RegularExpression}}"),
		matches("{headers: [{name: x-a, value: b}, {name: X_b, value: 'a b', type: RegularExpression}], queryParams: [{name: a, value: ö}, {name: A, value: b}]}"),
		of("GRPCRoute", "{headers: [{name: a, value: b}, {name: b, value: c}]}, {headers: [{name: a, value: b}], queryParams: []}"),
		of("Ingress", "{headers: [{name: a, value: b}]}"),
		matches("{path: {value: /" + long[:1023] + "}}"),
	}
	refused := [][2]string{
		steps("{replicas: 10%}, {replicas: 100%}"), {"", canary}, {"", "{replicas: 10%, matches: [{path: {value: /}}]}, {replicas: 100%}"},
		steps("{replicas: 50%, traffic: 50%}, {replicas: 60%}, {replicas: 70%, traffic: 9%}, {replicas: 100%}"), steps("{replicas: 100%, traffic: 99%}"),
		steps("{replicas: 100%, traffic: 100%}, {replicas: 100%, traffic: 10%}"), steps("{replicas: 50%, traffic: 100%}, {replicas: 100%, traffic: 99%}"),
		steps("{replicas: 10%, traffic: 11%}, {replicas: 100%}"), steps("{replicas: 9%, traffic: 10%}, {replicas: 100%}"), steps("{replicas: 99%, traffic: 100%}, {replicas: 100%}"),
		steps("{replicas: 0, traffic: 1%}, {replicas: 100%}"), {web + ", allowOverload: true", "{replicas: 00%, traffic: 1%}, {replicas: 100%}"},
		steps("{replicas: 0%, matches: [{path: {value: /}}]}, {replicas: 100%}"),
		steps("{replicas: 10%, traffic: 05%}, {replicas: 100%}"), steps("{replicas: 10%, traffic: 5}, {replicas: 100%}"), steps("{replicas: 10%, traffic: '5'}, {replicas: 100%}"),
		steps("{replicas: 10%, traffic: 101%}, {replicas: 100%}"), steps("{replicas: 10%, traffic: -1%}, {replicas: 100%}"), steps("{replicas: 10%, traffic: 1.5%}, {replicas: 100%}"),
		routes(""), routes("{kind: HTTPRoute, name: web}"), routes("{kind: HTTPRoute, service: web}"), routes("{name: web, service: web}"), routes("{kind: TLSRoute, name: web, service: web}"),
		routes("{kind: HTTPRoute, name: web, service: web}, {kind: HTTPRoute, name: web, service: web}"),
		routes("{kind: HTTPRoute, name: web, namespace: a, service: web}, {kind: HTTPRoute, name: web, namespace: a, service: web}"),
		routes("{kind: HTTPRoute, name: ../../secrets/x, service: web}"), routes("{kind: HTTPRoute, name: web, service: web/x}"), routes("{kind: HTTPRoute, name: web, service: web, namespace: ..}"),
		routes("{kind: HTTPRoute, name: web, service: web.shop}"), routes("{kind: HTTPRoute, name: -web, service: web}"), routes("{kind: HTTPRoute, name: web, service: " + long[:64] + "}"),
		routes("{kind: HTTPRoute, name: " + long[:254] + ", service: web}"), routes("{kind: HTTPRoute, name: web, service: web, namespace: " + long[:64] + "}"),
		routes("{kind: HTTPRoute, name: web, service: web, group: x}"), routes("{kind: Ingress, name: web, service: web, namespace: edge}"),
		{web + ", oldPodsDelaySeconds: 5", canary}, {web + ", keepOldPods: true, oldPodsDelaySeconds: 604801", canary}, {web + ", readySeconds: -1", canary}, {web + ", drainSeconds: 3601", canary},
		matches("{}"), matches("{headers: [], queryParams: []}"), matches("{method: GET}"), matches(strings.Repeat("{path: {value: /}}, ", 9)),
		matches("{path: {value: a}}"), matches("{path: {value: ''}}"), matches("{path: {value: /a//b}}"), matches("{path: {value: /a/./b}}"), matches("{path: {value: /a/../b}}"),
		matches("{path: {value: /a/..}}"), matches("{path: {value: /a/.}}"), matches("{path: {value: '/a%2Fb'}}"), matches("{path: {value: '/a%2fb'}}"), matches("{path: {value: '/a#b'}}"),
		matches("{path: {value: '/a?b=c'}}"), matches("{path: {value: '/%zz'}}"), matches(`{path: {value: "/a\nb", type: RegularExpression}}`), matches("{path: {value: /a, type: Prefix}}"),
		matches("{path: {value: /" + long + "}}"), matches("{headers: [{name: a, value: " + long + "}]}"), matches("{headers: [{name: " + long[:257] + ", value: a}]}"),
		matches("{headers: [{name: ':path', value: a}]}"), matches("{headers: [{name: a, value: ''}]}"), matches("{headers: [{name: '', value: a}]}"), matches("{headers: [{value: a}]}"),
		matches(`{headers: [{name: a, value: "b\r\nc: d"}]}`), matches(`{headers: [{name: a, value: "b\x7f"}]}`), matches("{headers: [{name: a, value: b, type: Prefix}]}"),
		matches("{headers: [{name: a, value: b}, {name: a, value: c}]}"), matches("{queryParams: [{name: a, value: b}, {name: a, value: c}]}"),
		matches("{queryParams: [{name: 'a b', value: b}]}"), matches("{headers: [" + headers(17) + "]}"),
		of("GRPCRoute", "{path: {value: /a}}"), of("GRPCRoute", "{headers: [{name: a, value: b}], queryParams: [{name: a, value: b}]}"), of("Ingress", "{path: {value: /a}}"),
		of("Ingress", "{headers: [{name: a, value: b}, {name: b, value: b}]}"), of("Ingress", "{headers: [{name: a, value: b}]}, {headers: [{name: a, value: c}]}"),
	}
	server := strictServer(t)
	for i, given := range append(taken, refused...) {
		text := releaseWith("Deployment", "traffic: {"+given[0]+"}")
		if given[0] == "" {
			text = releaseWith("Deployment", "maxSurge: 1")
		}
		text = strings.Replace(text, "steps: [{replicas: 100%}]", "steps: ["+given[1]+"]", 1)
		result, err := spec.NewReader(spec.Options{Namespace: "shop"}).Read(fstest.MapFS{"r.yaml": {Data: []byte(text)}}, ".")
		if err != nil {
			t.Fatal(err)
		}
		answer := server.Create(t.Context(), objectOf(t, []byte(text)), client.DryRunAll)
		if want := i >= len(taken); (answer != nil) != want || (len(result.Errors) > 0) != want {
			t.Errorf("traffic: {%.200s}, steps: [%.200s]: want it refused: %t; the API server says %.500v, and the reader %.500v", given[0], given[1], want, answer, result.Errors)
		}
	}
}

func headers(n int) string {
	var headers []string
	for i := range n {
		headers = append(headers, fmt.Sprintf("{name: h%d, value: v}", i))
	}
	return strings.Join(headers, ", ")
}
