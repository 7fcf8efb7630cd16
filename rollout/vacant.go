package rollout

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// vacantFor is how long a node whose pod is gone keeps its place, whatever the status says. Within that the native controller makes another
// one there, or says that the node is to have none, or that it lacks one.
const vacantFor = 5 * time.Second

// vacancies are the nodes of a DaemonSet whose pod is gone and that have no other one yet. Forgotten, a pod on a node that was
// deleted would count in the stead of one of them, and one pod too many would go.
type vacancies struct {
	// occupied are the nodes that had a pod when the pods were seen last, and since says when the pod of a node was missed.
	occupied map[string]bool
	since    map[string]time.Time
}

// see notes which nodes have pods. By the status of the DaemonSet so many nodes lack one: as many places are kept. Which ones these are it
// does not say, nor does it matter. The others are of nodes that are gone: where nodes come and go all the time they would add up.
func (n *vacancies) see(pods []*corev1.Pod, lacking int32, now time.Time) {
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
	maps.DeleteFunc(n.since, func(node string, _ time.Time) bool { return occupied[node] })
	n.occupied = occupied
	n.giveUp(lacking, now)
}

// giveUp gives up places that were vacant for long, but for as many as nodes lack a pod: the latest.
func (n *vacancies) giveUp(lacking int32, now time.Time) {
	var old []string
	for node, since := range n.since {
		if now.Sub(since) >= vacantFor {
			old = append(old, node)
		}
	}
	slices.SortFunc(old, func(a, b string) int { return cmp.Or(n.since[b].Compare(n.since[a]), cmp.Compare(a, b)) })
	for _, node := range old[min(len(old), int(max(lacking, 0))):] {
		delete(n.since, node)
	}
}

// nodes are those that lack their pod, by name.
func (n *vacancies) nodes() []string { return slices.Sorted(maps.Keys(n.since)) }
