package rollout

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// vacantFor is how long a node whose pod is gone keeps its place. Within that the native controller makes another one there, or says
// in the status that the node is to have none.
const vacantFor = 5 * time.Second

// vacancies are the nodes of a DaemonSet whose pod is gone and that have no other one yet. Forgotten, a pod on a node that was
// deleted would count in the stead of one of them, and one pod too many would go.
type vacancies struct {
	// occupied are the nodes that had a pod when the pods were seen last, and since says when the pod of a node was missed.
	occupied map[string]bool
	since    map[string]time.Time
}

// see notes which nodes have pods. While some lack one by the status of the DaemonSet, no place is given up.
func (n *vacancies) see(pods []*corev1.Pod, lacking bool, now time.Time) {
	occupied := map[string]bool{}
	for _, pod := range pods {
		if node := nodeOf(pod); node != "" {
			occupied[node] = true
		}
	}
	for node := range n.occupied {
		if _, known := n.since[node]; !known && !occupied[node] {
			if n.since == nil {
				n.since = map[string]time.Time{}
			}
			n.since[node] = now
		}
	}
	maps.DeleteFunc(n.since, func(node string, since time.Time) bool {
		return occupied[node] || !lacking && now.Sub(since) >= vacantFor
	})
	n.occupied = occupied
}

// nodes are those that lack their pod, by name.
func (n *vacancies) nodes() []string { return slices.Sorted(maps.Keys(n.since)) }
