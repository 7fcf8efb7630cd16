package journeys

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// statefulSet returns a StatefulSet "web" of so many pods of web:1, of which two at a time may be
// unavailable in a release of this package.
func statefulSet(replicas int32, change ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	s := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: "web", PodManagementPolicy: parallel,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: podTemplate("web:1", nil),
		},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

// toStateful returns a release of web:2 for the StatefulSet.
func toStateful(steps ...v1alpha1.Step) *v1alpha1.BatchRelease {
	return releaseTo("StatefulSet", podTemplate("web:2", nil), steps...)
}

// closed wants the StatefulSet to be held with the partition that no ordinal reaches.
func closed(s *scene) error {
	if set := s.stateful(); set == nil || !held(set) || partition(set) != inplace.Held {
		return fmt.Errorf("want the partition of the StatefulSet closed")
	}
	return nil
}

// places wants pods to run and to serve, with their images by their names.
func places(want map[string]string) check {
	return func(s *scene) error {
		have := map[string]string{}
		for _, pod := range s.podsOwned(s.workload("web")) {
			if alive(pod) && isReady(pod) {
				have[pod.Name] = pod.Spec.Containers[0].Image
			}
		}
		if !maps.Equal(have, want) {
			return fmt.Errorf("want pods %v, have %v", want, have)
		}
		return nil
	}
}

// from returns pods by name, of which those from an ordinal up to the end run web:2, and the others
// web:1.
func from(first, updated, end int) map[string]string {
	pods := map[string]string{}
	for i := first; i < end; i++ {
		pods[fmt.Sprintf("web-%d", i)] = "web:1"
		if i >= updated {
			pods[fmt.Sprintf("web-%d", i)] = "web:2"
		}
	}
	return pods
}

// another wants another pod of a name than the one with a UID, that serves.
func another(name, uid string) check {
	return func(s *scene) error {
		if pod := s.pod(name); pod == nil || string(pod.UID) == uid || !isReady(pod) {
			return fmt.Errorf("want another pod %s", name)
		}
		return nil
	}
}

// replacedByHand deletes a pod, and waits until another of its name serves and the rest is as it
// was.
func (w *world) replacedByHand(name string, then check) {
	w.Helper()
	uid := w.now().uids()[name]
	w.kubectl("delete", "pod", name, "--wait=false")
	w.await(all(another(name, uid), then))
}

// resizeSet scales the StatefulSet as an HPA does.
func (w *world) resizeSet(replicas int) {
	w.Helper()
	w.kubectl("scale", "statefulset", "web", "--replicas", fmt.Sprint(replicas))
}
