package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// startPatience is how long a pod may take to become ready before its node is read.
const startPatience = 30 * time.Second

// nodeMemory is how long what was read of a node is reused. Passes that other changes cause in
// between cost nothing.
const nodeMemory = 10 * time.Second

// A release reads so many nodes within a time, and remembers them for as long as it takes to read
// all. There may be thousands: in an outage, or because somebody makes pods for nodes that there
// are none of. Other releases must not wait for that.
const (
	maxNodeReads = 50
	readsWithin  = 5 * time.Second
)

// nextNodes is after how long to see whether more of them may be read.
const nextNodes = time.Second

// knownNode holds the state of a node, and when it was read.
type knownNode struct {
	lost bool
	at   time.Time
}

// findLost finds the nodes of pods on which nothing can become available: the pod on a node that is
// not ready says nothing any more, and one that is deleted there stays. Only nodes are read whose
// pod gives reason to. One that is not read yet is waited for, like one that is ready.
func (r *podReader) findLost(ctx context.Context, v *view) error {
	now, known := r.clock.Now(), v.process.nodes
	v.pods.lost = map[string]bool{}
	suspects := suspects(v, now)
	memory := max(nodeMemory, time.Duration(len(suspects))*readsWithin/maxNodeReads)
	maps.DeleteFunc(known, func(_ string, n knownNode) bool { return now.Sub(n.at) > memory })
	reads := 0
	for _, n := range known {
		if now.Sub(n.at) < readsWithin {
			reads++
		}
	}
	v.process.nodesLeft = false
	for _, name := range suspects {
		if _, found := known[name]; !found && reads >= maxNodeReads {
			v.process.nodesLeft = true
			continue
		} else if !found {
			lost, err := r.nodeLost(ctx, name)
			if err != nil {
				return err
			}
			known[name] = knownNode{lost, now}
			reads++
		}
		if known[name].lost {
			v.pods.lost[name] = true
		}
	}
	return nil
}

// suspects returns the nodes of pods that give reason to read them, by name.
func suspects(v *view, now time.Time) []string {
	nodes := map[string]bool{}
	for _, pod := range v.pods.pods {
		if name := nodeOf(pod); name != "" && suspect(pod, now) {
			nodes[name] = true
		}
	}
	return slices.Sorted(maps.Keys(nodes))
}

// suspect reports whether a pod may be on a node that is lost. The node lifecycle controller takes
// the readiness of pods on a lost node away, and of their containers it does not (MarkPodsNotReady
// in pkg/controller/util/node of Kubernetes).
func suspect(pod *corev1.Pod, now time.Time) bool {
	if pod.DeletionTimestamp != nil {
		return pod.DeletionTimestamp.Time.Before(now) // it is the time by which the pod was to be gone
	}
	if ready := podCondition(pod, corev1.PodReady); ready != nil && ready.Status == corev1.ConditionTrue {
		return false
	}
	containers := podCondition(pod, corev1.ContainersReady)
	return containers != nil && containers.Status == corev1.ConditionTrue || now.Sub(pod.CreationTimestamp.Time) > startPatience
}

// nodeLost reports whether a node is there and not ready. The native controller counts none that is
// gone. A controller that may not read nodes waits for all of them.
func (r *podReader) nodeLost(ctx context.Context, name string) (bool, error) {
	var node corev1.Node
	err := r.live.Get(ctx, client.ObjectKey{Name: name}, &node)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read node %s: %w", name, err)
	}
	return !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}), nil
}

// nodeOf returns the node of a pod, or the one that a DaemonSet's pod is made for
// (ReplaceDaemonSetPodNodeNameNodeAffinity in pkg/controller/daemon/util of Kubernetes); empty if
// there is none yet.
func nodeOf(pod *corev1.Pod) string {
	affinity := pod.Spec.Affinity
	switch {
	case pod.Spec.NodeName != "":
		return pod.Spec.NodeName
	case affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil:
		return ""
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}
