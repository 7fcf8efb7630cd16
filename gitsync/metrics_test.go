package gitsync_test

import (
	"errors"
	"slices"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestSourcesAreMeasured: Looks at a repository are counted and timed, and a source that is gone
// leaves no series.
func TestSourcesAreMeasured(t *testing.T) {
	w := newWorld(t)
	w.push(app("web", "web:1"))
	w.controller(gitsync.Options{})
	source := w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.push(map[string]string{"bad.yaml": "a: [ # BatchRelease", "worse.yaml": "b: { # BatchRelease"})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonFilesInvalid)
	syncs := w.measures("sluice_source_syncs_total")
	count := func(result string) (n float64) {
		for _, metric := range syncs {
			if label := metric.GetLabel()[1]; label.GetName() == "result" && label.GetValue() == result {
				n += metric.GetCounter().GetValue()
			}
		}
		return n
	}
	if good, bad, all := count(v1alpha1.ReasonSynced), count(v1alpha1.ReasonFilesInvalid), len(syncs); good < 1 || bad < 1 || all != 12 {
		t.Errorf("got %v good and %v bad looks in %d series, want some of each in 12", good, bad, all)
	}
	if seconds := w.measures("sluice_source_sync_duration_seconds"); len(seconds) != 1 || seconds[0].GetHistogram().GetSampleCount() < 2 {
		t.Errorf("want the time of at least 2 looks, got %v", seconds)
	}
	if wrong := w.measures("sluice_source_errors"); len(wrong) != 1 || wrong[0].GetGauge().GetValue() != 2 {
		t.Errorf("want 2 errors, got %v", wrong)
	}
	if err := w.Delete(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	cptest.Eventually(t, soon, func() error {
		if len(w.measures("sluice_source_syncs_total"))+len(w.measures("sluice_source_sync_duration_seconds"))+len(w.measures("sluice_source_errors")) > 0 {
			return errors.New("a source that is gone has series")
		}
		return nil
	})
}

// measures returns the series of a metric for the sources of the world.
func (w *world) measures(name string) []*dto.Metric {
	w.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return slices.DeleteFunc(family.GetMetric(), func(m *dto.Metric) bool { return m.GetLabel()[0].GetValue() != w.namespace })
		}
	}
	return nil
}
