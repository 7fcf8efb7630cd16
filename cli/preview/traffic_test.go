package preview_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/preview"
)

// grpcRoute is the route of the sample whose matches can only name headers.
const grpcRoute = "      - {kind: GRPCRoute, name: api, namespace: edge, service: web}\n"

const shared = `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: web, labels: {tier: front}}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy:
    maxSurge: 1
    maxUnavailable: 0
    traffic:
      routes:
      - {kind: HTTPRoute, name: web, service: web}
      - {kind: GRPCRoute, name: api, namespace: edge, service: web}
    steps:
    - replicas: 1
      matches: [{headers: [{name: X-Canary, value: "yes"}]}]
    - replicas: 30%
      traffic: 10%
    - replicas: 100%
`

var httpRoute = v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}

// withTraffic returns the sample, and the sample with another template, both with routes that
// share requests.
func withTraffic() (base, next files) {
	base = files{"web/deployment.yaml": deployment, "web/release.yaml": shared}
	return base, base.with(files{"web/deployment.yaml": strings.Replace(deployment, "1.28", "1.29", 1)})
}

// TestTraffic: batches say what they give of the requests, as far as their pods are enough for
// that, and changes what differs in how routes share them.
func TestTraffic(t *testing.T) {
	t.Parallel()
	base, next := withTraffic()
	without := base.with(files{"web/release.yaml": release})
	rules := strings.NewReplacer(
		"    traffic:\n", "    traffic:\n      keepOldPods: true\n      oldPodsDelaySeconds: 5400\n      drainSeconds: 30\n      readySeconds: 0\n      allowOverload: true\n",
		"traffic: 10%", "traffic: 20%", `"yes"`, `"no"`, "name: web, service: web", "name: web, service: shop", "edge", "gate",
	).Replace(shared)
	few := func(of files, replicas string) files {
		return files{
			"web/deployment.yaml": strings.Replace(of["web/deployment.yaml"], "replicas: 10", "replicas: "+replicas, 1),
			"web/release.yaml":    strings.NewReplacer("replicas: 30%", "replicas: 90%", "traffic: 10%", "traffic: 90%").Replace(shared),
		}
	}
	cases := map[string]struct {
		before, after files
		earlier       []files
	}{
		"traffic":         {before: base, after: next},
		"traffic-added":   {before: without, after: next},
		"traffic-removed": {before: base, after: without},
		"traffic-new":     {before: files{}, after: base},
		"traffic-rules":   {before: base, after: base.with(files{"web/release.yaml": rules})},
		"traffic-few":     {before: few(base, "5"), after: few(next, "5")},
		"traffic-one":     {before: few(base, "1"), after: few(next, "1")},
		"traffic-back":    {before: next, after: base, earlier: []files{next, base}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var earlier []*preview.State
			for _, of := range tc.earlier {
				earlier = append(earlier, at(t, "c", of))
			}
			shown, err := preview.Compare(at(t, "a", tc.before), at(t, "b", tc.after), earlier)
			if err != nil {
				t.Fatalf("compare: %v", err)
			}
			goldenOf(t, shown, name)
		})
	}
}

// TestTrafficAsJSON: programs read the same, and nothing new of a release without.
func TestTrafficAsJSON(t *testing.T) {
	t.Parallel()
	base, next := withTraffic()
	batches := func(before, after files) string {
		shown, err := preview.Compare(at(t, "a", before), at(t, "b", after), nil)
		if err != nil {
			t.Fatalf("compare: %v", err)
		}
		data, err := json.Marshal(struct {
			Batches []preview.Batch `json:"batches"`
			Most    *int64          `json:"most,omitempty"`
		}{shown.Releases[0].Batches, shown.Releases[0].Most})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want := `{"batches":[{"share":"1","pods":1,"new":1,"traffic":0,"matches":1,"gates":["manual: a person confirms"]},` +
		`{"share":"30%","pods":3,"new":2,"traffic":10,"gates":["manual: a person confirms"]},{"share":"100%","pods":10,"new":7,"traffic":100}],"most":19}`
	if diff := cmp.Diff(want, batches(base, next)); diff != "" {
		t.Errorf("with traffic (-want +got):\n%s", diff)
	}
	one := func(of files) files {
		return of.with(files{"web/deployment.yaml": strings.Replace(of["web/deployment.yaml"], "replicas: 10", "replicas: 1", 1)})
	}
	want = `{"batches":[{"share":"1","pods":0,"new":0,"traffic":0,"gates":["manual: a person confirms"]},` +
		`{"share":"30%","pods":0,"new":0,"traffic":0,"gates":["manual: a person confirms"]},{"share":"100%","pods":1,"new":1,"traffic":100}]}`
	if diff := cmp.Diff(want, batches(one(base), one(next))); diff != "" {
		t.Errorf("want no requests for steps that come to no pods (-want +got):\n%s", diff)
	}
	plainly := base.with(files{"web/release.yaml": release})
	if got := batches(plainly, plainly.with(files{"web/deployment.yaml": next["web/deployment.yaml"]})); strings.Contains(got, "traffic") || strings.Contains(got, "most") {
		t.Errorf("want nothing of requests, got %s", got)
	}
}

// object reads a route.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	read := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &read.Object); err != nil {
		t.Fatal(err)
	}
	return read
}

const gatewayRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop, generation: 3}
spec: {rules: [{backendRefs: [{name: web, port: 80}]}]}
`

// TestMeetRoutes: an obstacle to sharing requests in the cluster's routes is reported before the
// release begins.
func TestMeetRoutes(t *testing.T) {
	t.Parallel()
	base, next := withTraffic()
	refused := gatewayRoute + `status: {parents: [{conditions: [{type: Accepted, status: "False", observedGeneration: 3, message: "no ` + "`listener`" + `"}]}]}
`
	for name, tc := range map[string]struct {
		route string
		live  func(*preview.Live)
		want  []string
	}{
		"Fine":     {route: gatewayRoute},
		"NotNamed": {strings.Replace(gatewayRoute, "name: web, port", "name: api, port", 1), nil, []string{"HTTPRoute shop/web: no rule refers to Service web: refer to the Service in a rule of the route, or correct strategy.traffic.routes"}},
		"Refused":  {refused, nil, []string{"HTTPRoute shop/web: no Gateway accepts the route: \"no `listener`\": see its status, and that of its Gateway"}},
		"Off":      {gatewayRoute, func(l *preview.Live) { l.Routes.Off = true }, []string{"the controller runs without --traffic: run it with --traffic, or take strategy.traffic out of the release"}},
		"Absent": {gatewayRoute, func(l *preview.Live) {
			l.Routes.Problems = []v1alpha1.TrafficProblem{{Type: v1alpha1.TrafficServiceNotFound, Object: "Service shop/web", Message: "it does not exist"}}
		}, []string{"Service shop/web: it does not exist: create it, or correct strategy.traffic.routes"}},
		"HeldByAnother": {strings.Replace(gatewayRoute, "generation: 3", `generation: 3, annotations: {rollouts.sluice.dev/traffic: '{"web": {"release": "shop/other", "uid": "u"}}'}`, 1), nil,
			[]string{"HTTPRoute shop/web: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := rested()
			live.Routes.Objects = map[v1alpha1.TrafficRoute]*unstructured.Unstructured{httpRoute: object(t, tc.route)}
			if tc.live != nil {
				tc.live(live)
			}
			got := next.meets(t, base, live).Releases[0].Cluster.Traffic
			if len(got) != len(tc.want) {
				t.Fatalf("want %q, got %q", tc.want, got)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tc.want[i]) {
					t.Errorf("want %q, got %q", tc.want[i], got[i])
				}
			}
		})
	}
	live := rested()
	live.Routes.Objects = map[v1alpha1.TrafficRoute]*unstructured.Unstructured{httpRoute: object(t, refused)}
	goldenOf(t, next.meets(t, base, live), "cluster-traffic")
	plainly := base.with(files{"web/release.yaml": release})
	live.Routes.Off = true
	if got := plainly.with(files{"web/deployment.yaml": next["web/deployment.yaml"]}).meets(t, plainly, live).Releases[0].Cluster.Traffic; got != nil {
		t.Errorf("want nothing of routes where none is named, got %q", got)
	}
}

// TestHostileRoutes: names of routes in Git, which are refused, and what a Gateway says of them,
// are text and nothing else.
func TestHostileRoutes(t *testing.T) {
	t.Parallel()
	base, _ := withTraffic()
	quoted := strings.NewReplacer("\n", `\n`, "\x1b", `\x1b`).Replace(evil)
	after := base.with(files{"web/release.yaml": strings.Replace(shared, "name: web, service: web", `name: "`+quoted+`", service: "`+quoted+`"`, 1)})
	shown, err := preview.Compare(at(t, "a", base), at(t, "b", after), nil)
	if err != nil {
		t.Fatalf("compare: %v", err)
	}
	wantHarmless(t, shown)
	live := rested()
	live.Routes.Problems = []v1alpha1.TrafficProblem{{Type: v1alpha1.TrafficNotAccepted, Object: "HTTPRoute " + evil, Message: evil}}
	wantHarmless(t, base.with(files{"web/deployment.yaml": strings.Replace(deployment, "1.28", "1.29", 1)}).meets(t, base, live))
}
