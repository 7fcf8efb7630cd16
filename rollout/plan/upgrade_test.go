package plan

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A release that is under way when the controller is replaced goes on from the status that the version before has written:
// it knew no time at which a step was entered, and kept the cause of a failure in the message alone.
func TestStatusOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	earlier := func(s *scene) *scene {
		return s.status(func(s *v1alpha1.BatchReleaseStatus) { s.StepStartedAt, s.Failure = nil, nil })
	}
	tests := map[string]struct {
		scene   *scene
		step    int32
		entered bool
		message string
	}{
		"in a batch": {
			earlier(held(10).at(1, 5).sets(set("v1", 6), set("v2", 4))), 1, true, "batch 2/3: updating to 5 pods of 10",
		},
		"before the first, without live reads": {
			earlier(held(10).sets(set("v1", 10)).status(noBatch)).but(func(o *Observation) { o.Live &^= ReadCounts }), 0, false, "taking over the workload",
		},
		"failed": {
			earlier(held(10).at(1, 5).sets(set("v1", 6), set("v2", 4, available(0))).status(func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed })),
			1, true, "batch 2/3: no progress for 10m0s",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := next(t, test.scene).Status
			if status.CurrentStepIndex != test.step || (status.StepStartedAt != nil) != test.entered || status.Message != test.message {
				t.Errorf("step %d, entered %t: %s; want step %d, entered %t: %s",
					status.CurrentStepIndex, status.StepStartedAt != nil, status.Message, test.step, test.entered, test.message)
			}
		})
	}
}
