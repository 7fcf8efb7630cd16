package sim

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestTrainMadeAgain: records that members have of a train that was deleted say nothing about the
// runs of another one with its name, which counts from 1 again.
func TestTrainMadeAgain(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]v1alpha1.TrainProgress{
		"refused":       {Attempt: 2, Answer: v1alpha1.MemberRefused},
		"can't return":  {Attempt: 2, Answer: v1alpha1.MemberCannotReturn},
		"done":          {Attempt: 2, Done: 2},
		"any number":    {Attempt: 1<<63 - 1, Done: 1},
		"later refused": {Attempt: 3, Answer: v1alpha1.MemberRefused},
	} {
		setup := FleetSetup{Steps: Steps("1 none", "100%"), OnFailure: v1alpha1.FailureRollback}
		for range 2 {
			setup.Members = append(setup.Members, Setup{Replicas: 2, HistoryLimit: 2, Deadline: time.Hour})
		}
		w := &fleetWalk{f: NewFleet(setup)}
		w.laws = watchFleet(w.f)
		w.calmDown()
		w.f.Members[1].World.updateRelease(func(r *Release) { r.Status.Train = &record })
		w.f.Push("v2", []int{0, 1}, []int{0, 1, 2})
		w.calmDown()
		train := w.f.Train.Release.Status
		if w.fault != "" || train.Rollback != nil || train.Phase != v1alpha1.PhaseCompleted {
			t.Errorf("%s: want v2 released, got %s: %s\n%s", name, w.fault, train.Message, w.f)
		}
		for _, member := range w.f.Members {
			if status := member.Release.Status; status.Resolved.Given != Given("v2") || status.Rollback != nil || status.Phase != v1alpha1.PhaseCompleted {
				t.Errorf("%s: want v2, got %s", name, w.f)
			}
		}
	}
}
