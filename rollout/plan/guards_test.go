package plan

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestAnyGuardTurnsRound: a guard whose rejection rolls the release back does so, though another
// guard has stopped the release before.
func TestAnyGuardTurnsRound(t *testing.T) {
	t.Parallel()
	stops := v1alpha1.GatePolicy{Metrics: &v1alpha1.MetricsGate{Provider: "a"}}
	turns := v1alpha1.GatePolicy{Metrics: &v1alpha1.MetricsGate{Provider: "b"}, OnReject: v1alpha1.RejectRollback}
	for name, tc := range map[string]struct {
		guards   []v1alpha1.GatePolicy
		rejected []int32
		want     string // the guard that rolls the release back
	}{
		"one that stops":            {[]v1alpha1.GatePolicy{stops}, []int32{0}, ""},
		"one that turns":            {[]v1alpha1.GatePolicy{turns}, []int32{0}, "web-v2-1-0-2000"},
		"one that stops, then both": {[]v1alpha1.GatePolicy{stops, turns}, []int32{0, 1}, "web-v2-1-0-2001"},
		"another one has stopped":   {[]v1alpha1.GatePolicy{turns, stops}, []int32{1}, ""},
	} {
		var gates []v1alpha1.Gate
		for _, at := range tc.rejected {
			gates = append(gates, gate(1, 0, v1alpha1.GuardIndex+at, rejected, asking(tc.guards[at])))
		}
		s := held(10).sets(set("v1", 9), set("v2", 1)).gates(gates...).but(func(o *Observation) { o.Release.Spec.Strategy.Guards = tc.guards })
		back := next(t, s).Status.Rollback
		if (back != nil) != (tc.want != "") || back != nil && back.Trigger != v1alpha1.TriggerGateRejected {
			t.Errorf("%s: the release has the rollback %+v, want one for %q", name, back, tc.want)
		}
	}
}
