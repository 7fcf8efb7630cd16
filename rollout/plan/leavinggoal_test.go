package plan

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestLeavingGoalDrain: pods stay for drainSeconds, or for readySeconds if these are longer.
func TestLeavingGoalDrain(t *testing.T) {
	t.Parallel()
	of := func(traffic *v1alpha1.Traffic) *v1alpha1.BatchRelease {
		return &v1alpha1.BatchRelease{Spec: v1alpha1.BatchReleaseSpec{Strategy: v1alpha1.ReleaseStrategy{Traffic: traffic}}}
	}
	for name, test := range map[string]struct {
		release *v1alpha1.BatchRelease
		want    time.Duration
	}{
		"a release that is gone":  {nil, 10 * time.Second},
		"no traffic any more":     {of(nil), 10 * time.Second},
		"the defaults":            {of(&v1alpha1.Traffic{}), 10 * time.Second},
		"readySeconds are longer": {of(&v1alpha1.Traffic{ReadySeconds: new(int32(60)), DrainSeconds: new(int32(40))}), time.Minute},
		"both are 0":              {of(&v1alpha1.Traffic{ReadySeconds: new(int32(0)), DrainSeconds: new(int32(0))}), 0},
	} {
		if got := LeavingGoal(test.release).DrainFor; got != test.want {
			t.Errorf("%s: want %s, got %s", name, test.want, got)
		}
	}
}
