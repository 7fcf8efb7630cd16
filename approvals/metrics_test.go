package approvals_test

import (
	"fmt"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestBudgetIsAMetric: the budget of each source can be watched.
func TestBudgetIsAMetric(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.forge.SetRateLimit(4000)
	w.startForgeApprovals()
	w.awaitPull(w.blockOn(w.releaseFrom("shop", "web"), approval()))
	cptest.Eventually(t, soon, func() error {
		limit, remaining, sent := w.metric("sluice_forge_requests_limit"), w.metric("sluice_forge_requests_remaining"), w.metric("sluice_forge_requests")
		if limit != 4000 || remaining <= 0 || remaining >= 4000 || sent < 4 {
			return fmt.Errorf("want a limit of 4000 with some of it used, got limit %v, remaining %v, sent %v", limit, remaining, sent)
		}
		return nil
	})
}

// metric returns the value of a gauge for the source "shop" of the world.
func (w *forgeWorld) metric(name string) float64 {
	w.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			if labelOf(m, "namespace") == w.namespace && labelOf(m, "source") == "shop" {
				return m.GetGauge().GetValue()
			}
		}
	}
	return -1
}

func labelOf(m *dto.Metric, name string) string {
	for _, label := range m.GetLabel() {
		if label.GetName() == name {
			return label.GetValue()
		}
	}
	return ""
}
