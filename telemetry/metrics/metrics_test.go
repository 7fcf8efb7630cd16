package metrics_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/metrics"
	"github.com/sluice-dev/sluice/telemetry/story"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// world holds the sources of metrics, and their registry.
type world struct {
	*metrics.Metrics
	*testing.T

	clock    *testclock.FakePassiveClock
	registry *prometheus.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, clock: testclock.NewFakePassiveClock(noon), registry: prometheus.NewPedanticRegistry()}
	w.Metrics = metrics.New(w.registry, w.clock)
	return w
}

// values returns the values of all series except 0: of a histogram its sum, where it has
// observations.
func (w *world) values() map[string]float64 {
	w.Helper()
	values := map[string]float64{}
	for _, family := range w.gather() {
		for _, metric := range family.GetMetric() {
			name := family.GetName() + labels(metric)
			switch histogram := metric.GetHistogram(); {
			case histogram != nil && histogram.GetSampleCount() > 0:
				values[name] = histogram.GetSampleSum()
			case metric.GetCounter().GetValue()+metric.GetGauge().GetValue() != 0:
				values[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return values
}

func (w *world) gather() []*dto.MetricFamily {
	w.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.Fatalf("gather metrics: %v", err)
	}
	return families
}

func (w *world) want(want map[string]float64) {
	w.Helper()
	if diff := cmp.Diff(want, w.values()); diff != "" {
		w.Errorf("series (-want +got):\n%s", diff)
	}
}

func labels(metric *dto.Metric) string {
	var pairs []string
	for _, label := range metric.GetLabel() {
		pairs = append(pairs, fmt.Sprintf("%s=%s", label.GetName(), label.GetValue()))
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// fact returns one of release shop/web, which has taken so many minutes by then.
func fact(kind story.Kind, minutes int, changes ...func(*story.Fact)) story.Fact {
	f := story.Fact{
		Kind: kind, Release: types.NamespacedName{Namespace: "shop", Name: "web"}, UID: "u", Attempt: 1, Batch: 2, Batches: 3, Revision: "v2",
		Commit: "c", Subject: "a subject", Author: "Ada", CommittedAt: noon.Add(-time.Hour), Since: noon, Time: noon.Add(time.Duration(minutes) * time.Minute),
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

func back(f *story.Fact) { f.Trigger = v1alpha1.TriggerAnnotation }

func drifted(f *story.Fact) { f.Trigger = v1alpha1.TriggerDrift }

func second(f *story.Fact) { f.Attempt = 2 }

func third(f *story.Fact) { f.Attempt = 3 }

func fourth(f *story.Fact) { f.Attempt = 4 }

func unknown(f *story.Fact) { f.Since, f.CommittedAt = time.Time{}, time.Time{} }

func TestFactsAreCounted(t *testing.T) {
	t.Parallel()
	gate := func(kind v1alpha1.GateType) func(*story.Fact) {
		return func(f *story.Fact) { f.Gate = &story.Gate{Type: kind} }
	}
	committed := func(at time.Time) func(*story.Fact) { return func(f *story.Fact) { f.CommittedAt = at } }
	batch := func(n int) func(*story.Fact) { return func(f *story.Fact) { f.Batch = n } }
	for name, test := range map[string]struct {
		facts []story.Fact
		want  map[string]float64
	}{
		"what only begins": {[]story.Fact{fact(story.ReleaseStarted, 0), fact(story.BatchStarted, 0), fact(story.Drifted, 0)}, map[string]float64{}},
		"a batch": {[]story.Fact{fact(story.BatchDone, 2)}, map[string]float64{
			"sluice_batch_duration_seconds{namespace=shop}": 120, "sluice_commit_to_batch_seconds{batch=2}": 3720,
		}},
		"a batch of which nobody knows since when":      {[]story.Fact{fact(story.BatchDone, 2, unknown)}, map[string]float64{}},
		"a batch of a commit that is older than a year": {[]story.Fact{fact(story.BatchDone, 0, committed(noon.AddDate(-2, 0, 0)))}, map[string]float64{"sluice_batch_duration_seconds{namespace=shop}": 0}},
		"a batch of a commit to come": {[]story.Fact{fact(story.BatchDone, 0, committed(noon.AddDate(1, 0, 0)))}, map[string]float64{
			"sluice_batch_duration_seconds{namespace=shop}": 0, "sluice_commit_to_batch_seconds{batch=2}": 0,
		}},
		"batches without end": {[]story.Fact{fact(story.BatchDone, 1, batch(50)), fact(story.BatchDone, 1, batch(51)), fact(story.BatchDone, 1, batch(1<<31))}, map[string]float64{
			"sluice_batch_duration_seconds{namespace=shop}": 180, "sluice_commit_to_batch_seconds{batch=50}": 3660,
		}},
		"a batch of a rollback": {[]story.Fact{fact(story.BatchDone, 1, back)}, map[string]float64{"sluice_batch_duration_seconds{namespace=shop}": 60}},
		"gates": {
			[]story.Fact{
				fact(story.GateOpened, 0, gate(v1alpha1.GateManual)), fact(story.GatePassed, 1, gate(v1alpha1.GateManual)),
				fact(story.GateRejected, 2, gate(v1alpha1.GateCheckRun)), fact(story.GatePassed, 3, gate("anything\n\"}")), fact(story.GatePassed, 3, gate("else")),
			},
			map[string]float64{
				"sluice_gate_wait_seconds{decision=Passed,type=manual}": 60, "sluice_gate_wait_seconds{decision=Rejected,type=checkRun}": 120,
				"sluice_gate_wait_seconds{decision=Passed,type=other}": 360,
			},
		},
		"a workload that runs the template already": {[]story.Fact{fact(story.ReleaseAdopted, 10)}, map[string]float64{}},
		"a failure that somebody mends past Sluice": {[]story.Fact{fact(story.ReleaseFailed, 1), fact(story.ReleaseAdopted, 10)}, map[string]float64{
			"sluice_release_ends_total{namespace=shop,outcome=Failed}": 1, "sluice_release_duration_seconds{outcome=Failed}": 60,
			"sluice_time_to_restore_seconds{namespace=shop}": 600,
		}},
		"a release": {[]story.Fact{fact(story.ReleaseCompleted, 10)}, map[string]float64{
			"sluice_release_ends_total{namespace=shop,outcome=Completed}": 1, "sluice_release_duration_seconds{outcome=Completed}": 600,
			"sluice_lead_time_seconds{namespace=shop}": 4200,
		}},
		"a rollback": {[]story.Fact{fact(story.RollbackStarted, 5, back), fact(story.RolledBack, 15, back)}, map[string]float64{
			"sluice_rollbacks_total{namespace=shop,trigger=Annotation}":    1,
			"sluice_release_ends_total{namespace=shop,outcome=RolledBack}": 1, "sluice_release_duration_seconds{outcome=RolledBack}": 900,
			"sluice_time_to_restore_seconds{namespace=shop}": 900,
		}},
		"a rollback of what drifted": {[]story.Fact{fact(story.RollbackStarted, 5, unknown, drifted), fact(story.RolledBack, 15, drifted)}, map[string]float64{
			"sluice_rollbacks_total{namespace=shop,trigger=Drift}":       1,
			"sluice_release_ends_total{namespace=shop,outcome=Restored}": 1, "sluice_release_duration_seconds{outcome=Restored}": 900,
		}},
		"a failure that another release mends": {
			[]story.Fact{
				fact(story.ReleaseFailed, 10), fact(story.ReleaseSuperseded, 20, func(f *story.Fact) { f.Failed = true }),
				fact(story.ReleaseCompleted, 40, func(f *story.Fact) { f.Since = noon.Add(20 * time.Minute) }),
			},
			map[string]float64{
				"sluice_release_ends_total{namespace=shop,outcome=Failed}":     1,
				"sluice_release_ends_total{namespace=shop,outcome=Superseded}": 1,
				"sluice_release_ends_total{namespace=shop,outcome=Completed}":  1,
				"sluice_release_duration_seconds{outcome=Failed}":              600,
				"sluice_release_duration_seconds{outcome=Superseded}":          1200,
				"sluice_release_duration_seconds{outcome=Completed}":           1200,
				"sluice_time_to_restore_seconds{namespace=shop}":               2400,
				"sluice_lead_time_seconds{namespace=shop}":                     6000,
			},
		},
		"a failure that somebody rolls back": {
			[]story.Fact{
				fact(story.ReleaseFailed, 1), fact(story.ReleaseFailed, 2), fact(story.RollbackStarted, 3, back, second, func(f *story.Fact) { f.Failed = true }),
				fact(story.ReleaseFailed, 4, back, second), fact(story.RolledBack, 5, back, second),
			},
			map[string]float64{
				"sluice_rollbacks_total{namespace=shop,trigger=Annotation}":          1,
				"sluice_release_ends_total{namespace=shop,outcome=Failed}":           1,
				"sluice_release_ends_total{namespace=shop,outcome=FailedRolledBack}": 1,
				"sluice_release_duration_seconds{outcome=Failed}":                    60,
				"sluice_release_duration_seconds{outcome=FailedRolledBack}":          300,
				"sluice_time_to_restore_seconds{namespace=shop}":                     300,
			},
		},
		"a failure that is retried, and rolled back before it completes": {
			[]story.Fact{fact(story.ReleaseFailed, 1), fact(story.RollbackStarted, 3, back, second), fact(story.RolledBack, 5, back, second)},
			map[string]float64{
				"sluice_rollbacks_total{namespace=shop,trigger=Annotation}":          1,
				"sluice_release_ends_total{namespace=shop,outcome=Failed}":           1,
				"sluice_release_ends_total{namespace=shop,outcome=FailedRolledBack}": 1,
				"sluice_release_duration_seconds{outcome=Failed}":                    60,
				"sluice_release_duration_seconds{outcome=FailedRolledBack}":          300,
				"sluice_time_to_restore_seconds{namespace=shop}":                     300,
			},
		},
		"a failure whose rollback is sent to another revision": {
			[]story.Fact{
				fact(story.ReleaseFailed, 1), fact(story.RollbackStarted, 2, back, second), fact(story.ReleaseSuperseded, 3, back, second),
				fact(story.RollbackStarted, 3, back, third), fact(story.RolledBack, 5, back, third),
			},
			map[string]float64{
				"sluice_rollbacks_total{namespace=shop,trigger=Annotation}":          2,
				"sluice_release_ends_total{namespace=shop,outcome=Failed}":           1,
				"sluice_release_ends_total{namespace=shop,outcome=Superseded}":       1,
				"sluice_release_ends_total{namespace=shop,outcome=FailedRolledBack}": 1,
				"sluice_release_duration_seconds{outcome=Failed}":                    60,
				"sluice_release_duration_seconds{outcome=Superseded}":                180,
				"sluice_release_duration_seconds{outcome=FailedRolledBack}":          300,
				"sluice_time_to_restore_seconds{namespace=shop}":                     300,
			},
		},
		"a failure whose rollback another release supersedes, which fails, too": {
			[]story.Fact{
				fact(story.ReleaseFailed, 1), fact(story.RollbackStarted, 2, back, second), fact(story.ReleaseSuperseded, 3, back, second),
				fact(story.ReleaseStarted, 3, third), fact(story.RollbackStarted, 4, back, fourth), fact(story.RolledBack, 5, back, fourth),
			},
			map[string]float64{
				"sluice_rollbacks_total{namespace=shop,trigger=Annotation}":    2,
				"sluice_release_ends_total{namespace=shop,outcome=Failed}":     1,
				"sluice_release_ends_total{namespace=shop,outcome=Superseded}": 1,
				"sluice_release_ends_total{namespace=shop,outcome=RolledBack}": 1,
				"sluice_release_duration_seconds{outcome=Failed}":              60,
				"sluice_release_duration_seconds{outcome=Superseded}":          180,
				"sluice_release_duration_seconds{outcome=RolledBack}":          300,
				"sluice_time_to_restore_seconds{namespace=shop}":               300,
			},
		},
		"a failure that jumps back, and fails again": {
			[]story.Fact{fact(story.ReleaseFailed, 1), fact(story.JumpedBack, 2), fact(story.ReleaseFailed, 3, second)},
			map[string]float64{
				"sluice_release_ends_total{namespace=shop,outcome=Failed}": 1, "sluice_release_duration_seconds{outcome=Failed}": 60,
			},
		},
		"a rollback of what drifted that misses its deadline": {
			[]story.Fact{
				fact(story.RollbackStarted, 1, unknown, drifted), fact(story.ReleaseFailed, 2, drifted),
				fact(story.ReleaseSuperseded, 3, drifted, func(f *story.Fact) { f.Failed = true }), fact(story.ReleaseAdopted, 4, second),
			},
			map[string]float64{
				"sluice_rollbacks_total{namespace=shop,trigger=Drift}":         1,
				"sluice_release_ends_total{namespace=shop,outcome=Superseded}": 1, "sluice_release_duration_seconds{outcome=Superseded}": 180,
			},
		},
		"a failure that is retried, completes, and is rolled back later": {
			[]story.Fact{
				fact(story.ReleaseFailed, 1), fact(story.ReleaseCompleted, 2, unknown), fact(story.RollbackStarted, 3, back, second), fact(story.RolledBack, 5, back, second),
			},
			map[string]float64{
				"sluice_rollbacks_total{namespace=shop,trigger=Annotation}":    1,
				"sluice_release_ends_total{namespace=shop,outcome=Failed}":     1,
				"sluice_release_ends_total{namespace=shop,outcome=Completed}":  1,
				"sluice_release_ends_total{namespace=shop,outcome=RolledBack}": 1,
				"sluice_release_duration_seconds{outcome=Failed}":              60,
				"sluice_release_duration_seconds{outcome=RolledBack}":          300,
				"sluice_time_to_restore_seconds{namespace=shop}":               420,
			},
		},
		"what is deleted is not restored": {[]story.Fact{fact(story.ReleaseFailed, 1), fact(story.ReleaseDeleted, 2), fact(story.RolledBack, 3, unknown)}, map[string]float64{
			"sluice_release_ends_total{namespace=shop,outcome=Failed}":     1,
			"sluice_release_ends_total{namespace=shop,outcome=Deleted}":    1,
			"sluice_release_ends_total{namespace=shop,outcome=RolledBack}": 1,
			"sluice_release_duration_seconds{outcome=Failed}":              60,
			"sluice_release_duration_seconds{outcome=Deleted}":             120,
		}},
		"a time that somebody made up": {[]story.Fact{fact(story.BatchDone, 1, unknown, func(f *story.Fact) { f.Since = time.Unix(0, 0) })}, map[string]float64{
			"sluice_batch_duration_seconds{namespace=shop}": 365 * 24 * 3600,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Tell(test.facts)
			w.want(test.want)
		})
	}
}

// TestGoneReleasesAreForgotten: a release that failed, and whose object is gone although no end of
// it was told, leaves nothing.
func TestGoneReleasesAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Tell([]story.Fact{fact(story.ReleaseFailed, 1)})
	w.Forget("u")
	w.Tell([]story.Fact{fact(story.RolledBack, 3, unknown)})
	w.want(map[string]float64{
		"sluice_release_ends_total{namespace=shop,outcome=Failed}":     1,
		"sluice_release_ends_total{namespace=shop,outcome=RolledBack}": 1,
		"sluice_release_duration_seconds{outcome=Failed}":              60,
	})
}

// documented are the labels of all metrics of this package, and how many values those have that are
// not names of Kubernetes.
var documented = map[string]string{
	"sluice_batch_duration_seconds":                "namespace",
	"sluice_gate_wait_seconds":                     "decision type",
	"sluice_release_duration_seconds":              "outcome",
	"sluice_release_ends_total":                    "namespace outcome",
	"sluice_rollbacks_total":                       "namespace trigger",
	"sluice_commit_to_batch_seconds":               "batch",
	"sluice_lead_time_seconds":                     "namespace",
	"sluice_time_to_restore_seconds":               "namespace",
	"sluice_releases":                              "namespace phase",
	"sluice_release_state":                         "namespace release state train",
	"sluice_release_state_since_timestamp_seconds": "namespace release",
	"sluice_release_stopped":                       "cause namespace release",
	"sluice_release_stalled":                       "cause namespace release",
}

// TestLabelsAreBounded: no text of people in commits, gates and statuses adds series, and all
// series are valid for Prometheus.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kinds := []story.Kind{
		story.ReleaseStarted, story.BatchStarted, story.BatchDone, story.GateOpened, story.GatePassed, story.GateRejected, story.ApprovalRefused,
		story.ReleaseStopped, story.ReleaseResumed, story.ReleaseFailed, story.ReleaseCompleted, story.ReleaseSuperseded, story.RollbackStarted,
		story.RolledBack, story.Drifted, story.ReleaseDeleted, story.ReleaseAdopted,
	}
	w.show(hostile("web")...)
	tell := func(i int) {
		words := fmt.Sprintf("words %d \x00\"\n{}", i)
		for _, kind := range kinds {
			w.Tell([]story.Fact{fact(kind, 1, back, func(f *story.Fact) {
				f.Commit, f.Author, f.Subject, f.Message, f.Revision, f.From = words, words, words, words, words, words
				f.Release.Name, f.UID, f.Attempt, f.Batch = words, types.UID(words), int64(i), i
				f.Gate = &story.Gate{Name: words, Type: v1alpha1.GateType(words), By: words, URL: words}
				f.StoppedBy, f.StalledBy = v1alpha1.StopCause(words), v1alpha1.StallCause(words)
			})})
		}
	}
	for i := range 60 {
		tell(i)
	}
	before := w.series()
	for i := range 600 {
		tell(i)
	}
	if diff := cmp.Diff(before, w.series()); diff != "" {
		t.Errorf("words of people change the series (-before +after):\n%s", diff)
	}
	got := map[string]string{}
	for _, family := range w.gather() {
		var names []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			names = append(names, label.GetName())
		}
		got[family.GetName()] = strings.Join(names, " ")
	}
	if diff := cmp.Diff(documented, got); diff != "" {
		t.Errorf("labels of metrics (-want +got):\n%s", diff)
	}
	problems, err := promlint.NewWithMetricFamilies(w.gather()).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("want metrics as Prometheus' conventions have them, got %v %v", problems, err)
	}
}

// series returns the names of all series.
func (w *world) series() []string {
	w.Helper()
	var all []string
	for _, family := range w.gather() {
		for _, metric := range family.GetMetric() {
			all = append(all, family.GetName()+labels(metric))
		}
	}
	slices.Sort(all)
	return all
}

// TestSeriesBeginAtZero: a series that is not there can't be told from a scrape that fails.
func TestSeriesBeginAtZero(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	idle := w.series()
	for _, want := range []string{
		"sluice_release_duration_seconds{outcome=Completed}", "sluice_gate_wait_seconds{decision=Rejected,type=pullRequest}", "sluice_commit_to_batch_seconds{batch=1}",
	} {
		if !slices.Contains(idle, want) {
			t.Errorf("idle: want %s, got %v", want, idle)
		}
	}
	w.show(release("shop", "web", v1alpha1.StateCompleted))
	w.series() // the first scrape sees the namespace
	there := w.series()
	for _, want := range []string{
		"sluice_release_ends_total{namespace=shop,outcome=Failed}", "sluice_rollbacks_total{namespace=shop,trigger=Deadline}", "sluice_lead_time_seconds{namespace=shop}",
	} {
		if !slices.Contains(there, want) {
			t.Errorf("with a release: want %s, got %v", want, there)
		}
	}
}
