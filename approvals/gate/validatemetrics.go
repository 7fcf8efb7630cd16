package gate

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/measure/condition"
)

// maxMetrics is the number of metrics of a gate.
const maxMetrics = 10

// validateMetrics says what is wrong with a metrics gate.
func validateMetrics(policy *v1alpha1.MetricsGate, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	if policy.Provider == "" {
		problems = append(problems, field.Required(path.Child("provider"), "name a MetricProvider"))
	}
	if n := len(policy.Metrics); n == 0 {
		problems = append(problems, field.Required(path.Child("metrics"), "name at least one metric"))
	} else if n > maxMetrics {
		problems = append(problems, field.TooMany(path.Child("metrics"), n, maxMetrics))
	}
	problems = append(problems, validateBetween(policy.Interval, time.Second, time.Hour, path.Child("interval"))...)
	problems = append(problems, validateBetween(policy.InitialDelay, 0, 24*time.Hour, path.Child("initialDelay"))...)
	for i := range policy.Metrics {
		metric, at := &policy.Metrics[i], path.Child("metrics").Index(i)
		if slices.ContainsFunc(policy.Metrics[:i], func(m v1alpha1.GateMetric) bool { return m.Name == metric.Name }) {
			problems = append(problems, field.Duplicate(at.Child("name"), metric.Name))
		}
		own := metric.Compare != nil || metric.Query != nil
		if own && len(metric.Arguments) > 0 {
			problems = append(problems, field.Forbidden(at.Child("arguments"), "only a metric of the provider takes arguments: remove compare and query, or the arguments"))
		}
		if own {
			problems = append(problems, ValidateCheck(&metric.MetricCheck, nil, at)...)
		}
	}
	return problems
}

// validateBetween says whether a duration is out of its range.
func validateBetween(d *metav1.Duration, least, most time.Duration, path *field.Path) field.ErrorList {
	if d != nil && (d.Duration < least || d.Duration > most) {
		return field.ErrorList{field.Invalid(path, d.Duration.String(), "must be from "+brief(least)+" to "+brief(most))}
	}
	return nil
}

// ValidateCheck says what is wrong with the check of a metric, whose queries can have arguments.
func ValidateCheck(check *v1alpha1.MetricCheck, arguments []string, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	switch {
	case check.Compare != nil && check.Query != nil:
		problems = append(problems, field.Forbidden(path, "has both compare and query: make the query a metric of its own"))
	case check.Compare == nil && check.Query == nil:
		problems = append(problems, field.Required(path, "has neither compare nor query"))
	}
	if check.Compare != nil {
		problems = append(problems, validateCompare(check.Compare, path.Child("compare"))...)
	}
	if check.Query != nil {
		problems = append(problems, validateQuery(check.Query, path.Child("query"))...)
	}
	known := append(slices.Clone(builtIn), arguments...)
	for _, q := range queriesOf(check.DeepCopy(), path) {
		for _, match := range placeholder.FindAllStringSubmatch(*q.text, -1) {
			if !slices.Contains(known, match[1]) {
				problems = append(problems, field.NotSupported(q.path, match[0], known))
			}
		}
		if match := template.FindString(*q.text); match != "" {
			problems = append(problems, field.Invalid(q.path, match, "is of Argo Rollouts or Flagger: write $(name) for a variable or an argument"))
		}
		if check.Compare != nil {
			problems = append(problems, validateCounter(q)...)
		}
	}
	return problems
}

// template matches a placeholder of other tools.
var template = regexp.MustCompile(`\{\{[^{}]*\}\}`)

// validateCounter says whether a query of a comparison gives no counters.
func validateCounter(q queryAt) field.ErrorList {
	for _, function := range []string{"rate", "irate", "increase", "delta"} {
		if strings.Contains(*q.text, function+"(") {
			detail := "must give counters: leave out " + function + " and its window. " +
				"The judge takes the increments itself, as windows that overlap count an error many times"
			return field.ErrorList{field.Invalid(q.path, *q.text, detail)}
		}
	}
	return nil
}

func validateCompare(policy *v1alpha1.CompareMetric, path *field.Path) field.ErrorList {
	problems := validateBetween(policy.Young, 0, time.Hour, path.Child("young"))
	byErrors, byBuckets := policy.Requests != "" && policy.Errors != "", policy.Buckets != ""
	if byErrors == byBuckets || byBuckets && policy.Requests+policy.Errors != "" {
		problems = append(problems, field.Forbidden(path, "needs requests and errors, or buckets alone"))
	}
	if policy.Worse != "" {
		if _, err := strconv.ParseFloat(policy.Worse, 64); err != nil || rulesOf(policy).Check() != nil {
			problems = append(problems, field.NotSupported(path.Child("worse"), policy.Worse, []string{"1.25", "1.5", "2", "3", "5", "10"}))
		}
	}
	if policy.Floor != "" {
		if floor, err := strconv.ParseFloat(policy.Floor, 64); err != nil || !(floor >= 0 && floor < 1) {
			problems = append(problems, field.Invalid(path.Child("floor"), policy.Floor, `must be a share of requests, such as "0.001"`))
		}
	}
	return problems
}

func validateQuery(policy *v1alpha1.QueryMetric, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	if policy.Query == "" {
		problems = append(problems, field.Required(path.Child("query"), "a PromQL query, or the path on an http provider"))
	}
	if policy.Success == "" && policy.Failure == "" {
		problems = append(problems, field.Required(path, "a query needs a condition: success, failure, or both"))
	}
	for name, text := range map[string]string{"success": policy.Success, "failure": policy.Failure} {
		if text == "" {
			continue
		}
		if _, err := condition.Compile(text); err != nil {
			problems = append(problems, field.Invalid(path.Child(name), text, "write it in CEL (docs/migration.md#conditions): "+err.Error()))
		}
	}
	if policy.Count != nil && *policy.Count == 0 && policy.Successes == nil {
		problems = append(problems, field.Invalid(path.Child("count"), 0, "without a count, the metric needs successes to ever pass"))
	}
	return problems
}
