package rollout

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
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

// One in two pods of each: always the same is told.
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
