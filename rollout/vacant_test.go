package rollout

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// serving is a pod of v1 on a node, by its name.
func serving(node string) *corev1.Pod {
	pod := onNode(node, time.Hour, corev1.ConditionTrue, corev1.ConditionTrue)
	pod.Name, pod.UID = "agent-"+node, types.UID(node)
	pod.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: "v1"}
	return pod
}

// A pod of a DaemonSet is gone, the next is not made, and meanwhile another node is deleted, whose pod still serves. That one must not
// count in the stead of the one that is missing: two of four nodes would lack a pod, where one may.
func TestPodOfADeletedNodeCountsInNobodysStead(t *testing.T) {
	t.Parallel()
	now := noon
	process := newProcess(testingclock.NewFakePassiveClock(noon))
	d := &workload.DaemonSet{DaemonSet: &appsv1.DaemonSet{}}
	d.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
	d.Spec.Template.Annotations = map[string]string{v1alpha1.DigestAnnotation: "digest-v2"}
	process.named = named{digest: "digest-v2", revision: "v2"}
	pass := func(after time.Duration, desired, current int32, pods ...*corev1.Pod) int {
		now = now.Add(after)
		d.Status.DesiredNumberScheduled, d.Status.CurrentNumberScheduled = desired, current
		release := &v1alpha1.BatchRelease{}
		release.Status.Phase = v1alpha1.PhaseFinalizing
		v := &view{process: process, release: release, workload: d, now: now, pods: podsSeen{listed: true, live: true, pods: pods}}
		p := nodes{d}
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

func TestVacantNodes(t *testing.T) {
	t.Parallel()
	var places vacancies
	a, b := serving("a"), serving("b")
	for _, step := range []struct {
		name    string
		after   time.Duration
		lacking int32
		pods    []*corev1.Pod
		want    []string
	}{
		{"nothing is missed yet", 0, 0, []*corev1.Pod{a, b}, nil},
		{"one is gone", 0, 0, []*corev1.Pod{b}, []string{"a"}},
		{"it is there again", 0, 0, []*corev1.Pod{a, b}, nil},
		{"both are gone", 0, 0, nil, []string{"a", "b"}},
		{"the status says that two nodes lack one", vacantFor, 2, nil, []string{"a", "b"}},
		{"it says that only one does", vacantFor, 1, nil, []string{"a"}},
		{"it says that none does", vacantFor, 0, nil, nil},
		{"there are more than it knows of", vacantFor, -1, nil, nil},
	} {
		places.see(step.pods, step.lacking, noon.Add(step.after))
		if diff := cmp.Diff(step.want, places.nodes()); diff != "" {
			t.Errorf("%s: nodes (-want +got):\n%s", step.name, diff)
		}
	}
}

// One node never gets its pod, because that is refused for example, and meanwhile others are deleted and made again under other names, as
// an autoscaler does. Their places are not kept: they would add up, and the release would wait for pods that never come.
func TestVacantNodesDoNotAddUp(t *testing.T) {
	t.Parallel()
	var places vacancies
	now, lacks := noon, serving("lacks")
	places.see([]*corev1.Pod{lacks, serving("node-0")}, 0, now)
	for i := range 1000 {
		now = now.Add(time.Second)
		places.see([]*corev1.Pod{serving(fmt.Sprintf("node-%d", i+1))}, 1, now)
	}
	if n, most := len(places.since), int(vacantFor/time.Second)+1; n > most {
		t.Errorf("%d places are vacant, of which one lacks its pod, and one a second is deleted: want at most %d", n, most)
	}
	places.see([]*corev1.Pod{serving("node-1000")}, 1, now.Add(vacantFor))
	if n := len(places.since); n != 1 {
		t.Errorf("%d places are vacant in the end, want one", n)
	}
}

// A node that is deleted and made again under its name keeps its place, and counts once.
func TestNodeMadeAgain(t *testing.T) {
	t.Parallel()
	var places vacancies
	a, b := serving("a"), serving("b")
	places.see([]*corev1.Pod{a, b}, 0, noon)
	places.see([]*corev1.Pod{b}, 0, noon)                  // the node is deleted, and its pod
	places.see([]*corev1.Pod{b}, 1, noon.Add(2*vacantFor)) // it is there again, and lacks its pod
	if diff := cmp.Diff([]string{"a"}, places.nodes()); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	again := serving("a")
	again.UID = "a2"
	places.see([]*corev1.Pod{again, b}, 1, noon.Add(2*vacantFor)) // the status is late
	if got := places.nodes(); got != nil {
		t.Errorf("vacant are %v, though the node has a pod", got)
	}
}
