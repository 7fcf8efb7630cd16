package show

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestNeedsOfEachType: each type of gate has words.
func TestNeedsOfEachType(t *testing.T) {
	t.Parallel()
	for _, policy := range []v1alpha1.GatePolicy{
		{Manual: &v1alpha1.ManualGate{}},
		{None: &v1alpha1.NoGate{}},
		{Soak: &v1alpha1.SoakGate{Duration: metav1.Duration{Duration: time.Minute}}},
		{Window: &v1alpha1.WindowGate{}},
		{PullRequest: &v1alpha1.PullRequestGate{}},
		{CommitStatus: &v1alpha1.CommitStatusGate{}},
		{CheckRun: &v1alpha1.CheckRunGate{}},
		{Job: &v1alpha1.JobGate{}},
		{Metrics: &v1alpha1.MetricsGate{}},
	} {
		if policy.Type() == "" {
			t.Errorf("%+v has no type", policy)
		}
		if words := Needs(policy); words == Needs(v1alpha1.GatePolicy{}) {
			t.Errorf("%s: %s", policy.Type(), words)
		}
	}
}

// TestNeedsForeseen: a comparison of a later step is foreseen by the traffic that a gate of this
// attempt has measured, and not by any other.
func TestNeedsForeseen(t *testing.T) {
	t.Parallel()
	errors := func(interval time.Duration) v1alpha1.GatePolicy {
		return v1alpha1.GatePolicy{Metrics: &v1alpha1.MetricsGate{
			Provider: "prometheus", Interval: &metav1.Duration{Duration: interval}, Metrics: []v1alpha1.GateMetric{{Name: "errors"}},
		}}
	}
	world := func(change func(*v1alpha1.Gate)) *Whole {
		release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
		release.Spec.Strategy.Steps = []v1alpha1.Step{{Replicas: intstr.FromInt32(1)}, {Replicas: intstr.FromString("50%")}, {Replicas: intstr.FromString("100%")}}
		release.Status.Attempt, release.Status.Replicas = 3, 10
		gate := v1alpha1.Gate{Spec: v1alpha1.GateSpec{ReleaseRef: v1alpha1.ReleaseReference{UID: "1"}, Attempt: 3, Policy: errors(15 * time.Second)}}
		gate.Status.Metrics = []v1alpha1.MetricStatus{{Name: "errors", Compared: &v1alpha1.Compared{
			Old: v1alpha1.ComparedVersion{Requests: 54_000, Errors: 540}, New: v1alpha1.ComparedVersion{Requests: 6000, Errors: 60}, Looks: 20,
			Bounds: []v1alpha1.ComparedBound{{}},
		}}}
		change(&gate)
		return &Whole{Release: release, Gates: []v1alpha1.Gate{gate}}
	}
	many := world(func(*v1alpha1.Gate) {})
	between := v1alpha1.Step{Replicas: intstr.FromString("20%")}
	for range maxForeseen + 1 {
		between.Gates = append(between.Gates, errors(time.Second))
	}
	many.Release.Spec.Strategy.Steps = slices.Insert(many.Release.Spec.Strategy.Steps, 1, between)
	if got := NeedsAt(many, 2, errors(time.Second)); got != "metrics of prometheus: errors" {
		t.Errorf("after many metrics: got %q", got)
	}
	for name, tc := range map[string]struct {
		change   func(*v1alpha1.Gate)
		step     int
		interval time.Duration
		want     string
	}{
		"measured":        {func(*v1alpha1.Gate) {}, 1, 15 * time.Second, "metrics of prometheus: errors; errors: at this traffic about "},
		"last step":       {func(*v1alpha1.Gate) {}, 2, 15 * time.Second, "metrics of prometheus: errors"},
		"another attempt": {func(g *v1alpha1.Gate) { g.Spec.Attempt = 2 }, 1, 15 * time.Second, "metrics of prometheus: errors"},
		"another release": {func(g *v1alpha1.Gate) { g.Spec.ReleaseRef.UID = "2" }, 1, 15 * time.Second, "metrics of prometheus: errors"},
		"another metric":  {func(g *v1alpha1.Gate) { g.Status.Metrics[0].Name = "5xx" }, 1, 15 * time.Second, "metrics of prometheus: errors"},
		"latency":         {func(g *v1alpha1.Gate) { g.Status.Metrics[0].Compared.Bounds[0].Bound = "0.5" }, 1, 15 * time.Second, "metrics of prometheus: errors"},
		"nothing yet":     {func(g *v1alpha1.Gate) { g.Status.Metrics[0].Compared.Looks = 1 }, 1, 15 * time.Second, "metrics of prometheus: errors"},
	} {
		got := NeedsAt(world(tc.change), tc.step, errors(tc.interval))
		if foreseen := strings.HasSuffix(tc.want, " "); foreseen && !strings.HasPrefix(got, tc.want) || !foreseen && got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
