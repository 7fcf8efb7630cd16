package charts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// monitored are the values by which the chart has all that Prometheus and Grafana take.
var monitored = []string{
	"--set=metrics.serviceMonitor.enabled=true,metrics.prometheusRule.enabled=true,metrics.grafanaDashboard.enabled=true",
}

// TestMonitoringIsComponent: whichever way Sluice is installed, Prometheus and Grafana get the
// same.
func TestMonitoringIsComponent(t *testing.T) {
	t.Parallel()
	want := monitoring(cptest.Decode(t, cptest.Kubectl(t, "kustomize", withComponent(t))))
	got := monitoring(cptest.Decode(t, template(t, "sluice-system", monitored...)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-kustomize +chart:\n%s", diff)
	}
	if len(got) != 3 {
		t.Errorf("want a ServiceMonitor, a PrometheusRule and a ConfigMap, got %d", len(got))
	}
}

// withComponent makes a kustomization of all of Sluice, with the component.
func withComponent(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	var paths []any
	for _, path := range []string{"../config", "../config/components/monitoring"} {
		there, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		if path, err = filepath.Rel(folder, there); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	text := fmt.Sprintf("resources: [%q]\ncomponents: [%q]\n", paths...)
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// monitoring returns the objects for Prometheus and Grafana, in comparable form.
func monitoring(objects []*unstructured.Unstructured) map[string]any {
	named := comparable(objects)
	for name := range named {
		kind, _, _ := strings.Cut(name, " ")
		if kind != "ServiceMonitor" && kind != "PrometheusRule" && kind != "ConfigMap" {
			delete(named, name)
		}
	}
	return named
}

// TestMonitoringIsChosen: without the choice there is none of it.
func TestMonitoringIsChosen(t *testing.T) {
	t.Parallel()
	if got := monitoring(cptest.Decode(t, template(t, "sluice-system"))); len(got) > 0 {
		t.Errorf("want nothing for Prometheus and Grafana, got %v", got)
	}
}

// TestAlertsAreChanged: a value changes the alert that it names, and no other.
func TestAlertsAreChanged(t *testing.T) {
	t.Parallel()
	shipped := rulesOf(t)
	changed := rulesOf(t, "--set=metrics.prometheusRule.alerts.SluiceGateWaits.limit=172800",
		"--set=metrics.prometheusRule.alerts.SluiceGateWaits.for=10m",
		"--set-json=metrics.prometheusRule.alerts.SluiceQueueBacklog.limit=0.5",
		"--set=metrics.prometheusRule.alerts.SluiceQueueBacklog.severity=critical",
		"--set=metrics.prometheusRule.alerts.SluiceQueueBacklog.labels.team=shop",
		"--set=metrics.prometheusRule.alerts.SluiceDown.enabled=false")

	delete(shipped, "SluiceDown")
	waits := shipped["SluiceGateWaits"]
	waits["expr"] = strings.TrimSuffix(waits["expr"].(string), "86400") + "172800"
	waits["for"] = "10m"
	backlog := shipped["SluiceQueueBacklog"]
	backlog["expr"] = strings.TrimSuffix(backlog["expr"].(string), "100") + "0.5"
	backlog["labels"] = map[string]any{"severity": "critical", "team": "shop"}
	if diff := cmp.Diff(shipped, changed); diff != "" {
		t.Errorf("-want +changed:\n%s", diff)
	}
}

// rulesOf returns the alerts of the chart with values, by name.
func rulesOf(t *testing.T, values ...string) map[string]map[string]any {
	t.Helper()
	objects := cptest.Decode(t, template(t, "sluice-system", append(values,
		"--set=metrics.prometheusRule.enabled=true", "--show-only=templates/prometheus_rule.yaml")...))
	groups, _, err := unstructured.NestedSlice(objects[0].Object, "spec", "groups")
	if err != nil || len(groups) == 0 {
		t.Fatalf("want groups of rules, got %v, %v", groups, err)
	}
	named := map[string]map[string]any{}
	for _, group := range groups {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			rule := rule.(map[string]any)
			named[rule["alert"].(string)] = rule
		}
	}
	return named
}

// TestAlertsThatAreNotThere: a name or a limit that changes nothing is refused, and the right ones
// are named.
func TestAlertsThatAreNotThere(t *testing.T) {
	t.Parallel()
	for set, says := range map[string]string{
		"SluiceGateWait.limit=60":      "there is no alert SluiceGateWait; there are SluiceDown, ",
		"SluiceDown.limit=60":          "SluiceDown: this alert has no limit",
		"SluiceGateWaits.limit=many":   "limit",
		"SluiceGateWaits.for=never":    "for",
		"SluiceGateWaits.severity=meh": "severity",
		"SluiceGateWaits.expr=up":      "expr",
	} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			out, err := helm(t, "template", "sluice", "sluice", "--set=metrics.prometheusRule.enabled=true",
				"--set=metrics.prometheusRule.alerts."+set).CombinedOutput()
			if err == nil || !strings.Contains(string(out), says) {
				t.Errorf("want it refused with %q, got %v:\n%s", says, err, out)
			}
		})
	}
}
