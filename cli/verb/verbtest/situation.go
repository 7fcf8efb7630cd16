// Package verbtest makes situations of releases for tests of verbs.
package verbtest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/verb"
)

// AtGate returns a release that waits at a manual gate of its second batch.
func AtGate() verb.Situation {
	now := verb.Situation{Release: &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "r1"},
		Spec:       v1alpha1.BatchReleaseSpec{Strategy: v1alpha1.ReleaseStrategy{Steps: make([]v1alpha1.Step, 3)}},
		Status: v1alpha1.BatchReleaseStatus{
			Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateBlocked, CurrentStepState: v1alpha1.StepBlocking, CurrentStepIndex: 1,
			Attempt: 4, StepStartedAt: &metav1.Time{}, UpdateRevision: "v2", StableRevision: "v1", Message: "waits",
		},
	}}
	now.Gates = []v1alpha1.Gate{{
		ObjectMeta: metav1.ObjectMeta{Name: "web-g", UID: "g1"},
		Spec:       v1alpha1.GateSpec{Type: v1alpha1.GateManual, Policy: v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}, Step: 1},
		Status:     v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting},
	}}
	now.All = now.Gates
	return now
}
