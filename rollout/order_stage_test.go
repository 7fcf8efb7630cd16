package rollout

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/rollout/order"
)

// TestStageOf: the stage of a pod is the ReplicaSet controller's order before the deletion cost:
// no node, then pending, then unknown, then not ready.
func TestStageOf(t *testing.T) {
	t.Parallel()
	unready := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	serves := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for name, test := range map[string]struct {
		node       string
		phase      corev1.PodPhase
		conditions []corev1.PodCondition
		want       order.Stage
	}{
		"it serves":                           {"node", corev1.PodRunning, serves, order.Ready},
		"it is not ready":                     {"node", corev1.PodRunning, unready, order.NotReady},
		"it says nothing of being ready":      {"node", corev1.PodRunning, nil, order.NotReady},
		"its node is not heard of":            {"node", corev1.PodUnknown, serves, order.Unknown},
		"it is pending, whatever it was":      {"node", corev1.PodPending, serves, order.Pending},
		"it has no node":                      {"", corev1.PodPending, nil, order.Unassigned},
		"it has no node, and says it is well": {"", corev1.PodRunning, serves, order.Unassigned},
	} {
		pod := &corev1.Pod{}
		pod.Spec.NodeName, pod.Status.Phase, pod.Status.Conditions = test.node, test.phase, test.conditions
		if got := stageOf(pod); got != test.want {
			t.Errorf("%s: stage %v, want %v", name, got, test.want)
		}
	}
}
