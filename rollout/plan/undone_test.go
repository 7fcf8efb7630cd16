package plan_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestPodsOfAVersionThatWasRolledBackAreTold: a fix that is given while the version before it is
// rolled back finds pods of that version. People read of them until they are gone, and get one
// event.
func TestPodsOfAVersionThatWasRolledBackAreTold(t *testing.T) {
	t.Parallel()
	k := newRack(t, 10)
	k.release.Spec.Rollback = &v1alpha1.RollbackStrategy{Steps: []v1alpha1.Step{
		{Replicas: intstr.Parse("2"), Gates: []v1alpha1.GatePolicy{{Manual: &v1alpha1.ManualGate{}}}}, {Replicas: intstr.Parse("100%")},
	}}
	k.give("v2")
	for range 3 {
		k.settle()
		k.approve()
	}
	k.want(10, v1alpha1.PhaseCompleted, false)
	k.release.Annotations[v1alpha1.RollbackAnnotation] = "true"
	k.settle()
	k.want(8, v1alpha1.PhaseRollingBack, true)
	serves := func() string {
		if found := meta.FindStatusCondition(k.release.Status.Conditions, v1alpha1.ConditionRolledBackServes); found != nil {
			return found.Message
		}
		return ""
	}
	if text := serves(); text != "" {
		t.Errorf("the condition says %q in the rollback, which says so itself", text)
	}
	k.give("v3")
	k.settle()
	want := "8 of 10 pods run revision v2, which was rolled back; they go before others as revision v3 is released; " +
		"to be rid of them first: sluice rollback web -n"
	if got := serves(); got != want {
		t.Errorf("the condition says\n%s, want\n%s", got, want)
	}
	for k.release.Status.Phase != v1alpha1.PhaseCompleted {
		if (serves() != "") != (k.runs("v2") > 0) {
			t.Errorf("%d pods run v2, and the condition says %q", k.runs("v2"), serves())
		}
		k.approve()
		k.settle()
	}
	if text := serves(); text != "" {
		t.Errorf("the condition says %q after the end", text)
	}
	told := 0
	for _, event := range k.events {
		if event.Reason == v1alpha1.ReasonRolledBackPods && event.Warning {
			told++
		}
	}
	if told != 1 {
		t.Errorf("%d events, want one", told)
	}
}
