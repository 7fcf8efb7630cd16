package plan

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestTakeOverThatNobodyRecorded: a template that is not the released one is a release that began
// unrecorded only if the release before was completed. In mid-release it is an edit.
func TestTakeOverThatNobodyRecorded(t *testing.T) {
	t.Parallel()
	other := func(s *v1alpha1.BatchReleaseStatus) { s.Resolved = resolved("v0") }
	completed := func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseCompleted }
	none := func(s *v1alpha1.BatchReleaseStatus) { s.Resolved = nil }
	tests := map[string]struct {
		scene *scene
		want  bool
	}{
		"the first release has no record yet":        {held(10).status(none), true},
		"the record is of the release before":        {held(10).status(other).status(completed), true},
		"it is of this one":                          {held(10).status(completed), false},
		"the workload is edited in mid-release":      {held(10).status(other), false},
		"the workload is not taken over: none began": {running(10).status(none), false},
		"... nor one that its user has paused":       {running(10).but(paused).status(none), false},
		"... with the strategy that we hold with":    {running(10).but(paused).but(recreate).status(none), false},
		"somebody has unpaused it":                   {held(10).but(unpaused).status(none), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.scene.look().hold().unrecorded(); got != test.want {
				t.Errorf("a release began unrecorded: %t, want %t", got, test.want)
			}
		})
	}
}
