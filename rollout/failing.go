package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// maxComplaints is how many different states of pods a message names.
const maxComplaints = 3

// describeFailing says in a sentence why fewer pods than wanted are available, the most frequent
// state first. notCreated is the reason why pods can't be created, or empty if none is known.
func describeFailing(pods []corev1.Pod, wanted int, notCreated string) string {
	return cmp.Or(complaints(pods, wanted, notCreated), "the updated pods are ready but not yet available")
}

// complaints returns what is wrong with pods; empty if nothing is.
func complaints(pods []corev1.Pod, wanted int, notCreated string) string {
	counts := map[string]int{}
	for i := range pods {
		if complaint := complaintOf(&pods[i]); complaint != "" {
			counts[complaint]++
		}
	}
	if missing := wanted - len(pods); missing > 0 {
		counts["not created: "+orUnknown(notCreated)] += missing
	}
	found := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, complaint := range found[:min(len(found), maxComplaints)] {
		parts = append(parts, fmt.Sprintf("%d of %d %s", counts[complaint], wanted, complaint))
	}
	return strings.Join(parts, "; ")
}

func orUnknown(text string) string { return cmp.Or(text, "reason unknown") }

// replicaFailure returns why the ReplicaSet controller can't create pods, for example a quota.
func replicaFailure(set *appsv1.ReplicaSet) string {
	for _, condition := range set.Status.Conditions {
		if condition.Type == appsv1.ReplicaSetReplicaFailure && condition.Status == corev1.ConditionTrue {
			return condition.Message
		}
	}
	return ""
}

// complaintOf returns what is wrong with a pod; empty for one that is ready.
func complaintOf(pod *corev1.Pod) string {
	if condition := podCondition(pod, corev1.PodScheduled); condition != nil && condition.Status == corev1.ConditionFalse {
		return "unschedulable: " + condition.Message
	}
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for _, status := range statuses {
		if complaint := containerComplaint(status); complaint != "" {
			return complaint
		}
	}
	if ready := podCondition(pod, corev1.PodReady); ready == nil || ready.Status != corev1.ConditionTrue {
		return "not ready"
	}
	return ""
}

// containerComplaint names the state that a container waits in, for example CrashLoopBackOff or
// ImagePullBackOff, and how its last run ended. While a container that keeps crashing runs again,
// that is all there is to see.
func containerComplaint(status corev1.ContainerStatus) string {
	ended := cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated)
	waiting := status.State.Waiting
	switch {
	case waiting != nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing":
		text := fmt.Sprintf("in %s (container %s", waiting.Reason, status.Name)
		if ended != nil {
			text += fmt.Sprintf(", exit code %d", ended.ExitCode)
		}
		return text + ")"
	case ended != nil && !status.Ready: // an init container that is done is ready
		return fmt.Sprintf("not ready (container %s ended with exit code %d)", status.Name, ended.ExitCode)
	default:
		return ""
	}
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
