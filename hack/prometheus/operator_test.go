package prometheus

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"sigs.k8s.io/yaml"
)

// TestOperatorTakes: the objects for the Prometheus operator have its fields and no others, and
// the file's rules.
func TestOperatorTakes(t *testing.T) {
	t.Parallel()
	var rule monitoringv1.PrometheusRule
	decode(t, "prometheus_rule.yaml", &rule)
	text, err := yaml.Marshal(rule.Spec)
	if err != nil {
		t.Fatal(err)
	}
	got, errs := rulefmt.Parse(text, false, model.LegacyValidation, promql, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatalf("PrometheusRule: %v", errs)
	}
	want, errs := rulefmt.ParseFile(rulesFile(), false, model.LegacyValidation, promql, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-alerts.yaml +prometheus_rule.yaml (make generate):\n%s", diff)
	}
}

// TestMonitorKeepsLabels: without honorLabels the namespace of the controller would hide that of a
// release; and the job, by which alerts find the controllers, has the name of the Service.
func TestMonitorKeepsLabels(t *testing.T) {
	t.Parallel()
	var monitor monitoringv1.ServiceMonitor
	decode(t, "service_monitor.yaml", &monitor)
	if len(monitor.Spec.Endpoints) != 1 || !monitor.Spec.Endpoints[0].HonorLabels || monitor.Spec.JobLabel != "" {
		t.Errorf("want one endpoint with honorLabels, and no other name for the job, got %+v", monitor.Spec)
	}
}

func decode(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
