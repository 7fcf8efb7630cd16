package approvals

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/judge"
	"github.com/sluice-dev/sluice/judge/counters"
)

// TestReadingsWithoutIncrements: a second reading that can't add to a version names the trouble.
// One that can names none, though some of its pods are young or lag behind.
func TestReadingsWithoutIncrements(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1_800_000_000, 0)
	pod := func(name string, isNew bool, age time.Duration) counters.Pod {
		return counters.Pod{Name: name, UID: name, New: isNew, Since: begin.Add(-age)}
	}
	pods := []counters.Pod{pod("old-1", false, time.Hour), pod("old-2", false, time.Hour), pod("new-1", true, time.Minute), pod("new-2", true, time.Second)}
	for name, c := range map[string]struct {
		second map[string]judge.Count
		young  time.Duration
		want   v1alpha1.MetricTrouble
	}{
		"all grow":               {second: map[string]judge.Count{"old-1": {Requests: 20}, "old-2": {Requests: 20}, "new-1": {Requests: 20}, "new-2": {Requests: 20}}},
		"one of each lags":       {second: map[string]judge.Count{"old-1": {Requests: 5}, "old-2": {Requests: 20}, "new-1": {Requests: 20}, "new-2": {Requests: 5}}},
		"one of each is missing": {second: map[string]judge.Count{"old-1": {Requests: 20}, "new-1": {Requests: 20}}},
		"the old ones fall": {
			second: map[string]judge.Count{"old-1": {Requests: 5}, "old-2": {Requests: 5}, "new-1": {Requests: 20}, "new-2": {Requests: 20}},
			want:   v1alpha1.TroubleBadAnswer,
		},
		"the new ones are no numbers": {
			second: map[string]judge.Count{"old-1": {Requests: 20}, "old-2": {Requests: 20}, "new-1": {Requests: math.NaN()}, "new-2": {Errors: math.NaN()}},
			want:   v1alpha1.TroubleBadAnswer,
		},
		"one falls, and the other is young": {
			second: map[string]judge.Count{"old-1": {Requests: 20}, "old-2": {Requests: 20}, "new-1": {Requests: 5}, "new-2": {Requests: 20}},
			young:  30 * time.Second, want: v1alpha1.TroubleBadAnswer,
		},
		"the new ones are young": {
			second: map[string]judge.Count{"old-1": {Requests: 20}, "old-2": {Requests: 20}, "new-1": {Requests: 20}, "new-2": {Requests: 20}},
			young:  2 * time.Minute, want: v1alpha1.TroubleNoNewPods,
		},
		"all are young": {
			second: map[string]judge.Count{"old-1": {Requests: 20}, "old-2": {Requests: 20}, "new-1": {Requests: 20}, "new-2": {Requests: 20}},
			young:  2 * time.Hour, want: v1alpha1.TroubleNoOldPods,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := metricWatch{bounds: []string{""}}
			first := map[string]judge.Count{"old-1": {Requests: 10}, "old-2": {Requests: 10}, "new-1": {Requests: 10}, "new-2": {Requests: 10}}
			look := func(counts map[string]judge.Count, after time.Duration) error {
				return w.look(&gate.MetricReading{}, []map[string]judge.Count{counts}, begin.Add(after), pods, c.young)
			}
			_ = look(first, 0)
			err := look(c.second, time.Second)
			said, _ := errors.AsType[readingError](err)
			if said.trouble != c.want {
				t.Errorf("want the trouble %q, got %v", c.want, err)
			}
		})
	}
}
