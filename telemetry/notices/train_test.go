package notices

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestTrainTellsForItsMembers: a train has one notice of a wait, and none of its members has.
func TestTrainTellsForItsMembers(t *testing.T) {
	t.Parallel()
	d := bench(nil)
	d.settle()
	train, member := releaseAt("shop", 0, 1, v1alpha1.PhaseRollingUpdate), releaseAt("db", 0, 1, v1alpha1.PhaseRollingUpdate)
	train.Spec.Members, member.Spec.Train = []v1alpha1.TrainMember{{Name: "db"}}, "shop"
	for _, release := range []*v1alpha1.BatchRelease{train, member} {
		after := release.DeepCopy()
		after.Status.Attempt++
		after.Status.CurrentStepState, after.Status.StepStartedAt = v1alpha1.StepBlocking, after.Status.StartedAt
		d.release(release, after, false, at)
		if release == train {
			d.gate(gateOf(after, "shop-0", v1alpha1.DecisionWaiting), after, false, at)
		}
	}
	for _, told := range d.told() {
		if told[:4] != "shop" {
			t.Errorf("want notices of the train alone, got %q", told)
		}
	}
	suspended := member.DeepCopy()
	suspended.Status.State, suspended.Status.StoppedBy = v1alpha1.StateStopped, []v1alpha1.StopCause{v1alpha1.StopSuspended}
	d.release(member, suspended, false, at)
	want(t, "somebody has stopped a member", d.told(), "db ReleaseStopped")
}
