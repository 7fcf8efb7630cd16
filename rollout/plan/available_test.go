package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// cantMake says that the ReplicaSet can't make pods, for so long.
func cantMake(message string, since time.Duration) func(*Set) {
	return func(s *Set) {
		s.Failure = &mover.Failure{Reason: v1alpha1.ReasonFailedCreate, Message: message, Since: noon.Add(-since)}
	}
}

func missing(o *Observation) { o.Workload = nil }

func TestPodsAreToldAsADeploymentTellsThem(t *testing.T) {
	t.Parallel()
	const enough, tooFew = "Available=True MinimumReplicasAvailable", "Available=False MinimumReplicasUnavailable"
	quota := func(s *Set) { cantMake("exceeded quota", time.Minute)(s) }
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"all pods of two versions are available": {held(10).sets(set("v1", 7), set("v2", 3)), []string{enough}},
		"one too few is":                         {held(10).sets(set("v1", 7), set("v2", 3, available(2))), []string{tooFew}},
		"as many as maxUnavailable may be missing": {
			held(10).bounds("1", "2").sets(set("v1", 7, available(6)), set("v2", 3, available(2))), []string{enough},
		},
		"ready is not available": {held(10).sets(set("v1", 7), set("v2", 3, warming(1))), []string{tooFew}},
		"at rest, too":           {completed(10).resolved("v1").sets(set("v1", 10, available(9))), []string{tooFew}},
		"no pods are wanted":     {completed(0).resolved("v1"), []string{enough}},
		"pods can't be made": {
			held(10).sets(set("v1", 10), set("v2", 1, available(0), current(0), quota)),
			[]string{enough, "ReplicaFailure=True FailedCreate: exceeded quota"},
		},
		"of two failures the newest is told": {
			held(10).sets(set("v1", 10, cantMake("new", 0)), set("v2", 1, available(0), cantMake("old", time.Hour))),
			[]string{enough, "ReplicaFailure=True FailedCreate: new"},
		},
		"of two of a time, that of the newer ReplicaSet": {
			held(10).sets(set("v2", 1, available(0), cantMake("v2", 0)), set("v1", 10, cantMake("v1", 0))),
			[]string{enough, "ReplicaFailure=True FailedCreate: v2"},
		},
		"pods can't be deleted": {
			held(10).sets(set("v1", 10, cantMake("forbidden", 0), func(s *Set) { s.Failure.Reason = v1alpha1.ReasonFailedDelete })),
			[]string{enough, "ReplicaFailure=True FailedDelete: forbidden"},
		},
		"a reason that no condition may have": {
			held(10).sets(set("v1", 10, cantMake("why", 0), func(s *Set) { s.Failure.Reason = "" })),
			[]string{enough, "ReplicaFailure=True FailedCreate: why"},
		},
		"they can be made again": {told(held(10).sets(set("v1", 10, quota))).sets(set("v1", 10)), []string{enough}},
		"there is no workload":   {told(held(10).sets(set("v1", 10, quota))).but(missing), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			conditions := next(t, test.scene).Status.Conditions
			if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionAvailable); c != nil {
				got = append(got, c.Type+"="+string(c.Status)+" "+c.Reason)
			}
			if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionReplicaFailure); c != nil {
				got = append(got, c.Type+"="+string(c.Status)+" "+c.Reason+": "+c.Message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

// told returns the scene after a pass.
func told(s *scene) *scene {
	s.Release.Status = Next(s.Observation).Status
	return s
}

// TestTotalsAreCountedUntilTheEnd: at rest the Deployment counts pods, and only the values in
// conditions are written here.
func TestTotalsAreCountedUntilTheEnd(t *testing.T) {
	t.Parallel()
	totals := func(s *v1alpha1.BatchReleaseStatus) [3]int32 {
		return [3]int32{s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas}
	}
	mixed := []Set{set("v1", 7, available(6)), set("v2", 4, warming(1))}
	lost := completed(10).resolved("v1").sets(set("v1", 10, available(8))).status(func(s *v1alpha1.BatchReleaseStatus) {
		s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas = 10, 10, 10
	})
	suspended := held(10).sets(mixed...)
	suspended.Release.Spec.Suspend = true
	tests := map[string]struct {
		scene *scene
		want  [3]int32
	}{
		"those that are to go do not": {held(10).sets(set("v1", 7, current(8), available(8)), set("v2", 3)), [3]int32{10, 10, 0}},
		"both versions count":         {held(10).sets(mixed...), [3]int32{10, 9, 2}},
		"while it stands":             {suspended, [3]int32{10, 9, 2}},
		"at the end":                  {handedBack(10), [3]int32{10, 10, 0}},
		"at rest no more":             {lost, [3]int32{10, 10, 0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := next(t, test.scene)
			if got := totals(&p.Status); got != test.want {
				t.Errorf("ready, available, unavailable are %v, want %v (%s)", got, test.want, p.Status.Phase)
			}
		})
	}
}

// TestAvailabilityIsNotUrgentAndFailureIs: pods that come and go cost no write each; that some
// can't be made is reported at once.
func TestAvailabilityIsNotUrgentAndFailureIs(t *testing.T) {
	t.Parallel()
	before := told(held(10).sets(set("v1", 10))).Release.Status
	tests := map[string]struct {
		condition metav1.Condition
		want      bool
	}{
		"availability": {metav1.Condition{Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonMinimumUnavailable}, false},
		"failure":      {metav1.Condition{Type: v1alpha1.ConditionReplicaFailure, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonFailedCreate}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := before.DeepCopy()
			after.ReadyReplicas, after.AvailableReplicas, after.UnavailableReplicas = 3, 2, 1
			meta.SetStatusCondition(&after.Conditions, test.condition)
			if got := Urgent(&before, after); got != test.want {
				t.Errorf("urgent is %t, want %t", got, test.want)
			}
		})
	}
}
