package lifecycle_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
)

// TestRecordsOfMetrics: measurements that decide nothing are recorded once a minute, a trouble
// after some seconds, everything else at once.
func TestRecordsOfMetrics(t *testing.T) {
	t.Parallel()
	status := func(change ...func(*v1alpha1.GateStatus)) v1alpha1.GateStatus {
		at := metav1.NewMicroTime(start)
		s := v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting, Message: "no verdict yet", Metrics: []v1alpha1.MetricStatus{{
			Name: "errors", CheckDigest: "a", MeasuredAt: &at, Compared: &v1alpha1.Compared{Looks: 1},
		}}}
		for _, c := range change {
			c(&s)
		}
		return s
	}
	measured := func(after time.Duration) func(*v1alpha1.GateStatus) {
		return func(s *v1alpha1.GateStatus) {
			at := metav1.NewMicroTime(start.Add(after))
			s.Metrics[0].MeasuredAt, s.Metrics[0].Compared = &at, &v1alpha1.Compared{Looks: 2}
		}
	}
	for name, tc := range map[string]struct {
		before, after v1alpha1.GateStatus
		since         time.Duration
		want          bool
	}{
		"nothing new":        {status(), status(), time.Hour, false},
		"another look":       {status(), status(measured(15 * time.Second)), 15 * time.Second, false},
		"a minute of looks":  {status(), status(measured(time.Minute)), time.Minute, true},
		"the first one":      {v1alpha1.GateStatus{}, status(), 0, true},
		"the first requests": {status(func(s *v1alpha1.GateStatus) { s.Metrics[0].Compared = nil }), status(measured(time.Second)), time.Second, true},
		"a decision":         {status(), status(measured(time.Second), func(s *v1alpha1.GateStatus) { s.Decision = v1alpha1.DecisionPassed }), time.Second, true},
		"an outcome":         {status(), status(measured(time.Second), func(s *v1alpha1.GateStatus) { s.Metrics[0].Outcome = v1alpha1.MetricFailed }), time.Second, true},
		"a trouble":          {status(), status(measured(15*time.Second), func(s *v1alpha1.GateStatus) { s.Metrics[0].Trouble = v1alpha1.TroubleStale }), 15 * time.Second, true},
		"one each second":    {status(), status(measured(time.Second), func(s *v1alpha1.GateStatus) { s.Metrics[0].Trouble = v1alpha1.TroubleStale }), time.Second, false},
		"another check":      {status(), status(measured(time.Second), func(s *v1alpha1.GateStatus) { s.Metrics[0].CheckDigest = "b" }), time.Second, true},
		"undecided":          {status(), status(measured(time.Second), func(s *v1alpha1.GateStatus) { s.Undecided = true }), time.Second, true},
		"a problem":          {status(), status(func(s *v1alpha1.GateStatus) { s.Message = "there is no MetricProvider" }), time.Second, true},
	} {
		g := &v1alpha1.Gate{Status: tc.before}
		facts := lifecycle.GateFacts{Decision: &gate.Decision{Status: tc.after}}
		if got := len(lifecycle.NextOfMetrics(g, facts, start.Add(tc.since))) > 0; got != tc.want {
			t.Errorf("%s: recorded %t, want %t", name, got, tc.want)
		}
	}
}
