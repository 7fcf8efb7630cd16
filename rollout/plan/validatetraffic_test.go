package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestValidateTraffic(t *testing.T) {
	t.Parallel()
	const (
		http, grpc, ingress = "{kind: HTTPRoute, name: web, service: web}", "{kind: GRPCRoute, name: web, service: web}", "{kind: Ingress, name: web, service: web}"

		decrease = "must not be less than in a step before it"
		all      = "the last step gives the new version all requests: leave traffic out, or set 100%"
		none     = "a step with replicas: 0 has no pods that could get requests"
		needs    = "Forbidden: needs strategy.traffic, which names the routes"
		onlyHTTP = "Forbidden: works only with HTTPRoutes: for a GRPCRoute or an Ingress, a match can name only headers"
		one      = "Forbidden: an Ingress takes one match with one header: use an HTTPRoute for more"
	)
	noTraffic := "spec.strategy.traffic: Forbidden: no step has traffic or matches, so that all requests would stay with the old version until the last step: " +
		"give steps a share such as traffic: 10%, or the last one traffic: 100% if that is meant"
	with := func(traffic string, steps ...string) string {
		return fmt.Sprintf("strategy: {traffic: {%s}, steps: [%s]}", traffic, strings.Join(steps, ", "))
	}
	matches := func(route string, matches ...string) string {
		return with("routes: ["+route+"]", "{replicas: 10%, matches: ["+strings.Join(matches, ", ")+"]}", "{replicas: 100%}")
	}
	routes := func(routes ...string) string {
		return with("routes: ["+strings.Join(routes, ", ")+"]", "{replicas: 10%, traffic: 5%}", "{replicas: 100%}")
	}
	weights := func(steps ...string) string { return with("routes: ["+http+"]", steps...) }
	tests := map[string]struct {
		spec string
		want []string
	}{
		"canary":                       {weights("{replicas: 1, traffic: 5%}", "{replicas: 50%, traffic: 50%}", "{replicas: 100%}"), nil},
		"blue-green":                   {weights("{replicas: 100%, traffic: 0%}", "{replicas: 100%, traffic: 10%}", "{replicas: 100%, traffic: 100%}"), nil},
		"all at once, as is said":      {weights("{replicas: 100%, traffic: 100%}"), nil},
		"a preview":                    {weights("{replicas: 1, matches: [{headers: [{name: a, value: b}]}]}", "{replicas: 100%}"), nil},
		"all requests before the last": {weights("{replicas: 100%, traffic: 100%}", "{replicas: 100%}"), nil},
		"no requests to begin with":    {weights("{replicas: 0, traffic: 0%}", "{replicas: 10%, traffic: 10%}", "{replicas: 100%}"), nil},
		"nobody says what is wanted":   {weights("{replicas: 10%}", "{replicas: 100%}"), []string{noTraffic}},
		"a share without routes":       {"strategy: {steps: [{replicas: 1, traffic: 5%}, {replicas: 100%}]}", []string{"spec.strategy.steps[0].traffic: " + needs}},
		"matches without routes":       {"strategy: {steps: [{replicas: 1, matches: [{path: {value: /a}}]}, {replicas: 100%}]}", []string{"spec.strategy.steps[0].matches: " + needs}},
		"traffic names routes":         {with("routes: []", "{replicas: 100%, traffic: 100%}"), []string{"spec.strategy.traffic.routes: Required value: at least one route"}},
		"a rollback takes all back": {
			"{strategy: {steps: [{replicas: 100%}]}, rollback: {steps: [{replicas: 1, traffic: 5%}, {replicas: 100%, matches: [{path: {value: /a}}]}]}}",
			[]string{
				"spec.rollback.steps[0].traffic: Forbidden: a rollback has no traffic and no matches: it takes all requests back first",
				"spec.rollback.steps[1].matches: Forbidden: a rollback has no traffic and no matches: it takes all requests back first",
			},
		},

		"a share never falls": {
			weights("{replicas: 50%, traffic: 50%}", "{replicas: 60%, traffic: 40%}", "{replicas: 100%}"),
			[]string{`spec.strategy.steps[1].traffic: Invalid value: "40%": ` + decrease},
		},
		"it is the most so far that counts": {
			weights("{replicas: 50%, traffic: 50%}", "{replicas: 60%}", "{replicas: 60%, traffic: 49%}", "{replicas: 100%, traffic: 100%}"),
			[]string{`spec.strategy.steps[2].traffic: Invalid value: "49%": ` + decrease},
		},
		"the last step has all":                   {weights("{replicas: 50%, traffic: 5%}", "{replicas: 100%, traffic: 50%}"), []string{`spec.strategy.steps[1].traffic: Invalid value: "50%": ` + all}},
		"0% in the last step is what it is about": {weights("{replicas: 100%, traffic: 0%}"), []string{`spec.strategy.steps[0].traffic: Invalid value: "0%": ` + all}},
		"a share is a percentage": {
			weights("{replicas: 50%, traffic: '5'}", "{replicas: 60%, traffic: 101%}", "{replicas: 60%, traffic: -1%}", "{replicas: 100%}"),
			[]string{
				`spec.strategy.steps[0].traffic: Invalid value: "5": must be a whole percentage from 0% to 100%`,
				`spec.strategy.steps[1].traffic: Invalid value: "101%": must be a whole percentage from 0% to 100%`,
				`spec.strategy.steps[2].traffic: Invalid value: "-1%": must be a whole percentage from 0% to 100%`,
			},
		},

		"more requests than pods": {
			weights("{replicas: 10%, traffic: 11%}", "{replicas: 100%}"),
			[]string{`spec.strategy.steps[0].traffic: Invalid value: "11%": must not be more than the step's replicas, 10%: ` +
				"set allowOverload: true in strategy.traffic if fewer pods can serve as many requests"},
		},
		"more requests than pods, from a step before": {
			weights("{replicas: 8, traffic: 40%}", "{replicas: 30%}", "{replicas: 100%}"),
			[]string{`spec.strategy.steps[1].replicas: Invalid value: "30%": must not be less than the traffic that a step before it gives the new version, 40%`},
		},
		"more requests than pods, on purpose":   {with("routes: ["+http+"], allowOverload: true", "{replicas: 10%, traffic: 100%}", "{replicas: 100%}"), nil},
		"how much a number of pods is, depends": {weights("{replicas: 1, traffic: 99%}", "{replicas: 100%}"), nil},
		"requests for nobody":                   {weights("{replicas: 0, traffic: 1%}", "{replicas: 100%}"), []string{`spec.strategy.steps[0].traffic: Invalid value: "1%": ` + none}},
		"requests for nobody, in percent":       {with("routes: ["+http+"], allowOverload: true", "{replicas: 0%, traffic: 1%}", "{replicas: 100%}"), []string{`spec.strategy.steps[0].traffic: Invalid value: "1%": ` + none}},
		"requests for nobody, from a step before": {
			with("routes: ["+http+"], allowOverload: true", "{replicas: 1, traffic: 1%}", "{replicas: 0%}", "{replicas: 100%}"),
			[]string{`spec.strategy.steps[1].replicas: Invalid value: "0%": ` + none},
		},
		"requests that match for nobody":              {weights("{replicas: 0%, matches: [{path: {value: /a}}]}", "{replicas: 100%}"), []string{"spec.strategy.steps[0].matches: Forbidden: " + none}},
		"what is no number of pods is said only once": {weights("{replicas: many, traffic: 1%}", "{replicas: 100%}"), []string{`spec.strategy.steps[0].replicas: Invalid value: "many": "many" is neither a number of pods nor a percentage such as 30%`}},
		"the same route twice":                        {routes(grpc, http, http), []string{"spec.strategy.traffic.routes[2]: Forbidden: names the route and Service of routes[1] again"}},
		"another Service of the same route":           {routes(http, "{kind: HTTPRoute, name: web, service: api}"), nil},
		"a route of that name elsewhere":              {routes(http, "{kind: HTTPRoute, name: web, namespace: edge, service: web}"), nil},
		"an Ingress elsewhere":                        {routes("{kind: Ingress, name: web, namespace: edge, service: web}"), []string{"spec.strategy.traffic.routes[0].namespace: Forbidden: an Ingress can only refer to Services of its own namespace: take namespace out"}},
		"a delay of nothing":                          {with("routes: ["+http+"], oldPodsDelaySeconds: 5", "{replicas: 100%, traffic: 100%}"), []string{"spec.strategy.traffic.oldPodsDelaySeconds: Forbidden: needs keepOldPods: true"}},
		"a delay":                                     {with("routes: ["+http+"], keepOldPods: true, oldPodsDelaySeconds: 5", "{replicas: 100%, traffic: 100%}"), nil},

		"all that an HTTPRoute has": {matches(http, "{path: {value: /a}, headers: [{name: a, value: b}, {name: b, value: b}], queryParams: [{name: a, value: b}, {name: A, value: b}]}", "{path: {value: /b}}"), nil},
		"headers of a GRPCRoute":    {matches(grpc, "{headers: [{name: a, value: b}, {name: b, value: b}]}", "{headers: [{name: a, value: b}]}"), nil},
		"paths of a GRPCRoute": {
			matches(http+", "+grpc, "{path: {value: /a}, queryParams: [{name: a, value: b}]}"),
			[]string{"spec.strategy.steps[0].matches[0].path: " + onlyHTTP, "spec.strategy.steps[0].matches[0].queryParams: " + onlyHTTP},
		},
		"a header of an Ingress": {matches(ingress, "{headers: [{name: a, value: b}]}"), nil},
		"a path of an Ingress":   {matches(ingress, "{path: {value: /a}}"), []string{"spec.strategy.steps[0].matches[0].path: " + onlyHTTP}},
		"headers of an Ingress":  {matches(ingress, "{headers: [{name: a, value: b}, {name: b, value: b}]}"), []string{"spec.strategy.steps[0].matches[0].headers[1]: " + one}},
		"matches of an Ingress":  {matches(ingress, "{headers: [{name: a, value: b}]}", "{headers: [{name: b, value: b}]}"), []string{"spec.strategy.steps[0].matches[1]: " + one}},
		"a header twice": {
			matches(http, "{headers: [{name: X-A, value: b}, {name: x-a, value: c}], queryParams: [{name: a, value: b}, {name: a, value: c}]}"),
			[]string{
				`spec.strategy.steps[0].matches[0].headers[1].name: Duplicate value: "x-a"`,
				`spec.strategy.steps[0].matches[0].queryParams[1].name: Duplicate value: "a"`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var spec v1alpha1.BatchReleaseSpec
			if err := yaml.UnmarshalStrict([]byte(test.spec), &spec); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, problem := range Validate(&spec, field.NewPath("spec")) {
				got = append(got, problem.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
