package sim

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestMemberLeaves: a train whose commits wait for the end of a run does not wait for one whose
// member has left the train.
func TestMemberLeaves(t *testing.T) {
	t.Parallel()
	for _, policy := range []v1alpha1.SupersedePolicy{v1alpha1.SupersedeRestart, v1alpha1.SupersedeQueue} {
		setup := FleetSetup{Steps: Steps("1 none", "100%"), Supersede: policy}
		for range 2 {
			setup.Members = append(setup.Members, Setup{Replicas: 2, HistoryLimit: 2, Deadline: time.Hour, MaxSurge: intstr.FromInt32(1)})
		}
		for _, trainFirst := range []bool{false, true} {
			w := &fleetWalk{f: NewFleet(setup)}
			w.laws = watchFleet(w.f)
			w.calmDown()
			w.f.Push("v2", []int{0, 1}, []int{0, 1, 2})
			for w.f.Train.Release.Status.Attempt < 2 && w.calm() {
			}
			w.f.Leave(1, true, trainFirst)
			w.calmDown()
			if left := w.laws.judgeEnd(); w.fault != "" || left != "" {
				t.Errorf("%s: want all to end, got %s %s\n%s", policy, w.fault, left, w.f)
			}
		}
	}
}
