package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mostPods is how many pods of a ReplicaSet are shown before those that are well are only counted.
const mostPods = 20

func podNodes(set string, own []corev1.Pod) []Node {
	slices.SortFunc(own, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	var nodes []Node
	well := 0
	for i := range own {
		node := podNode(&own[i])
		if node.State == Good && len(own) > mostPods {
			well++
			continue
		}
		nodes = append(nodes, node)
	}
	if well > 0 {
		nodes = append(nodes, Node{Name: "pods of " + set, State: Good, Text: fmt.Sprintf("%d are ready", well)})
	}
	return nodes
}

func podNode(pod *corev1.Pod) Node {
	node := Node{Name: "pod/" + pod.Name, State: Moving, Text: podText(pod), Since: pod.CreationTimestamp}
	switch {
	case pod.DeletionTimestamp != nil:
		node.State = Plain
	case isReady(pod):
		node.State = Good
	case trouble(pod) != "", pod.Status.Phase == corev1.PodFailed:
		node.State = Bad
	}
	if pod.Spec.NodeName != "" {
		node.Text += ", on " + pod.Spec.NodeName
	}
	return node
}

func podText(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return "terminating"
	case isReady(pod):
		return "ready"
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "": // a node refused or evicted it
		return "failed: " + pod.Status.Reason
	case trouble(pod) != "":
		return trouble(pod)
	case pod.Status.Phase == corev1.PodRunning:
		return "not ready"
	default:
		return cmp.Or(strings.ToLower(string(pod.Status.Phase)), "pending")
	}
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// usual are the reasons to wait of containers that will start by and by.
var usual = []string{"", "ContainerCreating", "PodInitializing"}

// trouble returns why a container of the pod does not run; empty if nothing is wrong.
func trouble(pod *corev1.Pod) string {
	containers := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for _, c := range containers {
		if waiting := c.State.Waiting; waiting != nil && !slices.Contains(usual, waiting.Reason) {
			return waiting.Reason + " of container " + c.Name
		}
	}
	for _, c := range containers { // an init container that is done is ready
		if ended := c.State.Terminated; ended != nil && !c.Ready && pod.Status.Phase != corev1.PodFailed {
			return fmt.Sprintf("%s of container %s, exit code %d", cmp.Or(ended.Reason, "end"), c.Name, ended.ExitCode)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return cmp.Or(c.Message, c.Reason)
		}
	}
	return ""
}
