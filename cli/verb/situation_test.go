package verb

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestSameGates: an answer stands when the release is written meanwhile, unless it has come to
// other gates.
func TestSameGates(t *testing.T) {
	t.Parallel()
	at := func(attempt int64, gates ...v1alpha1.GateReference) *v1alpha1.BatchRelease {
		return &v1alpha1.BatchRelease{Status: v1alpha1.BatchReleaseStatus{Attempt: attempt, Gates: gates}}
	}
	opened := v1alpha1.GateReference{Name: "web-1", Type: v1alpha1.GateManual}
	waiting := v1alpha1.GateReference{Name: "web-1", Type: v1alpha1.GateManual, Decision: v1alpha1.DecisionWaiting}
	next := v1alpha1.GateReference{Name: "web-2", Type: v1alpha1.GateManual, Decision: v1alpha1.DecisionWaiting}
	for name, c := range map[string]struct {
		now  *v1alpha1.BatchRelease
		want bool
	}{
		"the gate is judged meanwhile": {at(1, waiting), true},
		"another gate":                 {at(1, next), false},
		"one more gate":                {at(1, waiting, next), false},
		"another attempt":              {at(2, opened), false},
		"no gate":                      {at(1), false},
	} {
		if got := SameGates(at(1, opened), c.now); got != c.want {
			t.Errorf("%s: want %t, got %t", name, c.want, got)
		}
	}
}
