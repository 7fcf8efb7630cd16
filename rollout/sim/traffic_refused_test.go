package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestRequestsRefusedForGood has each kind of write refused, or not answered, that moves requests or pods of a release with routes, from each
// moment of it on. It says so, or has no need of it, and reaches its end once nothing is refused any more.
func TestRequestsRefusedForGood(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"50% 20%", "50% 50% none", "100%"}, {"100% 0%", "100% 50% none", "100% 100%"}} {
		for _, onFailure := range []v1alpha1.FailurePolicy{v1alpha1.FailurePause, v1alpha1.FailureRollback} {
			setup := Setup{
				Replicas: 3, Steps: Steps(words...), HistoryLimit: 2, MaxSurge: intstr.FromInt32(1), MaxUnavailable: intstr.FromInt32(0),
				Deadline: 24 * time.Hour, OnFailure: onFailure, Traffic: trafficOf(func(t *v1alpha1.Traffic) { t.KeepOldPods = words[0] == "100% 0%" }),
			}
			for _, writes := range slices.Concat(TrafficWrites, []Writes{Growth, Shrinkage, NewSets, HandBacks}) {
				t.Run(fmt.Sprintf("%s, %s, %s", words[0], onFailure, writes), func(t *testing.T) {
					t.Parallel()
					every := 0
					for state := releasing(setup); state != nil; state, _ = Calm(state) {
						if every++; every%4 == 0 {
							requestsRefused(t, state.Clone(), writes)
							back := state.Clone()
							(Event{Kind: Rollback, Text: "true"}).Apply(back)
							requestsRefused(t, back, writes+unanswered)
							gone := state.Clone()
							(Event{Kind: DeleteRelease}).Apply(gone)
							requestsRefused(t, gone, writes)
						}
					}
				})
			}
		}
	}
}

func requestsRefused(t *testing.T, s *State, writes Writes) {
	t.Helper()
	from := s.String()
	Event{Kind: Refuse, Text: string(writes)}.Apply(s)
	for range 2 {
		turnCalmly(s, 25, []Kind{Cure, Retry, Give, Resume, CreateWorkload, Confirm})
		Event{Kind: Elapse}.Apply(s)
	}
	turnCalmly(s, 3, []Kind{Cure, Retry, Give, Resume, CreateWorkload, Confirm})
	switch status := s.Release.Status; {
	case len(s.Broken) > 0:
		t.Errorf("%s: from %s on: %s", writes, from, s.Broken[0])
		return
	case unfinished(s.World) == "", status.CurrentStepState == v1alpha1.StepBlocking:
	case !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled) && status.Reason != v1alpha1.ReasonDrifted:
		t.Errorf("%s: from %s on: it stands as %s and says nothing: %s", writes, from, s.World, status.Message)
	}
	Event{Kind: Cure}.Apply(s)
	Event{Kind: Retry}.Apply(s)
	if s = calmed(s, ended); unfinished(s.World) != "" || len(s.Broken) > 0 {
		t.Errorf("%s: from %s on: cured it ends as %s: %s, broken %v", writes, from, s.World, unfinished(s.World), s.Broken)
	}
}
