package report

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestForcedIsTold: every report of a release that had a gate forced says that, by whom and why.
func TestForcedIsTold(t *testing.T) {
	t.Parallel()
	gate := v1alpha1.ForcedGate{Type: v1alpha1.GateSoak, Force: v1alpha1.Force{By: "ada", Reason: "INC-42"}}
	forced := func(status *v1alpha1.BatchReleaseStatus) { status.Forced = []v1alpha1.ForcedGate{gate, gate} }
	cases := map[string]*scene{
		"batch 2/4: updating to 3 of 10 pods (gate 1 forced by ada: INC-42)": rolling(good).status(forced),
		"released: 10/10 updated to 7f9c (gate 1 forced by ada: INC-42)":     rolling(good).completed().status(forced),
		"released: 10/10 updated to 58d4 (gate 1 forced by ada: INC-42)": rolling("").ended(good, "").told(good, toldUpdating, "batch 1/4").status(func(s *v1alpha1.BatchReleaseStatus) {
			s.Ended[0].Forced = []v1alpha1.ForcedGate{gate}
		}),
	}
	for want, s := range cases {
		requests := Next(s.release, s.gates, Options{})
		if len(requests) != 1 || requests[0].Status.Description != want {
			t.Errorf("want %q told, got %+v", want, requests)
		}
	}
}

// ended returns the release before, which completed.
func (s *scene) ended(commit string, trigger v1alpha1.RollbackTrigger) *scene {
	s.release.Status.Ended = []v1alpha1.EndedRelease{{Commit: commit, Revision: "58d4", Replicas: 10, Trigger: trigger}}
	return s
}

// takenBack has the cluster told to roll the commit back.
func (s *scene) takenBack() *scene {
	return s.status(func(status *v1alpha1.BatchReleaseStatus) {
		status.Phase, status.Batch, status.Attempt = v1alpha1.PhaseRollingBack, "", status.Attempt+1
		status.UpdateRevision, status.Quarantined = "58d4", []string{"7f9c"}
		status.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerAnnotation, From: "7f9c", Message: "rollback=true was requested"}
	})
}

// because says why it is rolled back.
func (s *scene) because(trigger v1alpha1.RollbackTrigger, message string) *scene {
	s.release.Status.Rollback.Trigger, s.release.Status.Rollback.Message = trigger, message
	return s
}
