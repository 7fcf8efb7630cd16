package rollout

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestDescribeFailing(t *testing.T) {
	t.Parallel()
	ended := func(code int32) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{ExitCode: code}
	}
	waits := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	done := corev1.ContainerStatus{Name: "init", Ready: true, State: corev1.ContainerState{Terminated: ended(0)}}
	cases := map[string]struct {
		init, container corev1.ContainerStatus
		want            string
	}{
		"Waits after a crash": {
			container: corev1.ContainerStatus{State: waits("CrashLoopBackOff"), LastTerminationState: corev1.ContainerState{Terminated: ended(3)}},
			want:      "1 of 1 in CrashLoopBackOff (container web, exit code 3)",
		},
		"Has crashed": {
			container: corev1.ContainerStatus{State: corev1.ContainerState{Terminated: ended(3)}},
			want:      "1 of 1 not ready (container web ended with exit code 3)",
		},
		"Runs once more after a crash": {
			container: corev1.ContainerStatus{State: running, LastTerminationState: corev1.ContainerState{Terminated: ended(3)}},
			want:      "1 of 1 not ready (container web ended with exit code 3)",
		},
		"Image is missing": {container: corev1.ContainerStatus{State: waits("ImagePullBackOff")}, want: "1 of 1 in ImagePullBackOff (container web)"},
		"Is being created": {container: corev1.ContainerStatus{State: waits("ContainerCreating")}, want: "1 of 1 not ready"},
		"Init container is done, and no fault": {
			init: done, container: corev1.ContainerStatus{State: running}, want: "1 of 1 not ready",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.container.Name = "web"
			pod := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{tc.container}}}
			if tc.init.Name != "" {
				pod.Status.InitContainerStatuses = []corev1.ContainerStatus{tc.init}
			}
			if got := describeFailing([]corev1.Pod{pod}, &appsv1.ReplicaSet{}); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}
