package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
	"github.com/sluice-dev/sluice/rollout/plan"
)

func TestTroubleOf(t *testing.T) {
	t.Parallel()
	waits := func(reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "web", Image: "web:2", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
	}
	ended := func(c corev1.ContainerStatus, code int32, reason string) corev1.ContainerStatus {
		c.Name, c.LastTerminationState.Terminated = "web", &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}
		return c
	}
	pod := func(containers ...corev1.ContainerStatus) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: containers}}
	}
	condition := func(kind corev1.PodConditionType, is corev1.ConditionStatus, reason, message string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: kind, Status: is, Reason: reason, Message: message}}}}
	}
	loop := pod(ended(waits("CrashLoopBackOff"), 1, "Error"))
	running := pod(ended(corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, 1, "Error"))
	going := loop.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{}
	ready := condition(corev1.PodReady, corev1.ConditionTrue, "", "")
	ready.Status.ContainerStatuses = []corev1.ContainerStatus{ended(corev1.ContainerStatus{Ready: true}, 1, "Error")}
	initialized := pod(waits("PodInitializing"))
	initialized.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", Ready: true, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
	hostile := pod(waits("Bad\x1b[2J\n" + strings.Repeat("x", 500)))
	cases := map[string]struct {
		pods []*corev1.Pod
		want plan.Trouble
	}{
		"none":                    {nil, plan.Trouble{}},
		"created":                 {[]*corev1.Pod{pod(), pod(waits("ContainerCreating")), initialized}, plan.Trouble{}},
		"ready since a crash":     {[]*corev1.Pod{ready}, plan.Trouble{}},
		"goes":                    {[]*corev1.Pod{going}, plan.Trouble{}},
		"waits for gates":         {[]*corev1.Pod{condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonSchedulingGated, "gated")}, plan.Trouble{}},
		"crashes":                 {[]*corev1.Pod{loop, pod()}, plan.Trouble{Reason: v1alpha1.PodsCrash, Pods: 1, Message: "CrashLoopBackOff: exit code 1 (container web)"}},
		"crashes, and runs again": {[]*corev1.Pod{running}, plan.Trouble{Reason: v1alpha1.PodsCrash, Pods: 1, Message: "exit code 1 (container web)"}},
		"crashes, not yet ended":  {[]*corev1.Pod{pod(waits("CrashLoopBackOff"))}, plan.Trouble{Reason: v1alpha1.PodsCrash, Pods: 1, Message: "CrashLoopBackOff (container web)"}},
		"out of memory":           {[]*corev1.Pod{pod(ended(waits("CrashLoopBackOff"), 137, "OOMKilled"))}, plan.Trouble{Reason: v1alpha1.PodsCrash, Pods: 1, Message: "CrashLoopBackOff: OOMKilled, exit code 137 (container web)"}},
		"no image":                {[]*corev1.Pod{pod(waits("ImagePullBackOff"))}, plan.Trouble{Reason: v1alpha1.PodsLackImage, Pods: 1, Message: "ImagePullBackOff: web:2 (container web)"}},
		"no ConfigMap":            {[]*corev1.Pod{pod(waits("CreateContainerConfigError"))}, plan.Trouble{Reason: v1alpha1.PodsCannotStart, Pods: 1, Message: "CreateContainerConfigError (container web)"}},
		"no node":                 {[]*corev1.Pod{condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, "0/3 nodes")}, plan.Trouble{Reason: v1alpha1.PodsUnschedulable, Pods: 1, Message: "0/3 nodes"}},
		"the most frequent": {
			[]*corev1.Pod{pod(waits("ErrImagePull")), loop, running, loop},
			plan.Trouble{Reason: v1alpha1.PodsCrash, Pods: 3, Message: "CrashLoopBackOff: exit code 1 (container web)"},
		},
		"any text": {[]*corev1.Pod{hostile}, plan.Trouble{
			Reason: v1alpha1.PodsCannotStart, Pods: 1, Message: "Bad [2J " + strings.Repeat("x", 49) + "… (container web)",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, troubleOf(tc.pods)); diff != "" {
				t.Errorf("trouble (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTroubleOfPodsOfManyContainers: the reported trouble of a pod is its worst at the moment, of
// any container: a sidecar, an init container, or one that a node has refused.
func TestTroubleOfPodsOfManyContainers(t *testing.T) {
	t.Parallel()
	container := func(name string, ready bool, state corev1.ContainerState, before ...corev1.ContainerStateTerminated) corev1.ContainerStatus {
		c := corev1.ContainerStatus{Name: name, Image: name + ":2", Ready: ready, State: state}
		for i := range before {
			c.LastTerminationState.Terminated = &before[i]
		}
		return c
	}
	waits := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	ended := func(code int32, reason string) corev1.ContainerStateTerminated {
		return corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}
	}
	done := corev1.ContainerState{Terminated: new(ended(0, "Completed"))}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	pod := func(phase corev1.PodPhase, init []corev1.ContainerStatus, containers ...corev1.ContainerStatus) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Phase: phase, InitContainerStatuses: init, ContainerStatuses: containers}}
	}
	inits := func(statuses ...corev1.ContainerStatus) []corev1.ContainerStatus { return statuses }
	failed := func(reason string, containers ...corev1.ContainerStatus) *corev1.Pod {
		p := pod(corev1.PodFailed, nil, containers...)
		p.Status.Reason = reason
		return p
	}
	crash := func(pods int32, says string) plan.Trouble {
		return plan.Trouble{Reason: v1alpha1.PodsCrash, Pods: pods, Message: says}
	}
	cannot := func(pods int32, says string) plan.Trouble {
		return plan.Trouble{Reason: v1alpha1.PodsCannotStart, Pods: pods, Message: says}
	}
	crashing := container("web", false, waits("CrashLoopBackOff"), ended(1, "Error"))
	for name, tc := range map[string]struct {
		pods []*corev1.Pod
		want plan.Trouble
	}{
		"an init container that crashes": {
			[]*corev1.Pod{pod(corev1.PodPending, inits(container("migrate", false, waits("CrashLoopBackOff"), ended(3, "Error"))), container("web", false, waits("PodInitializing")))},
			crash(1, "CrashLoopBackOff: exit code 3 (container migrate)"),
		},
		"an init container that is done after a crash": {
			[]*corev1.Pod{pod(corev1.PodRunning, inits(container("migrate", true, done, ended(3, "Error"))), container("web", false, runs))}, plan.Trouble{},
		},
		"an init container without an image": {
			[]*corev1.Pod{pod(corev1.PodPending, inits(container("migrate", false, waits("ImagePullBackOff"))), container("web", false, waits("PodInitializing")))},
			plan.Trouble{Reason: v1alpha1.PodsLackImage, Pods: 1, Message: "ImagePullBackOff: migrate:2 (container migrate)"},
		},
		"a sidecar that was started again is well": {
			[]*corev1.Pod{pod(corev1.PodRunning, inits(container("proxy", true, runs, ended(137, "Error"))), container("web", false, runs))}, plan.Trouble{},
		},
		"a sidecar that was started again, and the container that crashes": {
			[]*corev1.Pod{pod(corev1.PodRunning, inits(container("proxy", false, runs, ended(2, "Error"))), crashing)},
			crash(1, "CrashLoopBackOff: exit code 1 (container web)"),
		},
		"the container runs, and its sidecar is out of memory": {
			[]*corev1.Pod{pod(corev1.PodRunning, nil, container("web", true, runs), container("proxy", false, corev1.ContainerState{Terminated: new(ended(137, "OOMKilled"))}))},
			crash(1, "OOMKilled, exit code 137 (container proxy)"),
		},
		"a container that ends without an error": {
			[]*corev1.Pod{pod(corev1.PodRunning, nil, container("web", false, done))}, crash(1, "exit code 0 (container web)"),
		},
		"a command that does not exist, by turns": {
			[]*corev1.Pod{
				pod(corev1.PodRunning, nil, container("web", false, waits("CrashLoopBackOff"), ended(128, "StartError"))),
				pod(corev1.PodRunning, nil, container("web", false, waits("RunContainerError"), ended(128, "StartError"))),
				pod(corev1.PodRunning, nil, container("web", false, corev1.ContainerState{Terminated: new(ended(128, "StartError"))})),
			}, cannot(3, "StartError, exit code 128 (container web)"),
		},
		"pods that nodes refuse":                {[]*corev1.Pod{failed("OutOfcpu"), failed("OutOfcpu"), pod(corev1.PodPending, nil)}, cannot(2, "OutOfcpu")},
		"pods that were evicted, and one crash": {[]*corev1.Pod{failed("Evicted", crashing), failed("Evicted", crashing), pod(corev1.PodRunning, nil, crashing)}, crash(1, "CrashLoopBackOff: exit code 1 (container web)")},
		"pods that were evicted after they ran": {[]*corev1.Pod{failed("Evicted", container("web", false, corev1.ContainerState{Terminated: new(ended(137, "Error"))})), failed("Evicted", container("web", false, runs))}, plan.Trouble{}},
		"pods that are evicted at once":         {[]*corev1.Pod{failed("Evicted"), failed("Evicted", container("web", false, waits("ContainerCreating")))}, cannot(2, "Evicted")},
		"a pod that was evicted while it ran at last": {[]*corev1.Pod{failed("Evicted", corev1.ContainerStatus{
			Name: "web", State: runs, LastTerminationState: corev1.ContainerState{Terminated: new(ended(128, "StartError"))},
		})}, plan.Trouble{}},
		"pods that are evicted while they pull":  {[]*corev1.Pod{failed("Evicted", container("web", false, corev1.ContainerState{Terminated: new(ended(137, "ContainerStatusUnknown"))}))}, cannot(1, "Evicted")},
		"a pod that failed, and nobody says why": {[]*corev1.Pod{failed("", crashing)}, plan.Trouble{}},
		"a hostile reason":                       {[]*corev1.Pod{failed("\x1b[2J\n::error::" + strings.Repeat("x", 500))}, cannot(1, "[2J ::error::"+strings.Repeat("x", 44)+"…")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, troubleOf(tc.pods)); diff != "" {
				t.Errorf("trouble (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTroubleOfIsTheSame: one in two pods of each: always the same is told.
func TestTroubleOfIsTheSame(t *testing.T) {
	t.Parallel()
	var pods []*corev1.Pod
	for i := range 10 {
		status := corev1.ContainerStatus{Name: fmt.Sprintf("c%d", i), State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}
		if i%2 == 0 {
			status.State.Waiting.Reason = "RunContainerError"
		}
		pods = append(pods, &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}}})
	}
	for range 20 {
		want := plan.Trouble{Reason: v1alpha1.PodsCannotStart, Pods: 5, Message: "RunContainerError (container c0)"}
		if diff := cmp.Diff(want, troubleOf(pods)); diff != "" {
			t.Fatalf("trouble (-want +got):\n%s", diff)
		}
	}
}

// TestPodsThatFailedEarlierAreNoTrouble: a ReplicaSet keeps failed pods without a limit. Pods that
// failed in an earlier step, or in an earlier run of the template, are not reported for this one.
func TestPodsThatFailedEarlierAreNoTrouble(t *testing.T) {
	t.Parallel()
	const revision = "web-2"
	refused := func(reason string, made time.Time) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(made)}}
		pod.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}
		pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, reason
		return pod
	}
	waiting := refused("", noon.Add(-time.Hour))
	waiting.Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "web", Image: "web:2", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}},
	}}}
	for name, test := range map[string]struct {
		began *metav1.Time
		pods  []*corev1.Pod
		want  plan.Trouble
	}{
		"of an earlier step": {new(metav1.NewTime(noon)), []*corev1.Pod{refused("Evicted", noon.Add(-time.Second)), refused("OutOfcpu", noon.AddDate(0, -1, 0))}, plan.Trouble{}},
		"of this step":       {new(metav1.NewTime(noon)), []*corev1.Pod{refused("OutOfcpu", noon), refused("Evicted", noon.Add(-time.Hour))}, plan.Trouble{Reason: v1alpha1.PodsCannotStart, Pods: 1, Message: "OutOfcpu"}},
		"still there": {new(metav1.NewTime(noon)), []*corev1.Pod{waiting}, plan.Trouble{
			Reason: v1alpha1.PodsLackImage, Pods: 1, Message: "ErrImagePull: web:2 (container web)",
		}},
		"nobody knows since when": {nil, []*corev1.Pod{refused("OutOfcpu", noon)}, plan.Trouble{Reason: v1alpha1.PodsCannotStart, Pods: 1, Message: "OutOfcpu"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := &statefulset.Object{StatefulSet: &appsv1.StatefulSet{Status: appsv1.StatefulSetStatus{UpdateRevision: revision}}}
			v := &view{workload: set, release: &v1alpha1.BatchRelease{Status: v1alpha1.BatchReleaseStatus{StepStartedAt: test.began}}}
			v.pods = podsSeen{listed: true, pods: test.pods}
			if err := newReconciler(&cluster{}).observer.readTrouble(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, v.facts.Trouble); diff != "" {
				t.Errorf("trouble (-want +got):\n%s", diff)
			}
		})
	}
}
