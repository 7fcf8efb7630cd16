package journeys

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestPreflightWarns: Budgets and autoscalers that conflict with a release cause warnings, and do
// not delay anything.
func TestPreflightWarns(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4, rolling(0, 2)))
	w.create(
		&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: share(1), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			},
		},
		&autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
				MaxReplicas:    10, MinReplicas: new(int32(1)),
			},
		},
	)
	w.create(release("web:2", step(1), step("100%")))
	s := w.await(all(web.blocksAt(0), web.preflight(metav1.ConditionFalse, v1alpha1.ReasonWarnings, "PodDisruptionBudget web lets 1 of 4")))
	w.awaitEvent(v1alpha1.ReasonWarnings, "PodDisruptionBudget web lets 1 of 4")
	if c := web.find(s, v1alpha1.ConditionPreflightFailed); strings.Contains(c.Message, "HorizontalPodAutoscaler") {
		t.Errorf("an autoscaler that goes with the release is warned of: %s", c.Message)
	}
	w.recordedBeforeTakeOver()
	w.confirm("web")
	w.await(all(web.completed, web.withoutCondition(v1alpha1.ConditionPreflightFailed), web.serves("web:2", 4)))
}

// recordedBeforeTakeOver wants the warnings to have been in the status before the Deployment was
// changed.
func (w *world) recordedBeforeTakeOver() {
	w.Helper()
	entries, err := w.journal.all()
	if err != nil {
		w.Fatalf("the journal has a gap: %v", err)
	}
	s := newScene()
	for _, e := range entries {
		s.apply(e)
		if d := s.deployments["web"]; d != nil && held(d) {
			if web.find(s, v1alpha1.ConditionPreflightFailed) == nil {
				w.Error("the Deployment was taken over before the status said what was found")
			}
			return
		}
	}
	w.Error("the Deployment was never taken over")
}

// quota limits what the namespace may have, and waits until the cluster has counted it.
func (w *world) quota(name string, of corev1.ResourceName, hard string) {
	w.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{of: resource.MustParse(hard)}},
	}
	w.create(quota)
	cptest.Eventually(w, soon, func() error {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		if len(quota.Status.Used) == 0 {
			return errors.New("want the quota counted")
		}
		return nil
	})
}

// preflight wants the condition PreflightFailed of the release.
func (name subject) preflight(status metav1.ConditionStatus, reason, says string) check {
	return func(s *scene) error {
		c := name.find(s, v1alpha1.ConditionPreflightFailed)
		if c == nil || c.Status != status || c.Reason != reason || !strings.Contains(c.Message, says) {
			return fmt.Errorf("want PreflightFailed %s of %s, %s, with %q; have %+v", status, name, reason, says, c)
		}
		return nil
	}
}
