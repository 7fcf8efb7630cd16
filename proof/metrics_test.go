package proof_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/proof"
)

// TestMetricsGates: a metrics gate is proven by the evidence of all its metrics, or by the answer
// of a person.
func TestMetricsGates(t *testing.T) {
	t.Parallel()
	k := newKeys(t, rand.NewChaCha8([32]byte{17}))
	policy := v1alpha1.GatePolicy{Metrics: &v1alpha1.MetricsGate{Provider: "prometheus", Metrics: []v1alpha1.GateMetric{
		{Name: "errors"}, {Name: "latency"}, {Name: "tried", DryRun: true},
	}}}
	for name, tc := range map[string]struct {
		kinds []string
		want  proof.Outcome
	}{
		"both":     {[]string{gate.EvidenceMetricPassed, gate.EvidenceMetricPassed}, proof.Proven},
		"a person": {[]string{gate.EvidenceAnswer}, proof.Proven},
		"one":      {[]string{gate.EvidenceMetricPassed}, proof.Refuted},
		"failed":   {[]string{gate.EvidenceMetricPassed, gate.EvidenceMetricFailed}, proof.Refuted},
		"a soak":   {[]string{gate.EvidenceSoakElapsed, gate.EvidenceSoakElapsed}, proof.Refuted},
		"none":     {nil, proof.Refuted},
	} {
		w := newWorld(t, k, template(1), policy)
		w.gates[0].Status.Evidence = nil
		for _, kind := range tc.kinds {
			w.gates[0].Status.Evidence = append(w.gates[0].Status.Evidence, v1alpha1.Evidence{Kind: kind, Actor: "ada"})
		}
		w.sign(t, 0)
		if verdict := proof.Check(w.bundle, k.roots()); verdict.Outcome != tc.want {
			t.Errorf("%s: want %s, got %+v", name, tc.want, verdict)
		}
	}
}
