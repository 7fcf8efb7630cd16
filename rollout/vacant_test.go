package rollout

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
)

// serving returns a pod of v1 on a node, by its name.
func serving(node string) *corev1.Pod {
	pod := onNode(node, time.Hour, corev1.ConditionTrue, corev1.ConditionTrue)
	pod.Name, pod.UID = "agent-"+node, types.UID(node)
	pod.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: "v1"}
	return pod
}

// TestPodOfADeletedNodeCountsInNobodysStead: a pod of a DaemonSet is gone, the next is not made,
// and meanwhile another node is deleted, whose pod still serves. That one must not count in the
// stead of the one that is missing: two of four nodes would lack a pod, where one may.
func TestPodOfADeletedNodeCountsInNobodysStead(t *testing.T) {
	t.Parallel()
	now := noon
	process := newProcess(testingclock.NewFakePassiveClock(noon))
	d := &daemonset.Object{DaemonSet: &appsv1.DaemonSet{}}
	d.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
	d.Spec.Template.Annotations = map[string]string{v1alpha1.DigestAnnotation: "digest-v2"}
	process.named = named{digest: "digest-v2", revision: "v2"}
	pass := func(after time.Duration, desired, current int32, pods ...*corev1.Pod) int {
		now = now.Add(after)
		d.Status.DesiredNumberScheduled, d.Status.CurrentNumberScheduled = desired, current
		release := &v1alpha1.BatchRelease{}
		release.Status.Phase = v1alpha1.PhaseFinalizing
		v := &view{process: process, release: release, workload: d, now: now, pods: podsSeen{listed: true, live: true, pods: pods}}
		p := nodes{d: d}
		p.seePlaces(v, now)
		task := mover.Task{Digest: "digest-v2", Replicas: desired, Target: desired, Bounds: mover.Bounds{Unavailable: 1}}
		return len(p.mover(v).Move(task).Grow)
	}
	going := serving("a")
	going.DeletionTimestamp = new(metav1.NewTime(noon))
	rest := []*corev1.Pod{serving("b"), serving("c"), serving("d"), serving("e")}
	made := serving("a")
	made.UID, made.Labels = "a2", map[string]string{appsv1.ControllerRevisionHashLabelKey: "v2"}
	steps := []struct {
		name             string
		after            time.Duration
		desired, current int32
		pods             []*corev1.Pod
		writes           int
	}{
		{"the pod goes", 0, 5, 5, append(rest, going), 0},
		{"a node is deleted", time.Second, 4, 4, append(rest, going), 0},
		{"the pod is gone", time.Second, 4, 4, rest, 0},
		{"... and the native controller can't make another", time.Minute, 4, 3, rest, 0},
		{"... and makes it", time.Second, 4, 4, append(rest, made), 1},
	}
	for _, step := range steps {
		if got := pass(step.after, step.desired, step.current, step.pods...); got != step.writes {
			t.Errorf("%s: %d writes, want %d", step.name, got, step.writes)
		}
	}
}
