package rollout

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
)

// TestPlaced: a pod that is going away, or has ended, does not stand in its place, and one is
// available once it has been ready for minReadySeconds.
func TestPlaced(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change                        func(*corev1.Pod)
		readyFor                      time.Duration
		terminating, ready, available bool
	}{
		"it serves":                 {func(*corev1.Pod) {}, time.Minute, false, true, true},
		"it has just become ready":  {func(*corev1.Pod) {}, 59 * time.Second, false, true, false},
		"nobody knows since when":   {func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.Time{} }, 0, false, true, false},
		"it is not ready":           {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, time.Hour, false, false, false},
		"it is deleted":             {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(noon)) }, time.Hour, true, true, true},
		"it has failed":             {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, time.Hour, true, true, true},
		"it has succeeded":          {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, time.Hour, true, true, true},
		"it says nothing about it":  {func(p *corev1.Pod) { p.Status.Conditions = nil }, time.Hour, false, false, false},
		"it is ready in the future": {func(*corev1.Pod) {}, -time.Hour, false, true, false},
	} {
		pod := ready("web-0", "set")
		pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(-test.readyFor))
		test.change(pod)
		got := placed(pod, "v1", 60, noon)
		if got.Terminating != test.terminating || got.Ready != test.ready || got.Available != test.available {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestPodsOfLostNodesAreKnown: the mover knows lost nodes, and replaces none of their pods.
func TestPodsOfLostNodesAreKnown(t *testing.T) {
	t.Parallel()
	v := &view{process: &process{}, now: noon}
	v.pods.pods, v.pods.lost = []*corev1.Pod{serving("a"), serving("b")}, map[string]bool{"b": true}
	m, is := nodes{d: &daemonset.Object{DaemonSet: &appsv1.DaemonSet{}}}.mover(v).(daemonset.Mover)
	if !is || len(m.Pods) != 2 || m.Pods[0].Lost || !m.Pods[1].Lost {
		t.Errorf("want the pod of node b to be lost, have %+v", m.Pods)
	}
}
