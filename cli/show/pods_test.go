package show

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestPodsSayWhyTheyDoNotServe: the tree says of each pod why it does not serve, also in the
// moments in which its container has ended and is not yet started again.
func TestPodsSayWhyTheyDoNotServe(t *testing.T) {
	t.Parallel()
	ended := func(name string, ready bool, code int32, reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, Ready: ready, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason},
		}}
	}
	waits := func(reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
	}
	pod := func(phase corev1.PodPhase, reason string, init, container corev1.ContainerStatus) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{
			Phase: phase, Reason: reason, InitContainerStatuses: []corev1.ContainerStatus{init}, ContainerStatuses: []corev1.ContainerStatus{container},
		}}
	}
	done := ended("migrate", true, 0, "Completed")
	for name, test := range map[string]struct {
		pod   *corev1.Pod
		text  string
		state State
	}{
		"it waits to be started again": {pod(corev1.PodRunning, "", done, waits("CrashLoopBackOff")), "CrashLoopBackOff of container web", Bad},
		"it has just ended":            {pod(corev1.PodRunning, "", done, ended("web", false, 137, "OOMKilled")), "OOMKilled of container web, exit code 137", Bad},
		"nobody says why it ended":     {pod(corev1.PodRunning, "", done, ended("web", false, 1, "")), "end of container web, exit code 1", Bad},
		"an init container has ended":  {pod(corev1.PodPending, "", ended("migrate", false, 3, "Error"), waits("PodInitializing")), "Error of container migrate, exit code 3", Bad},
		"it starts":                    {pod(corev1.PodPending, "", done, waits("ContainerCreating")), "pending", Moving},
		"a node has evicted it":        {pod(corev1.PodFailed, "Evicted", done, ended("web", false, 137, "Error")), "failed: Evicted", Bad},
		"it failed":                    {pod(corev1.PodFailed, "", done, ended("web", false, 1, "Error")), "failed", Bad},
	} {
		if node := podNode(test.pod); node.Text != test.text || node.State != test.state {
			t.Errorf("%s: want %q (%v), got %q (%v)", name, test.text, test.state, node.Text, node.State)
		}
	}
}
