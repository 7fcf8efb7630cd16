package preview_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/cli/preview"
)

const (
	routeOfGit   = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: web}\nspec: {rules: [{backendRefs: [{name: web, port: 80}]}]}\n"
	serviceOfGit = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n"
)

// TestMistakesBetweenFiles: who runs plan alone reads what lint finds of routes and Services: each
// error, whatever it is that the commits change, and each warning of a release that changes, or
// that the commits bring.
func TestMistakesBetweenFiles(t *testing.T) {
	t.Parallel()
	base, next := withTraffic()
	base, next = base.with(files{"route.yaml": routeOfGit, "service.yaml": serviceOfGit}), next.with(files{"route.yaml": routeOfGit, "service.yaml": serviceOfGit})
	edited := func(of files, file, from, to string) files {
		return of.with(files{file: strings.Replace(of[file], from, to, 1)})
	}
	httpOnly := func(of files) files { return edited(of, "web/release.yaml", grpcRoute, "") }
	moved := func(of files) files { return edited(of, "route.yaml", "", "# A comment.\n---\n") }
	renamed := func(of files) files { return edited(of, "route.yaml", "{name: web}\n", "{name: shop}\n") }
	sharing := func(of files) files {
		rival := strings.NewReplacer("{name: web, labels: {tier: front}}", "{name: rival}", "kind: Deployment, name: web", "kind: Deployment, name: rival", "{name: web}", "{name: rival}")
		return of.with(files{"web/rival.yaml": rival.Replace(of["web/release.yaml"] + "---\n" + of["web/deployment.yaml"])})
	}
	sharedBy := func(file string, index int, other, route string) string {
		at := map[string]string{"rival": "rival", "web": "release"}[other]
		return fmt.Sprintf("web/%s.yaml:10: spec.strategy.traffic.routes[%d]: BatchRelease shop/%s in web/%s.yaml:1 also shares the requests for Service web in %s, "+
			"and a Service can be shared by one release only", file, index, other, at, route)
	}
	const (
		notNamed = "web/release.yaml:11: spec.strategy.traffic.routes[0].service: HTTPRoute shop/web in route.yaml:1: no rule refers to Service web"
		others   = "web/release.yaml:11: spec.strategy.traffic.routes[0].service: Service shop/web in service.yaml:1: the Service does not select the pods of Deployment web"
		namesake = "web/release.yaml:11: spec.strategy.traffic.routes[0].name: HTTPRoute web is not in the path: did you mean HTTPRoute shop in route.yaml:1, " +
			"which refers to Service web?"
	)
	for name, tc := range map[string]struct {
		before, after    files
		errors, warnings []string
	}{
		"None":                   {base, next, []string{}, []string{}},
		"RouteOfAnotherService":  {base, edited(base, "route.yaml", "[{name: web,", "[{name: api,"), []string{notNamed}, []string{}},
		"ThatWasSoBefore":        {edited(base, "route.yaml", "[{name: web,", "[{name: api,"), edited(next, "route.yaml", "[{name: web,", "[{name: api,"), []string{notNamed}, []string{}},
		"ServiceOfOtherPods":     {base, edited(base, "service.yaml", "app: web", "app: api"), []string{others}, []string{}},
		"RouteOfAnotherName":     {base, renamed(base), []string{}, []string{namesake}},
		"... of a release":       {renamed(base), renamed(next), []string{}, []string{namesake}},
		"... of one that stays":  {renamed(base), renamed(base).with(files{"readme.md": "new"}), []string{}, []string{}},
		"... that only moves":    {renamed(base), moved(renamed(base)), []string{}, []string{}},
		"... of one that is new": {files{}, renamed(base), []string{}, []string{namesake}},
		"MatchOfAll": {base, edited(httpOnly(base), "web/release.yaml", `headers: [{name: X-Canary, value: "yes"}]`, "path: {value: /}"), []string{}, []string{
			"web/release.yaml:14: spec.strategy.steps[0].matches[0]: sends all requests to the new version, and not 0% of them: " +
				"name a longer path, a header or a query parameter, or set traffic: 100%",
		}},
		"TwoReleasesOnOneRoute": {base, sharing(base), []string{
			sharedBy("release", 0, "rival", "HTTPRoute shop/web"), sharedBy("release", 1, "rival", "GRPCRoute edge/api"),
			sharedBy("rival", 0, "web", "HTTPRoute shop/web"), sharedBy("rival", 1, "web", "GRPCRoute edge/api"),
		}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown, err := preview.Compare(at(t, "a", tc.before), at(t, "b", tc.after), nil)
			if err != nil {
				t.Fatalf("compare: %v", err)
			}
			if diff := cmp.Diff(tc.errors, shown.Errors); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.warnings, shown.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if wants := len(tc.errors) > 0; (shown.Err() != nil) != wants {
				t.Errorf("the plan fails: %v, want that it does: %t", shown.Err(), wants)
			}
		})
	}
	shown, err := preview.Compare(at(t, "a", base), at(t, "b", edited(renamed(next), "service.yaml", "app: web", "app: api")), nil)
	if err != nil {
		t.Fatalf("compare: %v", err)
	}
	goldenOf(t, shown, "traffic-mistakes")
}
