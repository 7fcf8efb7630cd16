package gate_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

// TestGuardWithoutProvider: a guard ends with its release, though it can measure nothing any more.
func TestGuardWithoutProvider(t *testing.T) {
	t.Parallel()
	s := newMetricScene(t, ofProvider(job)).guards()
	facts := gate.Facts{Release: s.release, Metrics: &gate.MetricFacts{Problem: "there is no MetricProvider"}}
	s.gate.Status = gate.Evaluate(s.gate, facts, s.at).Status
	s.want(v1alpha1.DecisionWaiting, "there is no MetricProvider")
	s.release.Status.Phase = v1alpha1.PhaseCompleted
	s.gate.Status = gate.Evaluate(s.gate, facts, s.at).Status
	s.want(v1alpha1.DecisionPassed, "no metric had failed when the release was completed; never measured: errors")
}

// TestGuardOfDryRuns: a guard whose metrics are all dry runs measures them until the release ends.
func TestGuardOfDryRuns(t *testing.T) {
	t.Parallel()
	bad := queried("bad", "false", "")
	bad.DryRun = true
	s := newMetricScene(t, bad).guards()
	s.decide()
	s.want(v1alpha1.DecisionWaiting, "bad: not measured yet")
	s.decide(s.result(0, 1.0))
	s.want(v1alpha1.DecisionWaiting, "bad: 0 successful, 1 failed")
	s.release.Status.Phase = v1alpha1.PhaseCompleted
	s.decide()
	s.want(v1alpha1.DecisionPassed, "no metric had failed")
}

// TestNextMeasurement: a gate that waits for its first measurement wakes up then, and neither
// before nor in the past.
func TestNextMeasurement(t *testing.T) {
	t.Parallel()
	for _, interval := range []time.Duration{time.Second, 15 * time.Second, 7 * time.Minute, time.Hour} {
		for _, delay := range []time.Duration{0, time.Second, 10 * time.Second, time.Minute, 30 * time.Minute, 3 * time.Hour} {
			s := newMetricScene(t, ofProvider(job))
			s.gate.Spec.Policy.Metrics.Interval = &metav1.Duration{Duration: interval}
			s.gate.Spec.Policy.Metrics.InitialDelay = &metav1.Duration{Duration: delay}
			s.gate.CreationTimestamp = metav1.NewTime(s.at.Add(7*time.Second + 5*time.Minute))
			first := gate.FirstMeasurement(s.gate)
			for now := s.gate.CreationTimestamp.Time; now.Before(first.Add(time.Hour)); now = now.Add(delay/20 + time.Minute) {
				next := gate.NextMeasurement(s.gate, now)
				if !next.After(now) || next.Before(first) || now.Before(first) && next.After(first.Add(time.Second)) || !now.Before(first) && next.After(now.Add(interval+time.Second)) {
					t.Fatalf("every %s after %s: the gate of %s is due at %s, and wakes up at %s from %s", interval, delay, s.gate.CreationTimestamp, first, next, now)
				}
			}
		}
	}
}
