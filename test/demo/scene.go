package main

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// scene is the snapshot of a workload and its objects at one moment.
type scene struct {
	release *v1alpha1.BatchRelease
	// workload is a Deployment, a StatefulSet or a DaemonSet; nil if there is none.
	workload client.Object
	gates    map[types.UID]*v1alpha1.Gate
	// sets are the ReplicaSets of a Deployment.
	sets map[types.UID]*appsv1.ReplicaSet
	pods map[types.UID]*corev1.Pod
	// images in the order in which pods of them were first seen.
	images []string
}

func newScene() *scene {
	return &scene{
		gates: map[types.UID]*v1alpha1.Gate{}, sets: map[types.UID]*appsv1.ReplicaSet{}, pods: map[types.UID]*corev1.Pod{},
	}
}

// apply adds one change. It keeps objects without a copy, so callers must not change them.
func (s *scene) apply(object client.Object, gone bool) {
	switch o := object.(type) {
	case *v1alpha1.BatchRelease:
		s.release = o
		if gone {
			s.release = nil
		}
	case *appsv1.Deployment, *appsv1.StatefulSet, *appsv1.DaemonSet:
		s.workload = o
		if gone {
			s.workload = nil
		}
	case *v1alpha1.Gate:
		put(s.gates, o.UID, o, gone)
	case *appsv1.ReplicaSet:
		put(s.sets, o.UID, o, gone)
	case *corev1.Pod:
		put(s.pods, o.UID, o, gone)
		if image := imageOf(o.Spec); !slices.Contains(s.images, image) {
			s.images = append(s.images, image)
		}
	}
}

func put[T any](objects map[types.UID]T, uid types.UID, object T, gone bool) {
	if gone {
		delete(objects, uid)
		return
	}
	objects[uid] = object
}

// copy returns a scene that later changes of s don't reach.
func (s *scene) copy() *scene {
	c := newScene()
	c.release, c.workload = s.release, s.workload
	c.images = slices.Clone(s.images)
	maps.Copy(c.gates, s.gates)
	maps.Copy(c.sets, s.sets)
	maps.Copy(c.pods, s.pods)
	return c
}

// gate returns the one that a commit's release meets after a step; nil if there is none.
func (s *scene) gate(commit string, step int) *v1alpha1.Gate {
	for _, g := range s.gates {
		if g.Spec.Commit == commit && int(g.Spec.Step) == step && g.DeletionTimestamp == nil {
			return g
		}
	}
	return nil
}

// tally counts pods. Pods that are ending count as gone, as the native controllers have it.
type tally struct{ available, starting, ending int }

// running returns how many pods there are, those that are ending left out.
func (t tally) running() int { return t.available + t.starting }

func (t tally) plus(u tally) tally {
	return tally{t.available + u.available, t.starting + u.starting, t.ending + u.ending}
}

// tallies counts the pods by image.
func (s *scene) tallies() map[string]tally {
	counts := map[string]tally{}
	for _, pod := range s.pods {
		image := imageOf(pod.Spec)
		counts[image] = counts[image].plus(tallyOf(pod))
	}
	return counts
}

// total counts all pods.
func (s *scene) total() tally {
	var sum tally
	for _, pod := range s.pods {
		sum = sum.plus(tallyOf(pod))
	}
	return sum
}

// desired returns what the ReplicaSets of a Deployment ask for in all. The other kinds have a pod
// for each ordinal or node, and what there is counts.
func (s *scene) desired() int {
	if _, ok := s.workload.(*appsv1.Deployment); !ok {
		return s.total().running()
	}
	sum := 0
	for _, set := range s.sets {
		if set.Spec.Replicas != nil {
			sum += int(*set.Spec.Replicas)
		}
	}
	return sum
}

func tallyOf(pod *corev1.Pod) tally {
	switch {
	case pod.DeletionTimestamp != nil:
		return tally{ending: 1}
	case isReady(pod):
		return tally{available: 1}
	default:
		return tally{starting: 1}
	}
}

// isReady reports whether a pod is available: the samples set no minReadySeconds.
func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// imageOf tells the versions of the sample apart.
func imageOf(spec corev1.PodSpec) string {
	if len(spec.Containers) == 0 {
		return ""
	}
	return spec.Containers[0].Image
}
