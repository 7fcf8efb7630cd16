package spec

import (
	"fmt"
	"regexp"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// The limits of the CRD.
const (
	maxRoutes    = 8
	maxMatches   = 8
	maxCompared  = 16
	maxHeader    = 256
	maxValue     = 1024
	maxDelay     = 7 * 24 * 60 * 60
	maxBetween   = 60 * 60
	notAbsolute  = "must be an absolute path as in a request, without //, /./, /../ and %2F"
	notPrintable = "must have no control characters"
)

// What the CRD has of texts.
var (
	share         = regexp.MustCompile(`^(100|[1-9]?[0-9])%$`)
	headerName    = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+\\-.^_`|~]+$")
	printable     = regexp.MustCompile(`^[^\x00-\x1f\x7f]+$`)
	pathOfURL     = regexp.MustCompile(`^/([-A-Za-z0-9/._~!$&()*+,;=:@]|%[0-9a-fA-F]{2})*$`)
	pathElsewhere = regexp.MustCompile(`//|/[.][.]?(/|$)|%2[fF]`)
)

// validateTraffic has the limits of the CRD; how routes and steps go together is plan's to say.
func validateTraffic(traffic *v1alpha1.Traffic, at *field.Path) field.ErrorList {
	if traffic == nil {
		return nil
	}
	var errs field.ErrorList
	if len(traffic.Routes) > maxRoutes {
		errs = append(errs, field.TooMany(at.Child("routes"), len(traffic.Routes), maxRoutes))
	}
	for i := range traffic.Routes {
		errs = append(errs, validateRoute(&traffic.Routes[i], at.Child("routes").Index(i))...)
	}
	errs = append(errs, validateSeconds(&traffic.OldPodsDelaySeconds, maxDelay, at.Child("oldPodsDelaySeconds"))...)
	errs = append(errs, validateSeconds(traffic.ReadySeconds, maxBetween, at.Child("readySeconds"))...)
	return append(errs, validateSeconds(traffic.DrainSeconds, maxBetween, at.Child("drainSeconds"))...)
}

func validateSeconds(seconds *int32, most int32, at *field.Path) field.ErrorList {
	if seconds == nil || *seconds >= 0 && *seconds <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(at, *seconds, fmt.Sprintf("must be from 0 to %d", most))}
}

func validateRoute(route *v1alpha1.TrafficRoute, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if route.Kind == "" {
		errs = append(errs, field.Required(at.Child("kind"), "HTTPRoute, GRPCRoute or Ingress"))
	}
	errs = append(errs, oneOf(route.Kind, at.Child("kind"), v1alpha1.RouteHTTP, v1alpha1.RouteGRPC, v1alpha1.RouteIngress)...)
	errs = append(errs, validateName(route.Name, at.Child("name"), "names the route", isSubdomain)...)
	errs = append(errs, validateName(route.Service, at.Child("service"), "names the Service that the route refers to", validation.IsDNS1123Label)...)
	if route.Namespace != "" {
		errs = append(errs, validateName(route.Namespace, at.Child("namespace"), "", validation.IsDNS1123Label)...)
	}
	return errs
}

func isSubdomain(name string) []string { return apivalidation.NameIsDNSSubdomain(name, false) }

func validateName(name string, at *field.Path, what string, wrong func(string) []string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(at, what)}
	}
	var errs field.ErrorList
	for _, reason := range wrong(name) {
		errs = append(errs, field.Invalid(at, name, reason))
	}
	return errs
}

// validateSharing has the limits of the CRD for what a step says of requests.
func validateSharing(step *v1alpha1.Step, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if step.Traffic != "" && !share.MatchString(step.Traffic) {
		errs = append(errs, field.Invalid(at.Child("traffic"), step.Traffic, "must be a whole percentage from 0% to 100%"))
	}
	if len(step.Matches) > maxMatches {
		errs = append(errs, field.TooMany(at.Child("matches"), len(step.Matches), maxMatches))
	}
	for i := range step.Matches {
		errs = append(errs, validateMatch(&step.Matches[i], at.Child("matches").Index(i))...)
	}
	return errs
}

func validateMatch(match *v1alpha1.RequestMatch, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if match.Path == nil && len(match.Headers) == 0 && len(match.QueryParams) == 0 {
		errs = append(errs, field.Required(at, "name a path, a header or a query parameter"))
	}
	if match.Path != nil {
		errs = append(errs, validatePath(match.Path, at.Child("path"))...)
	}
	errs = append(errs, validateCompared(match.Headers, at.Child("headers"))...)
	return append(errs, validateCompared(match.QueryParams, at.Child("queryParams"))...)
}

func validatePath(path *v1alpha1.PathMatch, at *field.Path) field.ErrorList {
	errs := oneOf(path.Type, at.Child("type"), v1alpha1.PathExact, v1alpha1.PathPrefix, v1alpha1.PathRegularExpression)
	errs = append(errs, validateValue(path.Value, at.Child("value"))...)
	if path.Type != v1alpha1.PathRegularExpression && (!pathOfURL.MatchString(path.Value) || pathElsewhere.MatchString(path.Value)) {
		errs = append(errs, field.Invalid(at.Child("value"), path.Value, notAbsolute))
	}
	return errs
}

// validateCompared checks headers or query parameters.
func validateCompared(values []v1alpha1.ValueMatch, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(values) > maxCompared {
		errs = append(errs, field.TooMany(at, len(values), maxCompared))
	}
	for i, value := range values {
		errs = append(errs, oneOf(value.Type, at.Index(i).Child("type"), v1alpha1.MatchExact, v1alpha1.MatchRegularExpression)...)
		errs = append(errs, validateValue(value.Value, at.Index(i).Child("value"))...)
		name := at.Index(i).Child("name")
		switch {
		case value.Name == "":
			errs = append(errs, field.Required(name, "names what is compared"))
		case len(value.Name) > maxHeader:
			errs = append(errs, field.TooLong(name, value.Name, maxHeader))
		case !headerName.MatchString(value.Name):
			errs = append(errs, field.Invalid(name, value.Name, "must be the name of a header or query parameter, such as x-canary"))
		}
	}
	return errs
}

func validateValue(value string, at *field.Path) field.ErrorList {
	switch {
	case value == "":
		return field.ErrorList{field.Required(at, "is compared with")}
	case len([]rune(value)) > maxValue:
		return field.ErrorList{field.TooLong(at, strings.ToValidUTF8(value, ""), maxValue)}
	case !printable.MatchString(value):
		return field.ErrorList{field.Invalid(at, value, notPrintable)}
	}
	return nil
}
