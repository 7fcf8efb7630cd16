package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestConditionsFollowKstatus(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"completed":          {completed(10).resolved("v1"), []string{"Ready"}},
		"under way":          {held(10).sets(set("v1", 10)), []string{"Reconciling", "Progressing", "TakenOver"}},
		"waiting for a gate": {doneStep(), []string{"Reconciling", "TakenOver"}},
		"a gate was rejected": {
			doneStep().gates(gate(1, 0, 0, rejected)), []string{"Reconciling", "Stalled", "TakenOver"},
		},
		"failed": {
			doneStep().status(func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }), []string{"Stalled", "TakenOver"},
		},
		"completed, the next template is refused": {completed(10).but(refused), []string{"Stalled"}},
		"completed, the workload is gone":         {completed(10).but(func(o *Observation) { o.Workload = nil }), nil},
		"the workload is another release's": {
			running(10).but(func(o *Observation) { o.Workload.Hold = &Hold{Release: "other"} }), []string{"Stalled"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conditions := next(t, test.scene).Status.Conditions
			var got []string
			for _, kind := range []string{"Ready", "Reconciling", "Stalled", "Progressing", "TakenOver"} {
				if meta.IsStatusConditionTrue(conditions, kind) {
					got = append(got, kind)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("conditions that are true (-want +got):\n%s", diff)
			}
			for _, c := range conditions {
				if c.ObservedGeneration != 3 || c.Reason == "" {
					t.Errorf("condition %s has generation %d and reason %q", c.Type, c.ObservedGeneration, c.Reason)
				}
			}
		})
	}
}

func TestAnnounceTellsPeopleOnce(t *testing.T) {
	t.Parallel()
	again := func(s *scene) *scene {
		s.Release.Status = Next(s.Observation).Status
		return s
	}
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"a step blocks":                    {doneStep(), []string{"StepBlocking"}},
		"it still blocks":                  {again(doneStep()), nil},
		"a gate is rejected":               {doneStep().gates(gate(1, 0, 0, rejected)), []string{"warning GateRejected"}},
		"a template is refused":            {completed(10).but(refused), []string{"warning InvalidTemplate"}},
		"it is still refused":              {again(completed(10).but(refused)), nil},
		"a rollback starts":                {held(10).but(rollback("true")), []string{"RollingBack"}},
		"a release starts":                 {running(10), []string{"TakingOver"}},
		"a release ends":                   {handedBack(10), []string{"Completed"}},
		"there is nothing to roll back to": {completed(10).resolved("v1").but(rollback("v7")), []string{"warning RollbackRevisionNotFound"}},
		"the workload is missing":          {running(10).but(func(o *Observation) { o.Workload = nil }), []string{"warning WorkloadNotFound"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, event := range next(t, test.scene).Events {
				word := event.Reason
				if event.Warning {
					word = "warning " + word
				}
				got = append(got, word)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUrgentIsWhatPeopleAreTold(t *testing.T) {
	t.Parallel()
	later := metav1.NewTime(noon.Add(time.Hour))
	tests := map[string]struct {
		change func(*v1alpha1.BatchReleaseStatus)
		want   bool
	}{
		"nothing": {func(*v1alpha1.BatchReleaseStatus) {}, false},
		"counts": {func(s *v1alpha1.BatchReleaseStatus) {
			s.UpdatedReplicas, s.UpdatedReadyReplicas, s.UpdatedAvailableReplicas = 3, 2, 1
		}, false},
		"progress":      {func(s *v1alpha1.BatchReleaseStatus) { s.Progress = &v1alpha1.Progress{Available: 7} }, false},
		"time":          {func(s *v1alpha1.BatchReleaseStatus) { s.LastUpdateTime = &later }, false},
		"a phase":       {func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }, true},
		"a step":        {func(s *v1alpha1.BatchReleaseStatus) { s.CurrentStepIndex++ }, true},
		"a new message": {func(s *v1alpha1.BatchReleaseStatus) { s.Message = "another" }, true},
		"requests after pods": {func(s *v1alpha1.BatchReleaseStatus) {
			s.State, s.Message = v1alpha1.StateShifting, "another"
			s.Traffic = &v1alpha1.TrafficStatus{Awaits: v1alpha1.AwaitedEndpoints}
		}, false},
		"requests after pods of another step": {func(s *v1alpha1.BatchReleaseStatus) {
			s.State, s.CurrentStepIndex = v1alpha1.StateShifting, s.CurrentStepIndex+1
		}, true},
		"a problem of requests": {func(s *v1alpha1.BatchReleaseStatus) {
			s.State, s.Traffic = v1alpha1.StateShifting, &v1alpha1.TrafficStatus{Problem: &v1alpha1.TrafficProblem{}}
		}, true},
		"the version that serves, which the next write tells": {func(s *v1alpha1.BatchReleaseStatus) { s.Traffic = &v1alpha1.TrafficStatus{StableRevision: "v1"} }, false},
		"requests after a gate":                               {func(s *v1alpha1.BatchReleaseStatus) { s.State = v1alpha1.StateBlocked }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := held(10).Release.Status
			before.State = v1alpha1.StateRolling
			after := before.DeepCopy()
			test.change(after)
			if got := Urgent(&before, after); got != test.want {
				t.Errorf("urgent is %t, want %t", got, test.want)
			}
		})
	}
}

// TestUrgentOfATrain: a permission of members is urgent, and their progress is not: a train has up
// to 2,000 members.
func TestUrgentOfATrain(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*v1alpha1.BatchReleaseStatus)
		want   bool
	}{
		"how far members are": {func(s *v1alpha1.BatchReleaseStatus) {
			s.Message, s.Replicas, s.TargetReplicas, s.UpdatedReplicas = "2 of 3 members done", 12, 6, 6
		}, false},
		"a member may start a step": {func(s *v1alpha1.BatchReleaseStatus) { s.Run.Members[0].Steps++ }, true},
		"a step":                    {func(s *v1alpha1.BatchReleaseStatus) { s.Run.Passed++ }, true},
		"a gate": {func(s *v1alpha1.BatchReleaseStatus) {
			s.State, s.Message = v1alpha1.StateBlocked, "waiting for approval"
		}, true},
		"a member failed": {func(s *v1alpha1.BatchReleaseStatus) { s.State = v1alpha1.StateFailed }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := held(10).Release.Status
			before.State, before.Run = v1alpha1.StateRolling, &v1alpha1.TrainRun{Members: []v1alpha1.RunMember{{Name: "db", Steps: 1}}}
			after := before.DeepCopy()
			test.change(after)
			if got := Urgent(&before, after); got != test.want {
				t.Errorf("urgent is %t, want %t", got, test.want)
			}
		})
	}
}
