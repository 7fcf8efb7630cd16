package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func failing(why string) func(*Observation) { return func(o *Observation) { o.Failing = &why } }

func TestCheckDeadline(t *testing.T) {
	t.Parallel()
	late := func(d time.Duration) *scene {
		return held(10).sets(set("v1", 10), set("v2", 1, available(0))).status(func(s *v1alpha1.BatchReleaseStatus) {
			s.Progress.Since.Time = noon.Add(-d)
		})
	}
	const (
		upgrading = "RollingUpdate 1/3 Upgrade StepUpgrading"
		failed    = "Failed 1/3 Upgrade ProgressDeadlineExceeded"
		stalled   = "ProgressDeadlineExceeded: batch 1/3: no progress for 10m0s: 1 pod can't pull its image"
	)
	checkPlans(t, map[string]planned{
		"before the deadline it is looked at again then": {late(time.Minute), outcome{Is: upgrading, Wake: 9 * time.Minute}},
		"at the deadline it is asked what is wrong with the pods": {
			late(tenMinutes), outcome{Script: []string{"needs failing"}, Is: upgrading},
		},
		"and the sets are read live: a pod may have become available": {
			late(tenMinutes).cached(), outcome{Script: []string{"needs sets, failing"}, Is: upgrading},
		},
		"then the release fails and says why": {
			late(tenMinutes).but(failing("1 pod can't pull its image")), outcome{Is: failed, Stalled: stalled},
		},
		"a step that waits for a gate has no deadline": {
			late(time.Hour).sets(set("v1", 9), set("v2", 1)).gates(gate(1, 0, 0)).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.CurrentStepState = v1alpha1.StepBlocking
				s.Gates = []v1alpha1.GateReference{{Name: "web-v2-1-0-0", Type: v1alpha1.GateManual}}
				s.Progress.Available = 1
			}),
			outcome{Is: "RollingUpdate 1/3 Blocking StepBlocking"},
		},
	})
}

func TestAFailedReleaseIsHeldWhereItStands(t *testing.T) {
	t.Parallel()
	failed := func(s *v1alpha1.BatchReleaseStatus) {
		s.Phase, s.Reason, s.Message = v1alpha1.PhaseFailed, v1alpha1.ReasonDeadlineExceeded, "too late"
	}
	const stalled = "ProgressDeadlineExceeded: too late"
	checkPlans(t, map[string]planned{
		"pods that become available late in an earlier step change nothing": {
			doneStep().status(failed), outcome{Is: "Failed 1/3 Upgrade ProgressDeadlineExceeded", Stalled: stalled},
		},
		"in the last step they complete it: there is nothing left to hold back": {
			held(10).at(2, 10).status(failed).sets(set("v1", 0), set("v2", 10)),
			outcome{Script: []string{"hand back: all pods run revision v2"}, Is: "Finalizing 3/3 Completed HandingBack"},
		},
		"but all of them, and as many as are wanted": {
			held(10).at(2, 10).status(failed).sets(set("v1", 1), set("v2", 9, available(10))),
			outcome{Is: "Failed 3/3 Upgrade ProgressDeadlineExceeded", Stalled: stalled},
		},
	})
}

// TestProgressOfPodsOnTheirWayOut: pods that are still available after their ReplicaSet was scaled down are no progress, or
// the mark would go up and down with every pass.
func TestProgressOfPodsOnTheirWayOut(t *testing.T) {
	t.Parallel()
	s := held(4).sets(set("v1", 4), set("v2", 0, available(1), current(1))).status(func(status *v1alpha1.BatchReleaseStatus) {
		status.Progress = &v1alpha1.Progress{Since: metav1.NewTime(noon)}
	})
	p := s.pass()
	p.recordProgress()
	if got := p.status.Progress.Available; got != 0 {
		t.Errorf("want no progress by pods that are going, got %d", got)
	}
}
