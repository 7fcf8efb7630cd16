package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/internal/plain"
)

// mostPods is the number of pods that are drawn one by one.
const mostPods = 1000

// Pods are the pods of a workload, counted and one by one.
type Pods struct {
	// Known reports whether the pods could be read; otherwise the counts come from the release's
	// status.
	Known bool
	// Zones says that the groups are zones and not nodes.
	Zones bool
	// The numbers of pods of the new and the old versions, available or not, and of terminating pods of
	// any version.
	NewAvailable, NewPending, OldAvailable, OldPending, Terminating int
	// Wanted is spec.replicas, Target the number of pods of the new version that the batch needs.
	Wanted, Target int
	Groups         []Group
	// More is the number of pods that are counted but not drawn.
	More     int
	Versions []Version
}

// Total counts all of them.
func (p *Pods) Total() int {
	return p.NewAvailable + p.NewPending + p.OldAvailable + p.OldPending + p.Terminating
}

// Version is a template that has pods, or is part of the release.
type Version struct {
	Revision, Role, Images string
	New                    bool
	Pods, Available        int
}

// Group is the pods of a node or zone.
type Group struct {
	Name string
	Pods []Pod
}

// Pod is a pod.
type Pod struct {
	Name, Revision string
	New            bool
	Going          bool
	Mark           Mark
	Text           string
	Since          Moment
}

func podsOf(w *show.Whole, zones bool, now time.Time) Pods {
	status := &w.Release.Status
	counted := Pods{Zones: zones, Wanted: int(status.Replicas), Target: int(status.TargetReplicas)}
	versions := show.Versions(w)
	if len(versions) == 0 || len(w.Pods) == 0 {
		counted.NewAvailable = int(status.UpdatedAvailableReplicas)
		counted.NewPending = int(max(0, status.UpdatedReplicas-status.UpdatedAvailableReplicas))
		counted.OldAvailable = int(max(0, status.AvailableReplicas-status.UpdatedAvailableReplicas))
		return counted
	}
	counted.Known = true
	groups := map[string][]Pod{}
	for _, version := range versions {
		shown := Version{Revision: version.Revision, Role: version.Role, Images: line(version.Images), New: version.New, Pods: len(version.Pods)}
		for i := range version.Pods {
			pod := &version.Pods[i]
			if counted.count(pod, version.New, isAvailable(pod, w.Workload, now)) {
				shown.Available++
			}
			if counted.Total() > mostPods {
				counted.More++
				continue
			}
			place := placeOf(pod, zones)
			groups[place] = append(groups[place], podOf(pod, version))
		}
		counted.Versions = append(counted.Versions, shown)
	}
	counted.Groups = grouped(groups)
	return counted
}

// count counts a pod. It reports whether the pod is available and stays.
func (p *Pods) count(pod *corev1.Pod, updated, available bool) bool {
	switch {
	case pod.DeletionTimestamp != nil:
		p.Terminating++
		return false
	case updated && available:
		p.NewAvailable++
	case updated:
		p.NewPending++
	case available:
		p.OldAvailable++
	default:
		p.OldPending++
	}
	return available
}

func podOf(pod *corev1.Pod, version show.Version) Pod {
	state, text := show.PodState(pod)
	return Pod{
		Name: pod.Name, Revision: version.Revision, New: version.New, Going: pod.DeletionTimestamp != nil,
		Mark: markOf(state), Text: cell(text), Since: Moment{pod.CreationTimestamp.Time},
	}
}

// placeOf returns the node of a pod, or its zone as the API server has labelled the pod.
func placeOf(pod *corev1.Pod, zones bool) string {
	if zones {
		return cmp.Or(plain.Line(pod.Labels[corev1.LabelTopologyZone]), "zone not known")
	}
	return cmp.Or(pod.Spec.NodeName, "not scheduled")
}

func grouped(byName map[string][]Pod) []Group {
	groups := make([]Group, 0, len(byName))
	for name, pods := range byName {
		slices.SortFunc(pods, func(a, b Pod) int { return strings.Compare(a.Name, b.Name) })
		groups = append(groups, Group{name, pods})
	}
	slices.SortFunc(groups, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return groups
}

// isAvailable reports whether a pod has been ready for as long as its workload requires.
func isAvailable(pod *corev1.Pod, workload show.Object, now time.Time) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			required := time.Duration(show.MinReadySeconds(workload)) * time.Second
			return condition.Status == corev1.ConditionTrue && !now.Before(condition.LastTransitionTime.Add(required))
		}
	}
	return false
}
