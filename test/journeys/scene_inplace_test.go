package journeys

import (
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What a scene has of StatefulSets and DaemonSets, whose pods are replaced in place.

// workload returns the one of a name, of whatever kind; nil if there is none.
func (s *scene) workload(name string) client.Object {
	if d := s.deployments[name]; d != nil {
		return d
	}
	return s.inPlace[name]
}

// sameKind reports whether two objects are of one kind.
func sameKind(a, b client.Object) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) }

// native reports whether a ControllerRevision is of a native controller.
func native(revision *appsv1.ControllerRevision) bool {
	owner := metav1.GetControllerOf(revision)
	return owner != nil && (owner.Kind == "StatefulSet" || owner.Kind == "DaemonSet")
}

// podsOwned returns all pods of a workload, those that are going away too.
func (s *scene) podsOwned(workload client.Object) []*corev1.Pod {
	owners := []client.Object{workload}
	if d, is := workload.(*appsv1.Deployment); is {
		owners = nil
		for _, set := range s.setsOf(d) {
			owners = append(owners, set)
		}
	}
	var pods []*corev1.Pod
	for _, pod := range s.pods {
		if slices.ContainsFunc(owners, func(owner client.Object) bool { return owns(owner, pod) }) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// templateOf returns the pod template of a workload.
func templateOf(workload client.Object) *corev1.PodTemplateSpec {
	switch o := workload.(type) {
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *appsv1.Deployment:
		return &o.Spec.Template
	default:
		return nil
	}
}

// wantedPods returns the desired number of a workload's pods, as far as its native controller
// knows.
func wantedPods(workload client.Object) int32 {
	switch o := workload.(type) {
	case *appsv1.StatefulSet:
		return ptr.Deref(o.Spec.Replicas, 1)
	case *appsv1.DaemonSet:
		return o.Status.DesiredNumberScheduled
	case *appsv1.Deployment:
		return ptr.Deref(o.Spec.Replicas, 1)
	default:
		return 0
	}
}

// partition returns the partition of a StatefulSet; -1 with the strategy OnDelete.
func partition(s *appsv1.StatefulSet) int32 {
	if s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return -1
	}
	if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		return ptr.Deref(rolling.Partition, 0)
	}
	return 0
}

// stateful returns the workload "web" of a journey of StatefulSets, and daemon that of DaemonSets.
func (s *scene) stateful() *appsv1.StatefulSet {
	set, _ := s.inPlace["web"].(*appsv1.StatefulSet)
	return set
}

func (s *scene) daemon() *appsv1.DaemonSet {
	set, _ := s.inPlace["web"].(*appsv1.DaemonSet)
	return set
}

// pod returns the pod of a name that is not going away; nil if there is none.
func (s *scene) pod(name string) *corev1.Pod {
	for _, pod := range s.pods {
		if pod.Name == name && alive(pod) {
			return pod
		}
	}
	return nil
}

// uids returns the UIDs of the existing pods, by name.
func (s *scene) uids() map[string]string {
	uids := map[string]string{}
	for _, pod := range s.pods {
		uids[pod.Name] = string(pod.UID)
	}
	return uids
}
