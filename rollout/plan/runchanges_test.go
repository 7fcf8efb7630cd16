package plan

import (
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestRunChanges: members are named for which a train decides something, also those that are in the
// run no more.
func TestRunChanges(t *testing.T) {
	t.Parallel()
	run := func(share *int32, members ...v1alpha1.RunMember) *v1alpha1.TrainRun {
		return &v1alpha1.TrainRun{Members: members, UpdatedPercent: share}
	}
	a, b := v1alpha1.RunMember{Name: "a", Steps: 1}, v1alpha1.RunMember{Name: "b", Steps: 1}
	further := a
	further.Steps = 2
	first := v1alpha1.BatchReleaseStatus{Attempt: 1, Run: run(nil, a, b)}
	for name, c := range map[string]struct {
		is   v1alpha1.BatchReleaseStatus
		want []string
	}{
		"nothing":             {first, nil},
		"a may do more":       {v1alpha1.BatchReleaseStatus{Attempt: 1, Run: run(nil, further, b)}, []string{"a"}},
		"all may update more": {v1alpha1.BatchReleaseStatus{Attempt: 1, Run: run(new(int32(10)), a, b)}, []string{"a", "b"}},
		"another run":         {v1alpha1.BatchReleaseStatus{Attempt: 2, Run: run(nil, a)}, []string{"a", "b"}},
		"the end":             {v1alpha1.BatchReleaseStatus{Attempt: 1, Phase: v1alpha1.PhaseFinalizing, Run: run(nil, a, b)}, []string{"a", "b"}},
	} {
		if got := RunChanges(&first, &c.is); !slices.Equal(got, c.want) {
			t.Errorf("%s: want %v, got %v", name, c.want, got)
		}
	}
}
