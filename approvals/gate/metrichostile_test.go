package gate_test

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/internal/plain"
)

// TestResultsAreSmall: a reading keeps of a result, and of an error that repeats it, a short line.
func TestResultsAreSmall(t *testing.T) {
	t.Parallel()
	hostile := "\x1b]0;owned\x07\n::error::" + strings.Repeat("x", 60_000)
	for condition, want := range map[string]v1alpha1.MeasurementOutcome{
		`{"a": 1}[result] == 1`: v1alpha1.MeasurementError,
		"int(result) == 1":      v1alpha1.MeasurementError,
		`result != "ok"`:        v1alpha1.MeasurementSuccessful,
	} {
		got := gate.ResultOf(&v1alpha1.QueryMetric{Success: condition}, hostile)
		if got.Outcome != want || plain.Line(got.Value) != got.Value || plain.Line(got.Why) != got.Why || len(got.Value) > 100 || len(got.Why) > 300 {
			t.Errorf("%s: got %s, %.200q, %.400q; want %s with harmless words", condition, got.Outcome, got.Value, got.Why, want)
		}
	}
}

// TestArgumentsOutOfQuotes: an argument of a shared metric makes no other query of it.
func TestArgumentsOutOfQuotes(t *testing.T) {
	t.Parallel()
	for query, values := range map[string]struct{ good, bad []string }{
		`max_over_time(errors{job="web"}[$(x)]) < 1`: {[]string{"5m", "1h30m"}, []string{"5m]) * 0 or vector(0) > max_over_time(up[5m", "5m] offset 1y", "", "5m or up"}},
		`errors / requests > $(x)`:                   {[]string{"0.05", "-1", "1e-3", "limit:of_shop"}, []string{"0 or up", "limit{a}", "(0)", "0-up", "5%"}},
		`sum by ($(x)) (errors)`:                     {[]string{"pod", "pod,code"}, []string{"pod) (up) or sum by (pod", "pod, code"}},
		`errors{job=~'it\'s $(x)'}`:                  {[]string{"web-(a|b) or [0-9]{3}"}, []string{"a'} or up{b='c"}},
		"errors{job=`\\`, code=\"$(x)\"}":            {[]string{"5.. or so"}, []string{`5"`}},
		"errors # since $(x)":                        {[]string{"the day before"}, []string{"x\ny"}},
		"errors # it's\n > $(x)":                     {[]string{"1"}, []string{"0 or up"}},
	} {
		provider := prometheus()
		provider.Spec.Metrics = []v1alpha1.SharedMetric{{Name: "own", Arguments: []v1alpha1.MetricParameter{{Name: "x"}}, MetricCheck: v1alpha1.MetricCheck{
			Query: &v1alpha1.QueryMetric{Query: query, Success: "result[0] < 1"},
		}}}
		for want, all := range map[bool][]string{true: values.good, false: values.bad} {
			for _, value := range all {
				policy := &v1alpha1.MetricsGate{Metrics: []v1alpha1.GateMetric{{Name: "own", Arguments: []v1alpha1.MetricArgument{{Name: "x", Value: value}}}}}
				checks, err := gate.MetricChecks(policy, provider, gate.Variables{}, nil)
				if (err == nil) != want {
					t.Errorf("%s with %q: got %v, want that it is taken: %t", query, value, err, want)
				}
				if want && err == nil && checks[0].Query.Query != strings.Replace(query, "$(x)", value, 1) {
					t.Errorf("%s with %q: got %s", query, value, checks[0].Query.Query)
				}
			}
		}
	}
}

// TestGuardWithoutData: a guard that has measured nothing ends with the release, without evidence.
func TestGuardWithoutData(t *testing.T) {
	t.Parallel()
	s := newMetricScene(t, v1alpha1.GateMetric{Name: "errors", Arguments: []v1alpha1.MetricArgument{job}}).guards()
	s.decide(s.troubled(0, v1alpha1.TroubleUnreachable))
	other := newMetricScene(t, v1alpha1.GateMetric{Name: "errors", Arguments: []v1alpha1.MetricArgument{job}}).guards()
	other.decide(other.look(5, 5))
	for want, scene := range []*metricScene{s, other} {
		scene.release.Status.Phase = v1alpha1.PhaseCompleted
		scene.decide()
		scene.want(v1alpha1.DecisionPassed, "no metric had failed")
		if got := len(scene.gate.Status.Evidence); got != want {
			t.Errorf("got %d facts of evidence, want %d: %v", got, want, scene.gate.Status.Evidence)
		}
	}
}
