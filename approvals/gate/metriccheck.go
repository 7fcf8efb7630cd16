package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// MetricCheck holds the queries and conditions of a metric, with all values in place.
type MetricCheck struct {
	v1alpha1.MetricCheck

	// Name is the name of the metric.
	Name string
	// Interval is the time between two measurements.
	Interval time.Duration
	// DryRun says that the metric decides nothing.
	DryRun bool
	// URL is the address of the graph of its queries; empty if there is none.
	URL string
}

// Digest tells two checks apart.
func (c MetricCheck) Digest() string {
	text, _ := json.Marshal(c.MetricCheck) // no field of it can fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Variables hold the values of the names that queries can have.
type Variables map[string]string

// VariablesOf returns the variables of a gate.
func VariablesOf(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) Variables {
	return Variables{
		"namespace": g.Namespace, "release": release.Name, "workload": release.Spec.WorkloadRef.Name,
		"revision": g.Spec.Revision, "stableRevision": release.Status.StableRevision,
	}
}

// builtIn are the names that each query can have.
var builtIn = []string{"namespace", "release", "workload", "revision", "stableRevision"}

// MetricChecks returns the checks of a gate's metrics. Path is that of the gate's policy.
func MetricChecks(policy *v1alpha1.MetricsGate, provider *v1alpha1.MetricProvider, variables Variables, path *field.Path) ([]MetricCheck, error) {
	var problems field.ErrorList
	checks := make([]MetricCheck, len(policy.Metrics))
	for i, metric := range policy.Metrics {
		at := path.Child("metrics").Index(i)
		check, values := metric.MetricCheck, variables
		if check.Compare == nil && check.Query == nil {
			shared, given, found := sharedMetric(provider, metric, variables, at)
			if problems = append(problems, found...); len(found) > 0 {
				continue
			}
			check, values = shared.MetricCheck, given
		}
		if check.Compare != nil && provider.Spec.Prometheus == nil {
			problems = append(problems, field.Forbidden(at, fmt.Sprintf("compare needs Prometheus, and provider %s is none", provider.Name)))
			continue
		}
		expanded, found := expand(check, values, provider.Spec.Prometheus != nil, at)
		if problems = append(problems, found...); len(found) == 0 {
			checks[i] = MetricCheck{MetricCheck: expanded, Name: metric.Name, Interval: MetricInterval(policy), DryRun: metric.DryRun, URL: graphOf(provider, expanded)}
		}
	}
	if err := problems.ToAggregate(); err != nil {
		return nil, err
	}
	return checks, nil
}

// sharedMetric returns a metric of a provider, and the values for its queries.
func sharedMetric(provider *v1alpha1.MetricProvider, metric v1alpha1.GateMetric, variables Variables, at *field.Path) (v1alpha1.SharedMetric, Variables, field.ErrorList) {
	i := slices.IndexFunc(provider.Spec.Metrics, func(s v1alpha1.SharedMetric) bool { return s.Name == metric.Name })
	if i < 0 {
		names := make([]string, len(provider.Spec.Metrics))
		for j := range names {
			names[j] = provider.Spec.Metrics[j].Name
		}
		detail := fmt.Sprintf("has neither compare nor query, and provider %s has no metric of that name: it has %s", provider.Name, anyNames(names))
		return v1alpha1.SharedMetric{}, nil, field.ErrorList{field.Invalid(at.Child("name"), metric.Name, detail)}
	}
	shared := provider.Spec.Metrics[i]
	if problems := ValidateCheck(&shared.MetricCheck, parameters(&shared), field.NewPath("MetricProvider "+provider.Name, "metrics", shared.Name)); len(problems) > 0 {
		return shared, nil, problems
	}
	values := maps.Clone(variables)
	var problems field.ErrorList
	for _, parameter := range shared.Arguments {
		if slices.Contains(builtIn, parameter.Name) {
			detail := fmt.Sprintf("argument %s of metric %s has the name of a variable of each release: rename it in provider %s", parameter.Name, metric.Name, provider.Name)
			problems = append(problems, field.Invalid(at.Child("arguments"), parameter.Name, detail))
		}
		given := slices.IndexFunc(metric.Arguments, func(a v1alpha1.MetricArgument) bool { return a.Name == parameter.Name })
		switch {
		case given >= 0:
			values[parameter.Name] = metric.Arguments[given].Value
		case parameter.Default != nil:
			values[parameter.Name] = *parameter.Default
		default:
			problems = append(problems, field.Required(at.Child("arguments"), "give "+parameter.Name+", which metric "+metric.Name+" takes"))
		}
	}
	for j, argument := range metric.Arguments {
		if !slices.Contains(parameters(&shared), argument.Name) {
			problems = append(problems, field.NotSupported(at.Child("arguments").Index(j).Child("name"), argument.Name, parameters(&shared)))
		}
	}
	return shared, values, problems
}

func anyNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func parameters(shared *v1alpha1.SharedMetric) []string {
	names := make([]string, len(shared.Arguments))
	for i := range names {
		names[i] = shared.Arguments[i].Name
	}
	return names
}

// placeholder matches $(name).
var placeholder = regexp.MustCompile(`\$\(([^)]*)\)`)

// unsafeInQuery are the characters that could end a text in a query, or begin another part of a
// path.
const unsafeInQuery = "\"'`\\#%&?"

// word matches the values that can stand outside of the texts of a PromQL query: a number, a
// duration or a name. Anything else would make another query of it.
var word = regexp.MustCompile(`^([-+]?[0-9][0-9a-zA-Z.]*(e[-+][0-9]+)?|[a-zA-Z_:][a-zA-Z0-9_:]*)$`)

// FitsAfter reports whether a value can stand in a PromQL query after the text before it.
func FitsAfter(before, value string) bool {
	if inText(before) {
		return true
	}
	return !slices.ContainsFunc(strings.Split(value, ","), func(part string) bool { return !word.MatchString(part) })
}

// inText reports whether a text of a PromQL query, or a comment, is open at its end.
func inText(query string) bool {
	open := byte(0)
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case open == '#' && c == '\n', open != 0 && open != '#' && c == open:
			open = 0
		case (open == '"' || open == '\'') && c == '\\':
			i++
		case open == 0 && strings.IndexByte("\"'`#", c) >= 0:
			open = c
		}
	}
	return open != 0
}

// expand puts the values into the queries of a check.
func expand(check v1alpha1.MetricCheck, values Variables, promQL bool, at *field.Path) (v1alpha1.MetricCheck, field.ErrorList) {
	expanded := *check.DeepCopy()
	var problems field.ErrorList
	for _, q := range queriesOf(&expanded, at) {
		var written strings.Builder
		end, query := 0, *q.text
		for _, place := range placeholder.FindAllStringSubmatchIndex(query, -1) {
			value, known := values[query[place[2]:place[3]]]
			match, before := query[place[0]:place[1]], query[:place[0]]
			switch {
			case !known:
				problems = append(problems, field.Invalid(q.path, match, "is no variable"))
			case strings.ContainsAny(value, unsafeInQuery) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
				problems = append(problems, field.Invalid(q.path, match, "its value has a quote, a backslash, a control character or one of # % & ?"))
			case promQL && !FitsAfter(before, value):
				problems = append(problems, field.Invalid(q.path, match, "it is not in quotes, and its value is neither a number, a duration nor a name"))
			}
			written.WriteString(query[end:place[0]] + value)
			end = place[1]
		}
		*q.text = written.String() + query[end:]
	}
	return expanded, problems
}

// queryAt is a query with its field.
type queryAt struct {
	text *string
	path *field.Path
}

// queriesOf returns the queries of a check.
func queriesOf(check *v1alpha1.MetricCheck, at *field.Path) []queryAt {
	var all []queryAt
	if c := check.Compare; c != nil {
		all = append(all, queryAt{&c.Requests, at.Child("compare", "requests")}, queryAt{&c.Errors, at.Child("compare", "errors")},
			queryAt{&c.Buckets, at.Child("compare", "buckets")})
	}
	if q := check.Query; q != nil {
		all = append(all, queryAt{&q.Query, at.Child("query", "query")})
	}
	return slices.DeleteFunc(all, func(q queryAt) bool { return *q.text == "" })
}

// maxURL is the length of an address in a status.
const maxURL = 2048

// graphOf returns the address of the graph of a check's queries; empty if it would be too long.
func graphOf(provider *v1alpha1.MetricProvider, check v1alpha1.MetricCheck) string {
	if provider.Spec.Prometheus == nil {
		return ""
	}
	query := url.Values{}
	for i, q := range queriesOf(&check, nil) {
		text := *q.text
		if check.Compare != nil {
			text = "rate((" + text + ")[5m:])"
		}
		query.Set(fmt.Sprintf("g%d.expr", i), text)
		query.Set(fmt.Sprintf("g%d.tab", i), "graph")
	}
	address := strings.TrimSuffix(provider.Spec.Prometheus.Address, "/") + "/graph?" + query.Encode()
	if len(address) > maxURL {
		return ""
	}
	return address
}
