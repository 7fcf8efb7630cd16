package journeys

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestInPlaceQuotaAndBudget: a quota that has no room for the pods, and a disruption budget that is
// stricter than the release, are told before the first write. A release that starts all the same
// loses no more than the first pods, says that they are not created, and goes on when there is
// room.
func TestInPlaceQuotaAndBudget(t *testing.T) {
	onBothKinds(t, func(w *world, p workloadKind) {
		before := p.served(w, 4)
		// As many as are left when the first pods are gone: the quota controller counts from a cache,
		// and may overlook a pod that has just been created beside them.
		w.quota("few", corev1.ResourcePods, "2")
		w.create(&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: share(1), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			},
		})
		w.create(p.to(w, step("50%"), step("100%")))
		w.await(all(web.preflight(metav1.ConditionTrue, v1alpha1.ReasonWillNotFit, "ResourceQuota few (pods: 4 of 2 used) leaves no room"), web.handedBack,
			web.preflight(metav1.ConditionTrue, v1alpha1.ReasonWillNotFit, "PodDisruptionBudget web lets 1 of 4"), web.serves("web:1", 4)))
		w.patchRelease(`{"spec":{"strategy":{"preflight":"Warn"}}}`)
		w.await(all(web.takenOver, web.runs(pods{"web:1": 2}), going(0)))
		w.patchRelease(`{"spec":{"strategy":{"progressDeadlineSeconds":1}}}`)
		w.await(failed("2 of 2 not created: see 'kubectl describe " + strings.ToLower(p.kind) + " web -n " + w.namespace))
		w.kubectl("delete", "resourcequota", "few")
		w.nudge(p.kind)
		w.bePatient()
		w.kubectl("annotate", "batchrelease", "web", "retry=true")
		w.await(all(web.blocksAt(0), p.shut, web.runs(pods{"web:1": 2, "web:2": 2})))
		w.wantUntouched(before, all(web.completed, web.serves("web:2", 4)))
	})
}

// nudge has the native controller look at the workload now: after each pod that it could not make
// it waits twice as long, up to a quarter of an hour, before it tries again.
func (w *world) nudge(kind string) {
	w.Helper()
	w.kubectl("annotate", kind, "web", "test/nudged=yes")
	w.kubectl("annotate", kind, "web", "test/nudged-")
}

// TestInPlacePodDoesNotEnd: a pod that takes its time to end, a day or until somebody removes its
// finalizer, is waited for, by name. It does not count as gone: no other goes in its stead, neither
// forward nor back.
func TestInPlacePodDoesNotEnd(t *testing.T) {
	onBothKinds(t, func(w *world, p workloadKind) {
		before := p.served(w, 6)
		letGo := w.hang("web:1")
		w.create(p.to(w, step("50%"), step("100%")))
		w.await(all(going(2), web.takenOver))
		w.patchRelease(`{"spec":{"strategy":{"progressDeadlineSeconds":1}}}`)
		w.await(all(failed("2 of 2 not created: web-"), web.says("not gone yet")))
		w.bePatient()
		w.kubectl("annotate", "batchrelease", "web", "retry=true")
		w.await(web.phase(v1alpha1.PhaseRollingUpdate))
		w.jumpTo(1)
		w.await(jumped(0, 1, "nextStepIndex"))
		w.lookedAgain()
		w.await(all(web.phase(v1alpha1.PhaseRollingUpdate), going(2), web.runs(pods{"web:1": 4})))
		w.kubectl("annotate", "batchrelease", "web", "rollback=true")
		w.await(all(web.reason(v1alpha1.ReasonRollingBack), going(2), web.runs(pods{"web:1": 4})))
		letGo()
		w.wantUntouched(before, all(web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.serves("web:1", 6)))
		if least := w.findings(web).leastReady; least < 4 {
			t.Errorf("%d pods served at least, want 4 of 6", least)
		}
	})
}
