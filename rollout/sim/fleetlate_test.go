package sim

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestLateInLockstep: a member of a train in lockstep by percent that begins after the run has
// ended, as one that was made again with an old workload, waits for nobody.
func TestLateInLockstep(t *testing.T) {
	t.Parallel()
	setup := FleetSetup{Steps: Steps("1 none", "100%"), Lockstep: &v1alpha1.Lockstep{MaxSkew: intstr.FromString("25%")}}
	for range 2 {
		setup.Members = append(setup.Members, Setup{Replicas: 1, HistoryLimit: 2, Deadline: time.Hour, MaxSurge: intstr.FromInt32(1)})
	}
	w := &fleetWalk{f: NewFleet(setup)}
	w.laws = watchFleet(w.f)
	w.calmDown()
	w.f.Push("v2", []int{0, 1}, []int{0, 1, 2})
	w.calmDown()
	again := setup.Members[1]
	again.Replicas, again.Steps = 4, w.f.Members[1].Release.Spec.Strategy.Steps
	member := NewState(again)
	member.Release.Spec.Train, member.Release.Template = Train, "v2"
	w.f.Members[1] = member
	w.f.board()
	w.laws = watchFleet(w.f)
	w.calmDown()
	if left := w.laws.judgeEnd(); w.fault != "" || left != "" {
		t.Errorf("want all members to end, got %s %s\n%s\n%s", w.fault, left, w.f, w.f.State(2).Release.Status.Message)
	}
}
