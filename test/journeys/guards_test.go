package journeys

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// turn is a change of an image's share of errors.
type turn struct {
	image string
	at    time.Time
	share float64
}

// goes changes the share of errors of an image from now on.
func (m *metricServer) goes(image string, share float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns = append(m.turns, turn{image, time.Now(), share})
}

// errorsOf returns the errors of a pod between two times.
func (m *metricServer) errorsOf(image string, from, to time.Time) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	share, errors := m.shares[image], 0.0
	for _, t := range m.turns {
		if t.image != image {
			continue
		}
		if t.at.After(from) {
			errors += share * t.at.Sub(from).Seconds() * perSecond
			from = t.at
		}
		share = t.share
	}
	return errors + share*to.Sub(from).Seconds()*perSecond
}

// guarded makes metrics gates the guards of a release.
func guarded(release *v1alpha1.BatchRelease, guards ...v1alpha1.GatePolicy) *v1alpha1.BatchRelease {
	release.Spec.Strategy.Guards = guards
	return release
}

// guards wants the guard of the present attempt to be as said.
func guards(what string, is func(*v1alpha1.Gate) bool) check {
	return func(s *scene) error {
		last := "none"
		for _, g := range s.gates {
			if !g.IsGuard() || g.Spec.Attempt != s.releases["web"].Status.Attempt {
				continue
			}
			if is(g) {
				return nil
			}
			last = string(encode(g.Status))
		}
		return fmt.Errorf("want the guard %s, got %s", what, last)
	}
}

// compares reports whether a gate has compared requests of both versions.
func compares(g *v1alpha1.Gate) bool {
	return len(g.Status.Metrics) > 0 && g.Status.Metrics[0].Compared != nil && g.Status.Metrics[0].Compared.Looks > 0
}

func (name subject) stoppedFor(cause v1alpha1.StopCause) check {
	return name.status("stopped by "+string(cause), func(s *v1alpha1.BatchReleaseStatus) bool { return s.StoppedFor(cause) })
}

// TestGuardRollsBack: a version that goes bad while its step waits for a person is rolled back by
// itself.
func TestGuardRollsBack(t *testing.T) {
	w := newWorld(t)
	m := w.measured(map[string]float64{"web:1": 0.005, "web:2": 0.005})
	w.startController()
	w.deployed(deployment(8))
	w.create(guarded(release("web:2", step("50%"), step("100%")), compared(v1alpha1.RejectRollback)))
	w.await(all(web.blocksAt(0), guards("measured", compares)))
	m.goes("web:2", 0.2)
	w.await(all(web.rolledBack(v1alpha1.TriggerGateRejected, "worse"), web.serves("web:1", 8)))
}

// TestGuardHolds: a guard that holds stops the release, also once the gates of its step have
// passed. The next template is released.
func TestGuardHolds(t *testing.T) {
	w := newWorld(t)
	w.measured(map[string]float64{"web:1": 0.005, "web:2": 0.1, "web:3": 0.005})
	w.startController()
	w.deployed(deployment(8))
	w.create(guarded(release("web:2", step("50%"), step("100%", none())), compared(v1alpha1.RejectHold)))
	w.await(all(web.stoppedFor(v1alpha1.StopGuardRejected), web.runs(pods{"web:1": 4, "web:2": 4})))
	w.confirm("web")
	w.await(all(web.stoppedFor(v1alpha1.StopGuardRejected), web.says("guard"), web.runs(pods{"web:1": 4, "web:2": 4})))
	w.releaseImage("web:3")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 4, "web:3": 4})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:3", 8), guards("passed in the end", decidedAs(v1alpha1.DecisionPassed))))
}

// TestUndecidedMetrics: a person decides what the metrics can't.
func TestUndecidedMetrics(t *testing.T) {
	w := newWorld(t)
	w.measured(map[string]float64{"web:1": 0.01, "web:2": 0.01})
	w.startController()
	w.deployed(deployment(4))
	w.create(release("web:2", step("50%", v1alpha1.GatePolicy{Metrics: &v1alpha1.MetricsGate{
		Provider: "prometheus", Interval: &metav1.Duration{Duration: time.Second}, Metrics: []v1alpha1.GateMetric{{Name: "requests", MetricCheck: v1alpha1.MetricCheck{
			Query: &v1alpha1.QueryMetric{Query: "requests", Success: "result.all(r, r < 0.0)", Failure: "result.all(r, r > 1e18)"},
		}}},
	}}), step("100%")))
	g := w.metricGate(0, "undecided", func(g *v1alpha1.Gate) bool { return g.Status.Undecided })
	release := named[v1alpha1.BatchRelease]("web")
	release.Namespace = w.namespace
	answer := v1alpha1.Answer{Gate: g.UID, Verdict: v1alpha1.VerdictApprove, By: "ada"}
	if err := w.Status().Patch(w.Context(), release, mergePatch(fmt.Sprintf(`{"status":{"answers":[%s]}}`, encode(answer)))); err != nil {
		t.Fatalf("answer: %v", err)
	}
	w.await(all(web.completed, web.serves("web:2", 4)))
}
