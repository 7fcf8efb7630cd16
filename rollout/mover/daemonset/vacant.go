package daemonset

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// VacantFor is how long a node whose pod is gone keeps its place, whatever the status says. Within
// that the native controller makes another one there, or says that the node is to have none, or
// that it lacks one.
const VacantFor = 5 * time.Second

// Vacancies are the nodes of a DaemonSet whose pod is gone and that have no other one yet.
// Forgotten, a pod on a node that was deleted would count in the stead of one of them, and one pod
// too many would go. It is a value: to see pods makes another one.
type Vacancies struct {
	// occupied are the nodes that had a pod when the pods were seen last, and since says when the pod
	// of a node was missed.
	occupied map[string]bool
	since    map[string]time.Time
}

// See notes which nodes have pods. By the status of the DaemonSet so many nodes lack one: as many
// places are kept. Which ones these are it does not say, nor does it matter. The others are of
// nodes that are gone: where nodes come and go all the time they would add up.
func (v Vacancies) See(occupied map[string]bool, lacking int32, now time.Time) Vacancies {
	since := maps.Clone(v.since)
	for node := range v.occupied {
		if _, known := since[node]; !known && !occupied[node] {
			if since == nil {
				since = map[string]time.Time{}
			}
			since[node] = now
		}
	}
	maps.DeleteFunc(since, func(node string, _ time.Time) bool { return occupied[node] })
	for _, node := range givenUp(since, lacking, now) {
		delete(since, node)
	}
	return Vacancies{occupied, since}
}

// givenUp returns the places that were vacant for long, but for as many as nodes lack a pod: the
// latest.
func givenUp(since map[string]time.Time, lacking int32, now time.Time) []string {
	var old []string
	for node, since := range since {
		if now.Sub(since) >= VacantFor {
			old = append(old, node)
		}
	}
	slices.SortFunc(old, func(a, b string) int { return cmp.Or(since[b].Compare(since[a]), cmp.Compare(a, b)) })
	return old[min(len(old), int(max(lacking, 0))):]
}

// Any reports whether a node lacks its pod.
func (v Vacancies) Any() bool { return len(v.since) > 0 }

// Nodes returns those that lack their pod, by name.
func (v Vacancies) Nodes() []string { return slices.Sorted(maps.Keys(v.since)) }
