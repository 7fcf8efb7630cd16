package gate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/judge"
)

// prometheus returns a provider with a metric that takes an argument.
func prometheus() *v1alpha1.MetricProvider {
	p := &v1alpha1.MetricProvider{}
	p.Name = "prometheus"
	p.Spec.Prometheus = &v1alpha1.MetricServer{Address: "http://prometheus:9090"}
	p.Spec.Metrics = []v1alpha1.SharedMetric{{
		Name: "errors", Arguments: []v1alpha1.MetricParameter{{Name: "job"}, {Name: "code", Default: new("5..")}},
		MetricCheck: v1alpha1.MetricCheck{Compare: &v1alpha1.CompareMetric{
			Requests: `sum by (pod) (requests{namespace="$(namespace)",job="$(job)"})`, Errors: `sum by (pod) (requests{job="$(job)",code=~"$(code)"})`,
		}},
	}}
	return p
}

func ofProvider(arguments ...v1alpha1.MetricArgument) v1alpha1.GateMetric {
	return v1alpha1.GateMetric{Name: "errors", Arguments: arguments}
}

func queried(name, success, failure string, change ...func(*v1alpha1.QueryMetric)) v1alpha1.GateMetric {
	q := &v1alpha1.QueryMetric{Query: "up", Success: success, Failure: failure}
	for _, c := range change {
		c(q)
	}
	return v1alpha1.GateMetric{Name: name, MetricCheck: v1alpha1.MetricCheck{Query: q}}
}

// metricScene is a metrics gate that its release waits for.
type metricScene struct {
	*testing.T
	gate    *v1alpha1.Gate
	release *v1alpha1.BatchRelease
	checks  []gate.MetricCheck
	at      time.Time
}

func newMetricScene(t *testing.T, metrics ...v1alpha1.GateMetric) *metricScene {
	t.Helper()
	policy := v1alpha1.GatePolicy{Metrics: &v1alpha1.MetricsGate{Provider: "prometheus", Metrics: metrics}}
	g := &v1alpha1.Gate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-7f-1-0-0", UID: "gate"}, Spec: v1alpha1.GateSpec{
		ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: "release"}, Revision: "7f", Attempt: 1, Type: v1alpha1.GateMetrics, Policy: policy,
	}}
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "release"}}
	release.Spec.WorkloadRef.Name = "web"
	release.Spec.Strategy.Steps = []v1alpha1.Step{{Gates: []v1alpha1.GatePolicy{policy}}}
	release.Status.Attempt, release.Status.UpdateRevision, release.Status.StableRevision = 1, "7f", "6e"
	release.Status.Gates = []v1alpha1.GateReference{{Name: g.Name, Type: v1alpha1.GateMetrics}}
	checks, err := gate.MetricChecks(policy.Metrics, prometheus(), gate.VariablesOf(g, release), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &metricScene{t, g, release, checks, time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
}

// guards makes the gate a guard of the release.
func (s *metricScene) guards() *metricScene {
	s.gate.Spec.Index = v1alpha1.GuardIndex
	s.release.Spec.Strategy.Guards = []v1alpha1.GatePolicy{s.gate.Spec.Policy}
	s.release.Status.Guards, s.release.Status.Gates = s.release.Status.Gates, nil
	return s
}

// decide judges the gate by readings, and records the decision.
func (s *metricScene) decide(readings ...gate.MetricReading) v1alpha1.GateStatus {
	facts := gate.Facts{Release: s.release, Metrics: &gate.MetricFacts{Checks: s.checks, Readings: readings}}
	s.gate.Status = gate.Evaluate(s.gate, facts, s.at).Status
	return s.gate.Status
}

// reading returns the next reading of a metric.
func (s *metricScene) reading(metric int, fill func(*gate.MetricReading)) gate.MetricReading {
	s.at = s.at.Add(15 * time.Second)
	r := gate.MetricReading{Metric: s.checks[metric].Name, Digest: s.checks[metric].Digest(), At: s.at}
	fill(&r)
	return r
}

func (s *metricScene) result(metric int, result any) gate.MetricReading {
	return s.reading(metric, func(r *gate.MetricReading) { r.Result = gate.ResultOf(s.checks[metric].Query, result) })
}

// look returns a reading in which each version has served 1,000 requests.
func (s *metricScene) look(newErrors, oldErrors float64) gate.MetricReading {
	return s.reading(0, func(r *gate.MetricReading) {
		old := make([]judge.Part, 4)
		for i := range old {
			old[i] = judge.Part{Count: judge.Count{Requests: 250, Errors: oldErrors / 4}, Pods: 1}
		}
		r.Looks = []gate.BoundLook{{Look: judge.Look{New: judge.Count{Requests: 1000, Errors: newErrors}, NewPods: 4, Old: old}}}
	})
}

func (s *metricScene) troubled(metric int, trouble v1alpha1.MetricTrouble) gate.MetricReading {
	return s.reading(metric, func(r *gate.MetricReading) { r.Trouble, r.Message = trouble, "no answer" })
}

func (s *metricScene) want(decision v1alpha1.Decision, says string) {
	s.Helper()
	if got := s.gate.Status; got.Decision != decision || !strings.Contains(got.Message, says) {
		s.Errorf("gate is %s: %s; want %s with %q", got.Decision, got.Message, decision, says)
	}
}

var job = v1alpha1.MetricArgument{Name: "job", Value: "web"}

// TestCompare: a worse version is rejected, and one that is as good passes, by looks alone.
func TestCompare(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		errors float64
		want   v1alpha1.Decision
		says   string
	}{
		"worse": {50, v1alpha1.DecisionRejected, "errors: worse: new "},
		"fine":  {8, v1alpha1.DecisionPassed, "errors: fine: new "},
	} {
		s := newMetricScene(t, ofProvider(job))
		looks := 0
		for s.gate.Status.Decision == "" || s.gate.Status.Decision == v1alpha1.DecisionWaiting {
			if looks++; looks > 200 {
				t.Fatalf("%s: no decision after 200 looks: %s", name, s.gate.Status.Message)
			}
			s.decide(s.look(tc.errors, 8))
		}
		s.want(tc.want, tc.says)
		c := s.gate.Status.Metrics[0].Compared
		if looks < 8 || c.New.Requests != int64(looks)*1000 || c.Looks != int64(looks) || len(c.Trail) == 0 || len(c.Trail) > 32 {
			t.Errorf("%s: after %d looks it has %+v", name, looks, c)
		}
		if len(s.gate.Status.Evidence) != 1 || !strings.HasPrefix(s.gate.Status.Evidence[0].URL, "http://prometheus:9090/graph?g0.expr=") {
			t.Errorf("%s: evidence %+v", name, s.gate.Status.Evidence)
		}
	}
}

// TestReadingsCountOnce: a reading that is part of the status does not count again, nor does one of
// another check, or of a time before.
func TestReadingsCountOnce(t *testing.T) {
	t.Parallel()
	s := newMetricScene(t, ofProvider(job))
	first, second := s.look(10, 10), s.look(10, 10)
	s.decide(first, second)
	once := s.gate.Status.Metrics[0].Compared
	other := s.look(1000, 0)
	other.Digest = "other"
	s.decide(first, second, second, other)
	if got := s.gate.Status.Metrics[0].Compared; got.Looks != 2 || got.New != once.New || got.Bounds[0] != once.Bounds[0] {
		t.Errorf("has %+v after the same readings, had %+v", got, once)
	}
	if left := gate.Unrecorded(s.gate, []gate.MetricReading{first, second, other}); len(left) != 1 {
		t.Errorf("%d readings are not recorded, want the one of another check", len(left))
	}
}

// TestNothingMeasured: a gate that can't be measured neither passes nor is rejected.
func TestNothingMeasured(t *testing.T) {
	t.Parallel()
	for _, trouble := range []v1alpha1.MetricTrouble{
		v1alpha1.TroubleUnreachable, v1alpha1.TroubleUnauthorised, v1alpha1.TroubleMisconfigured, v1alpha1.TroubleBadQuery, v1alpha1.TroubleBadAnswer,
		v1alpha1.TroubleNoData, v1alpha1.TroubleStale, v1alpha1.TroubleNoOldPods, v1alpha1.TroubleNoNewPods,
	} {
		s := newMetricScene(t, ofProvider(job), queried("up", "result[0] == 1.0", ""))
		for range 1000 {
			s.decide(s.troubled(0, trouble), s.troubled(1, trouble))
		}
		s.want(v1alpha1.DecisionWaiting, "no answer")
		if got := s.gate.Status; got.Undecided || got.Metrics[0].Trouble != trouble || got.Metrics[1].Trouble != trouble {
			t.Errorf("%s: status %+v", trouble, got)
		}
	}
}

// TestLimits: a query counts its measurements, and passes or fails by its limits.
func TestLimits(t *testing.T) {
	t.Parallel()
	value := func(v float64) any { return []float64{v} }
	limit := func(set func(*v1alpha1.QueryMetric)) func(*v1alpha1.QueryMetric) { return set }
	type metric = v1alpha1.QueryMetric
	for name, tc := range map[string]struct {
		success, failure string
		change           []func(*metric)
		results          []any
		want             v1alpha1.Decision
		undecided        bool
	}{
		"one success":              {"result[0] > 0.5", "", nil, []any{value(1)}, v1alpha1.DecisionPassed, false},
		"one failure":              {"result[0] > 0.5", "", nil, []any{value(0)}, v1alpha1.DecisionRejected, false},
		"failure alone":            {"", "result[0] < 0.5", nil, []any{value(1)}, v1alpha1.DecisionPassed, false},
		"failure before success":   {"true", "true", nil, []any{value(1)}, v1alpha1.DecisionRejected, false},
		"neither":                  {"result[0] > 0.9", "result[0] < 0.1", nil, []any{value(0.5)}, v1alpha1.DecisionWaiting, true},
		"no series":                {"result[0] > 0.5", "", nil, []any{[]float64{}}, v1alpha1.DecisionWaiting, true},
		"not a number":             {"result[0] > 0.5", "", nil, []any{value(nan)}, v1alpha1.DecisionWaiting, true},
		"no value is good":         {"result[0] > 0.5", "", []func(*metric){limit(func(q *metric) { q.Empty = v1alpha1.EmptySuccessful })}, []any{nil}, v1alpha1.DecisionPassed, false},
		"no value is bad":          {"result[0] > 0.5", "", []func(*metric){limit(func(q *metric) { q.Empty = v1alpha1.EmptyFailed })}, []any{[]float64{}}, v1alpha1.DecisionRejected, false},
		"no value is measured":     {"size(result) == 0", "", []func(*metric){limit(func(q *metric) { q.Empty = v1alpha1.EmptyMeasured })}, []any{[]float64{}}, v1alpha1.DecisionPassed, false},
		"two of three may fail":    {"result[0] > 0.5", "", []func(*metric){count(3), failures(2)}, []any{value(0), value(0), value(1)}, v1alpha1.DecisionPassed, false},
		"three of three fail":      {"result[0] > 0.5", "", []func(*metric){count(3), failures(2)}, []any{value(0), value(0), value(0)}, v1alpha1.DecisionRejected, false},
		"any may fail":             {"result[0] > 0.5", "", []func(*metric){count(2), failures(-1)}, []any{value(0), value(0)}, v1alpha1.DecisionPassed, false},
		"two in a row":             {"result[0] > 0.5", "", []func(*metric){count(0), failures(-1), row(2)}, []any{value(1), value(0), value(1), value(1)}, v1alpha1.DecisionPassed, false},
		"not in a row":             {"result[0] > 0.5", "", []func(*metric){count(0), failures(-1), row(2)}, []any{value(1), value(0), value(1)}, v1alpha1.DecisionWaiting, false},
		"two in a row alone":       {"result[0] > 0.5", "", []func(*metric){failures(-1), row(2)}, []any{value(1), value(0), value(1), value(1)}, v1alpha1.DecisionPassed, false},
		"never two in a row":       {"result[0] > 0.5", "", []func(*metric){count(3), failures(-1), row(2)}, []any{value(1), value(0), value(1)}, v1alpha1.DecisionWaiting, true},
		"errors have no limit":     {"result[0] > 0.5", "", []func(*metric){count(2)}, []any{value(1), fail, fail, fail, value(1)}, v1alpha1.DecisionPassed, false},
		"errors beyond a limit":    {"result[0] > 0.5", "", []func(*metric){count(9), func(q *metric) { q.ErrorLimit = new(int32(2)) }}, []any{fail, fail, value(1), fail, fail, fail}, v1alpha1.DecisionWaiting, true},
		"a condition that errs":    {"result[7] > 0.5", "", nil, []any{value(1)}, v1alpha1.DecisionWaiting, false},
		"a scalar":                 {"result > 0.5", "", nil, []any{1.0}, v1alpha1.DecisionPassed, false},
		"JSON":                     {"result.ok && result.errors < 3.0", "", nil, []any{map[string]any{"ok": true, "errors": 2.0}}, v1alpha1.DecisionPassed, false},
		"JSON without a field":     {"result.ok", "", nil, []any{map[string]any{}}, v1alpha1.DecisionWaiting, false},
		"inconclusive is allowed":  {"result[0] > 0.9", "result[0] < 0.1", []func(*metric){count(2), func(q *metric) { q.InconclusiveLimit = new(int32(-1)) }}, []any{value(0.5), value(1)}, v1alpha1.DecisionPassed, false},
		"an infinite value counts": {"result[0] > 0.5", "", nil, []any{value(inf)}, v1alpha1.DecisionPassed, false},
	} {
		s := newMetricScene(t, queried("saturation", tc.success, tc.failure, tc.change...))
		for _, result := range tc.results {
			if result == fail {
				s.decide(s.troubled(0, v1alpha1.TroubleUnreachable))
				continue
			}
			s.decide(s.result(0, result))
		}
		if got := s.gate.Status; got.Decision != tc.want || got.Undecided != tc.undecided {
			t.Errorf("%s: gate is %s, undecided %t: %s; want %s, %t", name, got.Decision, got.Undecided, got.Message, tc.want, tc.undecided)
		}
	}
}

// TestUndecided: a gate that its metrics can't decide is decided by the answer of a user, which
// counts only from then on.
func TestUndecided(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[v1alpha1.Verdict]v1alpha1.Decision{
		v1alpha1.VerdictApprove: v1alpha1.DecisionPassed, v1alpha1.VerdictReject: v1alpha1.DecisionRejected,
	} {
		s := newMetricScene(t, queried("saturation", "result[0] > 0.9", "result[0] < 0.1"))
		s.release.Status.Answers = []v1alpha1.Answer{{Gate: s.gate.UID, Verdict: verdict, By: "ada"}}
		s.decide()
		s.want(v1alpha1.DecisionWaiting, "not measured yet")
		s.decide(s.result(0, []float64{0.5}))
		s.want(v1alpha1.DecisionWaiting, "decide yourself: sluice approve web -n shop")
		if !s.gate.Status.Undecided || !s.gate.TakesAnswers() || gate.Measures(s.gate, s.release) {
			t.Error("the gate is not undecided, or measures on")
		}
		s.decide()
		s.want(want, "by ada")
		if len(s.gate.Status.Metrics) != 1 || s.gate.Status.Metrics[0].Measured.Inconclusive != 1 {
			t.Errorf("measurements are lost: %+v", s.gate.Status.Metrics)
		}
	}
}

// TestDryRun: a metric of a dry run is measured, and decides nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	bad, good := queried("bad", "false", ""), queried("good", "true", "")
	bad.DryRun = true
	s := newMetricScene(t, bad, good)
	s.decide(s.result(0, 1.0))
	s.want(v1alpha1.DecisionWaiting, "good: not measured yet")
	s.decide(s.result(1, 1.0))
	s.want(v1alpha1.DecisionPassed, "good: 1 successful")
	if got := s.gate.Status.Metrics[0].Outcome; got != v1alpha1.MetricFailed {
		t.Errorf("the dry run has come to %q", got)
	}
}

// TestGuard: a guard watches until the release is completed. It rejects at any moment.
func TestGuard(t *testing.T) {
	t.Parallel()
	s := newMetricScene(t, ofProvider(job)).guards()
	for range 100 {
		s.decide(s.look(8, 8))
	}
	s.want(v1alpha1.DecisionWaiting, "errors: fine")
	before := s.gate.DeepCopy()
	for range 100 {
		s.decide(s.look(80, 8))
	}
	s.want(v1alpha1.DecisionRejected, "worse")
	s.gate = before
	s.release.Status.Phase = v1alpha1.PhaseCompleted
	s.decide()
	s.want(v1alpha1.DecisionPassed, "no metric had failed")
	if gate.Measures(s.gate, s.release) {
		t.Error("the guard of a completed release measures")
	}
}

// TestForeignMetricsGate: a gate whose policy is not the release's measures nothing, and does not
// pass: a user who may create Gates would choose the queries.
func TestForeignMetricsGate(t *testing.T) {
	t.Parallel()
	s := newMetricScene(t, queried("saturation", "true", ""))
	s.release.Spec.Strategy.Steps[0].Gates = nil
	s.decide(s.result(0, 1.0))
	s.want(v1alpha1.DecisionWaiting, "the release does not have this gate")
	if gate.Measures(s.gate, s.release) {
		t.Error("it is measured")
	}
}

// TestMetricChecks: a gate takes the metrics of its provider, with the values in place, and names
// each mistake with its field.
func TestMetricChecks(t *testing.T) {
	t.Parallel()
	s := newMetricScene(t, ofProvider(job))
	if got, want := s.checks[0].Compare.Errors, `sum by (pod) (requests{job="web",code=~"5.."})`; got != want {
		t.Errorf("errors are %s, want %s", got, want)
	}
	own := func(query string) v1alpha1.GateMetric {
		return v1alpha1.GateMetric{Name: "own", MetricCheck: v1alpha1.MetricCheck{Query: &v1alpha1.QueryMetric{Query: query, Success: "true"}}}
	}
	for name, tc := range map[string]struct {
		metric v1alpha1.GateMetric
		says   string
	}{
		"no argument":      {ofProvider(), "arguments: Required value: give job"},
		"another argument": {ofProvider(job, v1alpha1.MetricArgument{Name: "team"}), `arguments[1].name: Unsupported value: "team"`},
		"no such metric":   {v1alpha1.GateMetric{Name: "latency"}, "no metric of that name: it has errors"},
		"a quote":          {ofProvider(v1alpha1.MetricArgument{Name: "job", Value: `web"} or vector(0) #`}), "has a quote"},
		"a backslash":      {ofProvider(v1alpha1.MetricArgument{Name: "job", Value: `web\`}), "has a quote, a backslash"},
		"a line break":     {ofProvider(v1alpha1.MetricArgument{Name: "job", Value: "web\n"}), "a control character"},
		"a variable":       {own(`up{team="$(team)"}`), `"$(team)": is no variable`},
	} {
		_, err := gate.MetricChecks(&v1alpha1.MetricsGate{Metrics: []v1alpha1.GateMetric{tc.metric}}, prometheus(), gate.VariablesOf(s.gate, s.release), nil)
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %v, want %q", name, err, tc.says)
		}
	}
	http := &v1alpha1.MetricProvider{Spec: v1alpha1.MetricProviderSpec{HTTP: &v1alpha1.MetricServer{Address: "http://x"}, Metrics: prometheus().Spec.Metrics}}
	if _, err := gate.MetricChecks(&v1alpha1.MetricsGate{Metrics: []v1alpha1.GateMetric{ofProvider(job)}}, http, gate.VariablesOf(s.gate, s.release), nil); err == nil || !strings.Contains(err.Error(), "compare needs Prometheus") {
		t.Errorf("an http provider compares: %v", err)
	}
}

// TestValidateMetrics: a policy that can't be judged is refused, with the field.
func TestValidateMetrics(t *testing.T) {
	t.Parallel()
	compared := func(c v1alpha1.CompareMetric) v1alpha1.GateMetric {
		return v1alpha1.GateMetric{Name: "m", MetricCheck: v1alpha1.MetricCheck{Compare: &c}}
	}
	good := v1alpha1.CompareMetric{Requests: "r", Errors: "e"}
	but := func(change func(*v1alpha1.CompareMetric)) v1alpha1.GateMetric {
		c := good
		change(&c)
		return compared(c)
	}
	for want, metric := range map[string]v1alpha1.GateMetric{
		"":                                  compared(good),
		"requests and errors, or buckets":   compared(v1alpha1.CompareMetric{Requests: "r"}),
		"or buckets alone":                  but(func(c *v1alpha1.CompareMetric) { c.Buckets = "b" }),
		`compare.worse: Unsupported value`:  but(func(c *v1alpha1.CompareMetric) { c.Worse = "4" }),
		`compare.floor: Invalid value: "1"`: but(func(c *v1alpha1.CompareMetric) { c.Floor = "1" }),
		`compare.young: Invalid value`:      but(func(c *v1alpha1.CompareMetric) { c.Young = &metav1.Duration{Duration: 2 * time.Hour} }),
		"compare.errors: Invalid value: \"rate(x[5m])\": must give counters: leave out rate": but(func(c *v1alpha1.CompareMetric) { c.Errors = "rate(x[5m])" }),
		`query.success: Invalid value`:      queried("m", "result[0] >", ""),
		"a query needs a condition":         queried("m", "", ""),
		`"{{args.x}}": is of Argo Rollouts`: queried("m", "true", "", func(q *v1alpha1.QueryMetric) { q.Query = "up{x=\"{{args.x}}\"}" }),
		"needs successes to ever pass":      queried("m", "true", "", count(0)),
		"$(other)":                          queried("m", "true", "", func(q *v1alpha1.QueryMetric) { q.Query = "up{x=\"$(other)\"}" }),
		"has both compare and query":        {Name: "m", MetricCheck: v1alpha1.MetricCheck{Compare: &good, Query: queried("m", "true", "").Query}},
		"only a metric of the provider":     {Name: "m", MetricCheck: v1alpha1.MetricCheck{Compare: &good}, Arguments: []v1alpha1.MetricArgument{job}},
	} {
		policy := v1alpha1.GatePolicy{Metrics: &v1alpha1.MetricsGate{Provider: "p", Metrics: []v1alpha1.GateMetric{metric}}}
		problems := gate.Validate(&policy, nil)
		if got := fmt.Sprint(problems.ToAggregate()); (len(problems) == 0) != (want == "") || !strings.Contains(got, want) {
			t.Errorf("got %s, want %q", got, want)
		}
	}
}

// TestReplay: the evidence in a gate gives the same verdict again.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, errors := range []float64{8, 50} {
		s := newMetricScene(t, ofProvider(job))
		for range 40 {
			s.decide(s.look(errors, 8))
			metric := s.gate.Status.Metrics[0]
			replayed, outcome, err := gate.Replay(metric.Compared)
			if err != nil || outcome != metric.Outcome || len(replayed) != 1 || int64(replayed[0].Evidence.New.Requests) != metric.Compared.New.Requests {
				t.Fatalf("replayed %+v, %q, %v; want %q", replayed, outcome, err, metric.Outcome)
			}
		}
	}
	for name, c := range map[string]v1alpha1.Compared{
		"no rules":     {Bounds: []v1alpha1.ComparedBound{{Evidence: "AQ"}}},
		"bad rules":    {Rules: v1alpha1.ComparedRules{Alpha: "2", Beta: "0.05", Worse: "2", Floor: "0"}},
		"bad evidence": {Rules: v1alpha1.ComparedRules{Alpha: "0.01", Beta: "0.05", Worse: "2", Floor: "0"}, Bounds: []v1alpha1.ComparedBound{{Evidence: "AQ"}}},
	} {
		if _, _, err := gate.Replay(&c); err == nil {
			t.Errorf("%s: replayed", name)
		}
	}
}
