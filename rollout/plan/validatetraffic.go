package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// validateTraffic checks the routes, and what steps say of requests.
func validateTraffic(strategy *v1alpha1.ReleaseStrategy, path *field.Path) field.ErrorList {
	steps, traffic := path.Child("steps"), path.Child("traffic")
	if strategy.Traffic == nil {
		return refuseTraffic(strategy.Steps, steps, "needs strategy.traffic, which names the routes")
	}
	problems := validateRoutes(strategy.Traffic, traffic)
	if !slices.ContainsFunc(strategy.Steps, saysTraffic) {
		problems = append(problems, field.Forbidden(traffic, "no step has traffic or matches, so that all requests would stay with the old "+
			"version until the last step: give steps a share such as traffic: 10%, or the last one traffic: 100% if that is meant"))
	}
	problems = append(problems, validateWeights(strategy, steps)...)
	for i := range strategy.Steps {
		problems = append(problems, validateMatches(strategy.Steps[i].Matches, strategy.Traffic.Routes, steps.Index(i).Child("matches"))...)
	}
	return problems
}

// saysTraffic reports whether a step says something of requests.
func saysTraffic(step v1alpha1.Step) bool { return step.Traffic != "" || len(step.Matches) > 0 }

// refuseTraffic refuses all that steps say of requests.
func refuseTraffic(steps []v1alpha1.Step, path *field.Path, why string) field.ErrorList {
	var problems field.ErrorList
	for i := range steps {
		if steps[i].Traffic != "" {
			problems = append(problems, field.Forbidden(path.Index(i).Child("traffic"), why))
		}
		if len(steps[i].Matches) > 0 {
			problems = append(problems, field.Forbidden(path.Index(i).Child("matches"), why))
		}
	}
	return problems
}

// validateRoutes refuses a route that is named twice, and a delay for pods that are not kept.
func validateRoutes(traffic *v1alpha1.Traffic, path *field.Path) field.ErrorList {
	if len(traffic.Routes) == 0 {
		return field.ErrorList{field.Required(path.Child("routes"), "at least one route")}
	}
	var problems field.ErrorList
	for i, route := range traffic.Routes {
		at := path.Child("routes").Index(i)
		if first := slices.Index(traffic.Routes, route); first < i {
			problems = append(problems, field.Forbidden(at, fmt.Sprintf("names the route and Service of routes[%d] again", first)))
		}
		if route.Kind == v1alpha1.RouteIngress && route.Namespace != "" {
			problems = append(problems, field.Forbidden(at.Child("namespace"), "an Ingress can only refer to Services of its own namespace: take namespace out"))
		}
	}
	if traffic.OldPodsDelaySeconds > 0 && !traffic.KeepOldPods {
		problems = append(problems, field.Forbidden(path.Child("oldPodsDelaySeconds"), "needs keepOldPods: true"))
	}
	return problems
}

// validateWeights refuses weights that fall, do not end with all requests, or exceed the share of
// the pods.
func validateWeights(strategy *v1alpha1.ReleaseStrategy, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	last, most := len(strategy.Steps)-1, int32(0)
	for i, step := range strategy.Steps {
		at := path.Index(i).Child("traffic")
		weight, err := v1alpha1.ParseTraffic(step.Traffic)
		switch {
		case step.Traffic == "":
		case err != nil:
			problems = append(problems, field.Invalid(at, step.Traffic, "must be a whole percentage from 0% to 100%"))
		case weight < most:
			problems = append(problems, field.Invalid(at, step.Traffic, "must not be less than in a step before it"))
		case i == last && weight != percent:
			problems = append(problems, field.Invalid(at, step.Traffic, "the last step gives the new version all requests: leave traffic out, or set 100%"))
		}
		most = max(most, weight)
		problems = append(problems, validateCapacity(&strategy.Steps[i], most, strategy.Traffic.AllowOverload, path.Index(i))...)
	}
	return problems
}

// validateCapacity refuses more requests than the step has pods for, as far as that is known
// without spec.replicas.
func validateCapacity(step *v1alpha1.Step, weight int32, overload bool, path *field.Path) field.ErrorList {
	pods, err := parseShare(step.Replicas)
	if err != nil {
		return nil // it is refused
	}
	var problems field.ErrorList
	own := step.Traffic != ""
	switch none := pods.value == 0; {
	case none && own && weight > 0:
		problems = append(problems, field.Invalid(path.Child("traffic"), step.Traffic, noPods))
	case none && weight > 0:
		problems = append(problems, field.Invalid(path.Child("replicas"), step.Replicas.String(), noPods))
	case pods.of == 0 || int64(weight) <= pods.value || overload:
	case own:
		detail := fmt.Sprintf("must not be more than the step's replicas, %s: set allowOverload: true in strategy.traffic if fewer pods can serve as many requests", step.Replicas.String())
		problems = append(problems, field.Invalid(path.Child("traffic"), step.Traffic, detail))
	default:
		detail := fmt.Sprintf("must not be less than the traffic that a step before it gives the new version, %d%%", weight)
		problems = append(problems, field.Invalid(path.Child("replicas"), step.Replicas.String(), detail))
	}
	if pods.value == 0 && len(step.Matches) > 0 {
		problems = append(problems, field.Forbidden(path.Child("matches"), noPods))
	}
	return problems
}

const noPods = "a step with replicas: 0 has no pods that could get requests"

// validateMatches refuses matches that a route of the kind does not support, and duplicates.
func validateMatches(matches []v1alpha1.RequestMatch, routes []v1alpha1.TrafficRoute, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	for i := range matches {
		match, at := &matches[i], path.Index(i)
		problems = append(problems, validateNames(match.Headers, at.Child("headers"), strings.ToLower)...)
		problems = append(problems, validateNames(match.QueryParams, at.Child("queryParams"), strings.Clone)...)
		if hasKind(routes, v1alpha1.RouteGRPC) || hasKind(routes, v1alpha1.RouteIngress) {
			problems = append(problems, headersOnly(match, at)...)
		}
	}
	if !hasKind(routes, v1alpha1.RouteIngress) {
		return problems
	}
	for i := range matches {
		if len(matches[i].Headers) > 1 {
			problems = append(problems, field.Forbidden(path.Index(i).Child("headers").Index(1), oneHeader))
		}
		if i > 0 {
			problems = append(problems, field.Forbidden(path.Index(i), oneHeader))
		}
	}
	return problems
}

const oneHeader = "an Ingress takes one match with one header: use an HTTPRoute for more"

// headersOnly refuses matches that only HTTPRoutes support.
func headersOnly(match *v1alpha1.RequestMatch, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	if match.Path != nil {
		problems = append(problems, field.Forbidden(path.Child("path"), forHTTPRoutes))
	}
	if len(match.QueryParams) > 0 {
		problems = append(problems, field.Forbidden(path.Child("queryParams"), forHTTPRoutes))
	}
	return problems
}

const forHTTPRoutes = "works only with HTTPRoutes: for a GRPCRoute or an Ingress, a match can name only headers"

func hasKind(routes []v1alpha1.TrafficRoute, kind v1alpha1.TrafficRouteKind) bool {
	return slices.ContainsFunc(routes, func(r v1alpha1.TrafficRoute) bool { return r.Kind == kind })
}

// validateNames refuses a header, or query parameter, that is compared twice: routes take no second
// one.
func validateNames(values []v1alpha1.ValueMatch, path *field.Path, same func(string) string) field.ErrorList {
	var problems field.ErrorList
	seen := map[string]bool{}
	for i, value := range values {
		if seen[same(value.Name)] {
			problems = append(problems, field.Duplicate(path.Index(i).Child("name"), value.Name))
		}
		seen[same(value.Name)] = true
	}
	return problems
}
