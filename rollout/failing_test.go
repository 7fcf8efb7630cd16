package rollout

import (
	"testing"

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
			if got := describeFailing([]corev1.Pod{pod}, 1, ""); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}

func TestFailingPlaces(t *testing.T) {
	t.Parallel()
	ready := corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
	cases := map[string]struct {
		places failingPlaces
		want   string
	}{
		"Nothing is wrong":   {failingPlaces{updated: []corev1.Pod{ready}}, "the updated pods are ready but not yet available"},
		"Not created":        {failingPlaces{updated: []corev1.Pod{ready}, vacant: 1, describe: "the events"}, "1 of 2 not created: see the events"},
		"Not gone":           {failingPlaces{going: []string{"web-5", "web-4"}}, "2 of 2 not created: web-4, web-5 not gone yet"},
		"Many are not gone":  {failingPlaces{going: []string{"a", "b", "c", "d", "e"}}, "5 of 5 not created: a, b, c and 2 more not gone yet"},
		"Neither":            {failingPlaces{going: []string{"a"}, vacant: 1, describe: "the events"}, "2 of 2 not created: a not gone yet, see the events"},
		"In order":           {failingPlaces{vacant: 2, ordered: true, broken: []string{"web-1"}}, "2 of 2 not created: podManagementPolicy OrderedReady waits for web-1"},
		"Others not ready":   {failingPlaces{updated: []corev1.Pod{ready}, broken: []string{"web-0"}}, "waiting for 1 pod of the previous version, not ready: web-0"},
		"Updated not ready":  {failingPlaces{updated: []corev1.Pod{{}, ready}, broken: []string{"web-0"}}, "1 of 2 not ready"},
		"Two others are not": {failingPlaces{broken: []string{"b", "a"}}, "waiting for 2 pods of the previous version, not ready: a, b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.places.String(); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}
