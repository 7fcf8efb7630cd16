package plan_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// newFinalRack returns a rack whose updated slots stay updated: a new slot, or one whose pod is
// deleted, gets the rack's template for good.
func newFinalRack(t *testing.T, replicas int) *rack {
	k := newRack(t, replicas)
	k.final = true
	k.give("v2")
	k.settle()
	k.want(1, v1alpha1.PhaseRollingUpdate, true)
	return k
}

// comes adds slots, as they come while the rack is held.
func (k *rack) comes(n int) {
	k.slots = append(k.slots, slices.Repeat([]slot{{k.template, true}}, n)...)
}

// beyond returns the message of the condition; empty if there is none.
func (k *rack) beyond() string {
	k.t.Helper()
	found := meta.FindStatusCondition(k.release.Status.Conditions, v1alpha1.ConditionBeyondStep)
	if found == nil {
		return ""
	}
	if found.Reason != v1alpha1.ReasonCameUpdated {
		k.t.Errorf("reason %s of the condition, want %s", found.Reason, v1alpha1.ReasonCameUpdated)
	}
	return found.Message
}

// toldBeyond counts the events.
func (k *rack) toldBeyond() int {
	n := 0
	for _, event := range k.events {
		if event.Reason == v1alpha1.ReasonCameUpdated && event.Warning {
			n++
		}
	}
	return n
}

const why = "pods were added or lost while the Rack was taken over, and its controller makes pods of the new revision; " +
	"they stay; to remove them: sluice rollback web -n"

func TestPodsThatComeUpdatedAreTold(t *testing.T) {
	t.Parallel()
	k := newFinalRack(t, 10)
	if text := k.beyond(); text != "" {
		t.Errorf("the condition says %q, and no pod is beyond the step", text)
	}
	k.comes(2)
	k.settle()
	if got, want := k.beyond(), "3 of 12 pods run revision v2, and batch 1/3 approves 1: "+why; got != want {
		t.Errorf("the condition says\n%s, want\n%s", got, want)
	}
	k.slots[5].revision = "v2" // somebody has deleted the pod
	k.settle()
	k.settle()
	if got, want := k.beyond(), "4 of 12 pods run revision v2, and batch 1/3 approves 1: "+why; got != want {
		t.Errorf("the condition says\n%s, want\n%s", got, want)
	}
	if n := k.toldBeyond(); n != 1 {
		t.Errorf("%d events, want one", n)
	}
	k.want(4, v1alpha1.PhaseRollingUpdate, true)
}

func TestWhatCameUpdatedIsNotApproved(t *testing.T) {
	t.Parallel()
	k := newFinalRack(t, 10)
	k.comes(8)
	k.settle()
	if got := k.release.Status; got.TargetReplicas != 1 || got.Replicas != 18 || got.CurrentStepState != v1alpha1.StepBlocking {
		t.Fatalf("the step has %d of %d, %s; want 1 of 18, blocked", got.TargetReplicas, got.Replicas, got.CurrentStepState)
	}
	k.approve()
	k.settle() // 50% of 18 are those 9 that there are
	if text := k.beyond(); text != "" {
		t.Errorf("the condition says %q, and the step approves as many", text)
	}
	k.want(9, v1alpha1.PhaseRollingUpdate, true)
	for i := range k.slots[:4] {
		k.slots[i].revision = "v2"
	}
	k.settle()
	if got, want := k.release.Status.TargetReplicas, int32(9); got != want {
		t.Errorf("the step approves %d, want %d", got, want)
	}
	if got, want := k.beyond(), "12 of 18 pods run revision v2, and batch 2/3 approves 9: "+why; got != want {
		t.Errorf("the condition says\n%s, want\n%s", got, want)
	}
	if n := k.toldBeyond(); n != 2 {
		t.Errorf("%d events, want one each time that it begins", n)
	}
	k.approve()
	k.settle()
	k.want(18, v1alpha1.PhaseCompleted, false)
	if text := k.beyond(); text != "" {
		t.Errorf("the condition says %q after the end", text)
	}
}

func TestTheNextStepApprovesNoMoreThanItSays(t *testing.T) {
	t.Parallel()
	k := newFinalRack(t, 10)
	k.comes(12)
	k.settle()
	k.approve()
	k.settle()
	if got, want := k.beyond(), "13 of 22 pods run revision v2, and batch 2/3 approves 11: "+why; got != want {
		t.Errorf("the condition says\n%s, want\n%s", got, want)
	}
	if n := k.toldBeyond(); n != 1 {
		t.Errorf("%d events, want one", n)
	}
}

// TestWhatStaysIsNotAlwaysBeyond: in a rollback nothing is to be approved, and a jump back finds
// the pods that stay: they were approved on the way.
func TestWhatStaysIsNotAlwaysBeyond(t *testing.T) {
	t.Parallel()
	k := newFinalRack(t, 10)
	k.release.Spec.Strategy.StepBack = v1alpha1.StepBackRemovePods
	k.approve()
	k.settle()
	k.release.Status.NextStepIndex = new(int32)
	k.settle()
	k.want(5, v1alpha1.PhaseRollingUpdate, true)
	if status := k.release.Status; status.CurrentStepIndex != 0 || status.CurrentStepState != v1alpha1.StepBlocking || status.TargetReplicas != 5 {
		t.Errorf("step %d is %s with %d pods, want step 0, blocked, with the 5 that stay", status.CurrentStepIndex, status.CurrentStepState, status.TargetReplicas)
	}
	k.comes(1)
	k.release.Annotations[v1alpha1.RollbackAnnotation] = "true"
	k.settle()
	k.want(0, v1alpha1.PhaseCompleted, false)
	if n := k.toldBeyond(); n > 0 || k.beyond() != "" {
		t.Errorf("told %d times: %q", n, k.beyond())
	}
}
