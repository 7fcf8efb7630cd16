package rollout

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
)

// TestSizeOfADaemonSet: a node that comes counts as soon as it has a pod, though the status does
// not count it yet.
func TestSizeOfADaemonSet(t *testing.T) {
	t.Parallel()
	on := func(node string) *corev1.Pod { return &corev1.Pod{Spec: corev1.PodSpec{NodeName: node}} }
	going := on("c")
	going.DeletionTimestamp = &metav1.Time{}
	tests := map[string]struct {
		desired, misscheduled int32
		pods                  []*corev1.Pod
		lost                  map[string]bool
		want                  int32
	}{
		"pods are not known yet":             {desired: 3, want: 3},
		"as the status says":                 {desired: 3, pods: []*corev1.Pod{on("a"), on("b")}, want: 3},
		"a node that the status has not":     {desired: 2, pods: []*corev1.Pod{on("a"), on("b"), on("c")}, want: 3},
		"a pod that goes makes no node":      {desired: 2, pods: []*corev1.Pod{on("a"), on("b"), going}, want: 2},
		"two pods on a node":                 {desired: 2, pods: []*corev1.Pod{on("a"), on("b"), on("b")}, want: 2},
		"a pod that has no node yet":         {desired: 2, pods: []*corev1.Pod{on("a"), on("b"), on("")}, want: 2},
		"a pod where none belongs":           {desired: 2, misscheduled: 1, pods: []*corev1.Pod{on("a"), on("b"), on("c")}, want: 2},
		"one there, and one on another node": {desired: 2, misscheduled: 1, pods: []*corev1.Pod{on("a"), on("b"), on("c"), on("d")}, want: 3},
		"a lost node":                        {desired: 3, pods: []*corev1.Pod{on("a"), on("b"), on("c")}, lost: map[string]bool{"c": true}, want: 2},
		"a lost node that is tainted": {
			desired: 2, misscheduled: 1, pods: []*corev1.Pod{on("a"), on("b"), on("c")}, lost: map[string]bool{"c": true}, want: 2,
		},
		"... and one that is not yet": {
			desired: 3, misscheduled: 1, pods: []*corev1.Pod{on("a"), on("b"), on("c"), on("d")}, lost: map[string]bool{"c": true, "d": true}, want: 2,
		},
		"... and the pod of another one goes": {
			desired: 2, misscheduled: 1, pods: []*corev1.Pod{on("a"), going, on("d")}, lost: map[string]bool{"d": true}, want: 2,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: test.desired, NumberMisscheduled: test.misscheduled}}
			v := &view{pods: podsSeen{listed: true, pods: test.pods, lost: test.lost}}
			if got := (nodes{d: &daemonset.Object{DaemonSet: d}}).size(v); got != test.want {
				t.Errorf("size %d, want %d", got, test.want)
			}
		})
	}
}
