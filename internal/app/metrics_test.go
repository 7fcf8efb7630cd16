package app_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// documented are the labels of all metrics of Sluice. Beside names of objects, and of receivers in
// the configuration, their values are listed in the code.
var documented = map[string]string{
	"sluice_batch_duration_seconds":                "namespace",
	"sluice_commit_to_batch_seconds":               "batch",
	"sluice_gate_wait_seconds":                     "decision type",
	"sluice_invariant_violations_total":            "invariant",
	"sluice_lead_time_seconds":                     "namespace",
	"sluice_put_back_total":                        "reason",
	"sluice_release_duration_seconds":              "outcome",
	"sluice_release_ends_total":                    "namespace outcome",
	"sluice_release_stalled":                       "cause namespace release",
	"sluice_release_state":                         "namespace release state train",
	"sluice_release_state_since_timestamp_seconds": "namespace release",
	"sluice_release_stopped":                       "cause namespace release",
	"sluice_releases":                              "namespace phase",
	"sluice_rollbacks_total":                       "namespace trigger",
	"sluice_time_to_restore_seconds":               "namespace",
	"sluice_webhooks_total":                        "event result",
	"sluice_notices_config_valid":                  "",
	"sluice_notices_pending":                       "receiver",
	"sluice_notices_record_failures_total":         "",
	"sluice_notices_total":                         "receiver result",
	"sluice_source_errors":                         "namespace source",
	"sluice_source_sync_duration_seconds":          "namespace source",
	"sluice_source_syncs_total":                    "namespace result source",
	"sluice_spans_dropped_total":                   "reason",
	"sluice_forge_limited_until_timestamp_seconds": "namespace source",
	"sluice_forge_queue_depth":                     "",
	"sluice_forge_requests":                        "namespace source",
	"sluice_forge_requests_limit":                  "namespace source",
	"sluice_forge_requests_remaining":              "namespace source",
	"sluice_forge_requests_unchanged":              "namespace source",
	"sluice_forge_reset_timestamp_seconds":         "namespace source",
	"sluice_writes_total":                          "kind result verb",
}

// scraped holds the metrics of a controller, for one namespace and for none.
type scraped struct {
	text      []byte
	families  map[string]*dto.MetricFamily
	namespace string
}

func scrape(t *testing.T, address, namespace string) scraped {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("get metrics: %s %v\n%s", response.Status, err, text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("read metrics: %v", err)
	}
	return scraped{text, families, namespace}
}

// value returns the value of the metric's series whose labels have all of these values, or the
// number of observations of a histogram; -1 if there is none.
func (s scraped) value(name string, labels ...string) float64 {
	sum, found := 0.0, false
	for _, metric := range s.families[name].GetMetric() {
		var values []string
		for _, label := range metric.GetLabel() {
			values = append(values, label.GetValue())
		}
		if slices.ContainsFunc(labels, func(label string) bool { return !slices.Contains(values, label) }) {
			continue
		}
		found = true
		sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
	}
	if !found {
		return -1
	}
	return sum
}

// TestMetricsOfARelease: a release goes through a gate to its end, and is rolled back: everything
// is counted once, under labels that nobody can invent.
func TestMetricsOfARelease(t *testing.T) {
	t.Parallel()
	c, namespace, address := newClient(t), cptest.Namespace(t), freeAddress(t)
	options := app.Options{Namespaces: []string{namespace}, MetricsAddress: address, LeaderElection: true, LeaseNamespace: namespace}
	start(t, cptest.Config(t), options)
	awaitLeader(t, c, namespace, "")
	release := newRelease(t, namespace)
	const evil = "evil\"} 1\nsluice_evil{x=\"y"
	release.Annotations = map[string]string{
		v1alpha1.CommitAnnotation: evil, v1alpha1.SubjectAnnotation: evil, v1alpha1.AuthorAnnotation: evil,
		v1alpha1.CommitTimeAnnotation: time.Now().Add(-time.Hour).Format(time.RFC3339),
	}
	for _, object := range []client.Object{newDeployment(namespace), release} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T: %v", object, err)
		}
	}
	want := func(want map[string]float64) {
		t.Helper()
		cptest.Eventually(t, soon, func() error {
			s, got := scrape(t, address, namespace), map[string]float64{}
			for series := range want {
				fields := strings.Fields(series)
				got[series] = s.value(fields[0], append(fields[1:], namespace)...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				return fmt.Errorf("series (-want +got):\n%s", diff)
			}
			return nil
		})
	}
	awaitRelease(t, c, release, "blocking", blocking)
	if release.Status.CommitTime == nil {
		t.Error("want the time of the commit on record")
	}
	want(map[string]float64{
		"sluice_releases RollingUpdate": 1, "sluice_releases Completed": 0, "sluice_release_state web Blocked": 1,
		"sluice_batch_duration_seconds": 1, "sluice_release_ends_total Completed": 0, "sluice_release_stopped": -1,
	})
	since := scrape(t, address, namespace).value("sluice_release_state_since_timestamp_seconds", namespace, "web")
	if age := time.Since(time.Unix(int64(since), 0)); age < 0 || age > soon {
		t.Errorf("want a release that has waited for moments, got %s", age)
	}
	confirm(t, c, release)
	awaitRelease(t, c, release, "completed", completed)
	want(map[string]float64{
		"sluice_releases Completed": 1, "sluice_releases RollingUpdate": 0, "sluice_release_state web": -1, "sluice_batch_duration_seconds": 2,
		"sluice_release_ends_total Completed": 1, "sluice_lead_time_seconds": 1, "sluice_rollbacks_total Annotation": 0, "sluice_time_to_restore_seconds": 0,
	})
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"rollback":"true"}}}`))
	if err := c.Patch(t.Context(), release.DeepCopy(), patch); err != nil {
		t.Fatalf("ask for a rollback: %v", err)
	}
	awaitRelease(t, c, release, "rolled back", func(s v1alpha1.BatchReleaseStatus) bool { return s.Rollback != nil && completed(s) })
	want(map[string]float64{
		"sluice_release_ends_total Completed": 1, "sluice_release_ends_total RolledBack": 1, "sluice_rollbacks_total Annotation": 1,
		"sluice_time_to_restore_seconds": 1, "sluice_lead_time_seconds": 1, "sluice_batch_duration_seconds": 4,
	})
	s := scrape(t, address, namespace)
	wantSane(t, s)
	if n := s.value("sluice_gate_wait_seconds", "manual", "Passed"); n < 1 {
		t.Errorf("want the wait at the gate measured, got %v", n)
	}
	if n := s.value("sluice_commit_to_batch_seconds", "2"); n < 1 {
		t.Errorf("want the way from the commit to the second batch measured, got %v", n)
	}
	if n := s.value("sluice_writes_total", "BatchRelease/status", "patch", "Written"); n < 5 {
		t.Errorf("want writes of the status counted, got %v", n)
	}
	if err := c.Delete(t.Context(), release); err != nil {
		t.Fatalf("delete release: %v", err)
	}
	want(map[string]float64{"sluice_releases": -1, "sluice_release_ends_total Completed": 1, "sluice_release_ends_total Deleted": 0})
}

// wantSane checks what holds for all metrics of Sluice.
func wantSane(t *testing.T, s scraped) {
	t.Helper()
	if bytes.Contains(s.text, []byte("evil")) {
		t.Error("what a commit says is in the metrics")
	}
	if n := s.value("sluice_invariant_violations_total"); n != 0 {
		t.Errorf("want no invariant broken, got %v", n)
	}
	var ours []*dto.MetricFamily
	for name, family := range s.families {
		if !strings.HasPrefix(name, "sluice_") {
			continue
		}
		ours = append(ours, family)
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName())
			}
			slices.Sort(labels)
			if want, known := documented[name]; !known || strings.Join(labels, " ") != want {
				got := strings.Join(labels, " ")
				t.Errorf("metric %s: got the labels %q, want %q", name, got, documented[name])
			}
		}
	}
	if problems, err := promlint.NewWithMetricFamilies(ours).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("want metrics as Prometheus' conventions have them, got %v %v", problems, err)
	}
}

// TestMetricsOfReplicas: of two controllers one shows releases, so that sums count none twice.
func TestMetricsOfReplicas(t *testing.T) {
	t.Parallel()
	c, namespace, address := newClient(t), cptest.Namespace(t), freeAddress(t)
	options := app.Options{Namespaces: []string{namespace}, LeaderElection: true, LeaseNamespace: namespace}
	first := start(t, cptest.Config(t), options)
	awaitLeader(t, c, namespace, "")
	options.MetricsAddress = address
	start(t, cptest.Config(t), options)
	cptest.Eventually(t, soon, func() error { return get(t, "http://"+address+"/metrics") })
	release := newRelease(t, namespace)
	release.Spec.Suspend = true
	for _, object := range []client.Object{newDeployment(namespace), release} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T: %v", object, err)
		}
	}
	awaitRelease(t, c, release, "waiting", func(s v1alpha1.BatchReleaseStatus) bool { return s.State == v1alpha1.StateWaiting })
	shows := func(cause string) error {
		if n := scrape(t, address, namespace).value("sluice_release_stopped", namespace, "web", cause); n != 1 {
			return fmt.Errorf("want the release shown once, got %v", n)
		}
		return nil
	}
	// Both run in this process, and share its registry: what is shown is shown by the one that leads.
	cptest.Eventually(t, soon, func() error { return shows("Suspended") })
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	cptest.Eventually(t, soon, func() error { return shows("Suspended") })
}
