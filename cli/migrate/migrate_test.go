package migrate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestOffersToCompare: compare can judge a share of failed requests, and a quantile of latency.
func TestOffersToCompare(t *testing.T) {
	t.Parallel()
	ratio := func(above, below string) string {
		return "sum(rate(" + above + "[5m])) / sum(rate(" + below + "[5m]))"
	}
	requests, failed := `sum by (pod) (x{a="b"})`, `sum by (pod) (x{a="b", code=~"5.."})`
	errors := &v1alpha1.CompareMetric{Requests: requests, Errors: failed}
	for query, want := range map[string]*v1alpha1.CompareMetric{
		ratio(`x{a="b",code=~"5.."}`, `x{a="b"}`):                              errors,
		ratio(`x{a="b",code!~"5.."}`, `x{a="b"}`):                              errors,
		"100 - " + ratio(`x{a="b",code!~"5.."}`, `x{a="b"}`) + " * 100":        errors,
		"1 - " + ratio(`x{a="b",code!~"5.."}`, `x{a="b"}`):                     errors,
		ratio(`x{a="b",code=~"2.."}`, `x{a="b"}`):                              {Requests: requests, Errors: `sum by (pod) (x{a="b", code!~"2.."})`},
		ratio(`x{code!="OK"}`, `y`):                                            {Requests: "sum by (pod) (y)", Errors: `sum by (pod) (x{code!="OK"})`},
		ratio(`x{hash="$(revision)",code=~"[45].."}`, `x{hash="$(revision)"}`): {Requests: "sum by (pod) (x)", Errors: `sum by (pod) (x{code=~"[45].."})`},
		ratio(`x{pod_name="$(workload)-.*",status="failure"}`, `x{pod_name="$(workload)-.*"}`): {
			Requests: `sum by (pod_name) (x{pod_name="$(workload)-.*"})`, Errors: `sum by (pod_name) (x{pod_name="$(workload)-.*", status="failure"})`, PodLabel: "pod_name",
		},
		"histogram_quantile(0.99, sum(rate(x_bucket{a='b'}[$(i)])) by (le)) * 1000":  {Buckets: `sum by (pod, le) (x_bucket{a='b'})`},
		"histogram_quantile(\n0.9, sum by (le) (increase(x_bucket{a=`b`,}[5m:1m])))": {Buckets: "sum by (pod, le) (x_bucket{a=`b`})"},

		ratio(`x{a="b",code=~"5.."}`, `x{a="c"}`):                      nil, // of other requests
		ratio(`x{a="b",code=~"5..",d="e"}`, `x{a="b"}`):                nil, // more is selected
		ratio(`x{team="shop"}`, `x`):                                   nil, // by team
		ratio(`x{a="b",code=~"5.."}`, `x{a="b"}`) + " > 0.5":           nil,
		"sum by (a) (rate(x{code=~\"5..\"}[5m])) / sum(rate(x[5m]))":   nil,
		"sum(x{code=~\"5..\"}) / sum(x)":                               nil,
		"avg(rate(x{code=~\"5..\"}[5m])) / avg(rate(x[5m]))":           nil,
		"histogram_quantile(0.99, sum(rate(x[5m])) by (le))":           nil,
		"histogram_quantile(0.99, sum(rate(x_bucket[5m])) by (le, a))": nil,
		"up": nil, "": nil, "sum(": nil, "x{": nil, `x{a="`: nil, "100 -": nil, "sum(rate(x[5m": nil,
	} {
		if diff := cmp.Diff(want, compareOf(query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

// TestPlainPaths: plain paths of JSONPath are read, and no others.
func TestPlainPaths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]any{
		"{$}": {}, "{}": {}, "{$.data.ok}": {"data", "ok"}, "{.a-b[0]['c.d'][\"e\"]}": {"a-b", 0, "c.d", "e"}, "{ $['a'] }": {"a"},
		"$.data": nil, "{$.data[*]}": nil, "{$..a}": nil, "{$.a[-1]}": nil, "{$.a[?(@.b)]}": nil, "{$.a}{$.b}": nil, "": nil, "{$.a": nil, "{$.a[99999999999]}": nil, "{$.a[0:2]}": nil, `{$.a\.b}`: nil,
	} {
		got, is := pathOf(text)
		if is != (want != nil) || is && fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: want %v, got %v, %t", text, want, got, is)
		}
	}
}

// TestNames: names of the input become names that objects can have, each its own.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"success-rate": "success-rate", "404s percentage": "404s-percentage", "A_b.C": "a-b-c", "--x--": "x", "🚀": "metric", "": "metric", hostile: "x-apiversion-v1-kind-secret-metadata-name-owned-0-owned-error-f",
		strings.Repeat("a", 62) + "-b": strings.Repeat("a", 62),
	} {
		if got := labelOf(name, "metric"); got != want || !isLabel(got) {
			t.Errorf("%q: want %q, got %q", name, want, got)
		}
	}
	for name, want := range map[string]string{"service-name": "service-name", "the.team": "the-team", "9lives": "lives", "": "argument", "ü": "argument", strings.Repeat("x", 100): strings.Repeat("x", 63)} {
		if got := parameterOf(name); got != want || !parameter.MatchString(got) {
			t.Errorf("%q: want %q, got %q", name, want, got)
		}
	}
	var taken []string
	for range 12 {
		taken = append(taken, free(strings.Repeat("a", 63), func(name string) bool { return slices.Contains(taken, name) }))
	}
	if last := taken[11]; last != strings.Repeat("a", 60)+"-12" {
		t.Errorf("want names that are not taken, got %v", taken)
	}
}

// TestManyMetrics: a gate has up to 10 metrics, and a provider up to 50. Metrics of one name keep
// their own.
func TestManyMetrics(t *testing.T) {
	t.Parallel()
	var metrics []string
	for i := range 60 {
		metrics = append(metrics, fmt.Sprintf(`{"name": "m%d", "successCondition": "result[0] > %d", "provider": {"prometheus": {"address": "http://x", "query": "up"}}}`, i/2, i))
	}
	template := func(name string) string {
		return `{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "` + name + `"}, "spec": {"metrics": [` + strings.Join(metrics, ",") + `]}}`
	}
	result, unread := Analyses([]File{{"x.yaml", []byte(template("a") + "\n---\n" + template("b"))}}, Options{})
	if unread != nil {
		t.Fatal(unread)
	}
	wantValid(t, result)
	count := 0
	for _, p := range result.providers {
		count += len(p.Spec.Metrics)
	}
	if len(result.gates) != 2 || result.Metrics != 120 || count < 60 || len(result.providers) < 2 {
		t.Errorf("want all metrics in providers and gates, got %d providers with %d metrics, and gates of %d analyses", len(result.providers), count, len(result.gates))
	}
}

// TestArguments: arguments of the command line come before those of a Rollout, and those before
// defaults.
func TestArguments(t *testing.T) {
	t.Parallel()
	template := `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: x}
spec:
  args: [{name: a, value: preset}, {name: b, value: preset}, {name: c, value: preset}, {name: d}, {name: hash}]
  metrics:
  - {name: m, successCondition: 'result[0] > 0', provider: {prometheus: {address: 'http://x', query: 'm{a="{{args.a}}",b="{{args.b}}",c="{{args.c}}",d="{{args.d}}",h="{{args.hash}}"}'}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: x}
spec: {strategy: {blueGreen: {prePromotionAnalysis: {templates: [{templateName: x}], args: [{name: a, value: rollout}, {name: b, value: rollout}]}}}}
`
	result, unread := Analyses([]File{{"x.yaml", []byte(template)}}, Options{Arguments: map[string]string{"a": "given", "hash": "$(stableRevision)", "typo": "x"}})
	if unread != nil {
		t.Fatal(unread)
	}
	output := wantValid(t, result)
	want := []v1alpha1.MetricArgument{{Name: "a", Value: "given"}, {Name: "b", Value: "rollout"}}
	if got := result.gates[0].policies[0].Metrics.Metrics[0].Arguments; !slices.Equal(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
	if !strings.Contains(output, `m{a="$(a)",b="$(b)",c="$(c)",d="$(d)",h="$(stableRevision)"}`) {
		t.Errorf("want the arguments in the query, got:\n%s", output)
	}
	for _, says := range []string{"left out: --arg typo: no template", "left out: spec.args[3]: has no value: give --arg d=VALUE"} {
		if !strings.Contains(list(result), says) {
			t.Errorf("want %q reported, got:\n%s", says, list(result))
		}
	}
}

// TestFieldsThatAreWrong: a field of a wrong type or value is reported, and named.
func TestFieldsThatAreWrong(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate"}`:                                                  "has no spec",
		`{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "spec": []}`:                                      "spec: is not an object",
		`{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "spec": {"metrics": {}}}`:                         "spec.metrics: is not a list",
		`{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "spec": {"metrics": ["x"]}}`:                      "spec.metrics[0]: is not an object",
		`{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "spec": {"args": [{"name": "\u202e"}]}}`:          "spec.args[0].name: has characters that are not visible",
		`{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "spec": {"dryRun": [{"metricName": "("}]}}`:       "is not a regular expression",
		`{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"namespace": "A b"}, "spec": {}}`:    "metadata.namespace: is not the name of a namespace",
		`{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun", "spec": {}}`:                                           "AnalysisRun is made for one release",
		`{"apiVersion": "flagger.app/v1beta1", "kind": "Canary", "spec": {"analysis": {"threshold": "x", "interval": "1y"}}}`: "spec.analysis.threshold: is not a whole number",
		`{"apiVersion": "flagger.app/v1beta1", "kind": "Canary", "spec": {"analysis": {"interval": "1y"}}}`:                   "spec.analysis.interval: is not a duration",
		`["x"]`: "is not a Kubernetes object",
		metricOf(`{"prometheus": {"address": "ftp://x", "query": "up"}}`):                                                                       "address: is not a URL",
		metricOf(`{"prometheus": {"address": "http://x?a=b", "query": "up"}}`):                                                                  "address: has a query or a fragment",
		metricOf(`{"prometheus": {"address": "http://x", "query": ""}}`):                                                                        "query: is empty",
		metricOf(`{"prometheus": {"address": "http://x", "query": "a{b=\"$(c)\"}"}}`):                                                           "query: has $( in it",
		metricOf(`{"prometheus": {"address": "http://x", "query": "{{ args.c }}"}}`):                                                            "query: names an argument that the template does not have",
		metricOf(`{"prometheus": {"address": "http://x", "query": "{{ args.c "}}`):                                                              "query: has {{ without an argument",
		metricOf(`{"prometheus": {"address": "http://x", "query": "` + strings.Repeat("x", 2049) + `"}}`):                                       "has a query of more than 2048 characters",
		metricOf(`{"prometheus": {"address": "http://x", "query": "up", "insecure": "maybe"}}`):                                                 "insecure: is neither true nor false",
		metricOf(`{"prometheus": {"address": "http://x", "query": "up", "headers": [{"key": "a b"}]}}`):                                         "key: is not the name of a header",
		metricOf(`{"prometheus": {"address": "http://x", "query": "up", "headers": [{"key": "a", "value": "1"}, {"key": "A", "value": "2"}]}}`): "sends up to 10 headers, each once",
		metricOf(`{"web": {"url": "http://x/a/../b"}}`):                                                                                         "url: Sluice can't request it",
		metricOf(`{"web": {"url": "/a"}}`):                                                                                                      "url: is not a URL whose server can be told from the path",
	} {
		result, unread := Analyses([]File{{"x.yaml", []byte(text)}}, Options{})
		if unread != nil {
			t.Errorf("%s: %v", text, unread)
			continue
		}
		wantValid(t, result)
		if !strings.Contains(list(result), says) {
			t.Errorf("%s: want %q reported, got:\n%s", text, says, list(result))
		}
	}
}
