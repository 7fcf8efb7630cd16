package journeys

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// scene holds the objects of a namespace at a revision. They are immutable.
type scene struct {
	releases    map[string]*v1alpha1.BatchRelease
	deployments map[string]*appsv1.Deployment
	inPlace     map[string]client.Object // StatefulSets and DaemonSets
	gates       map[string]*v1alpha1.Gate
	kept        map[string]*appsv1.ControllerRevision
	history     map[string]*appsv1.ControllerRevision // of native controllers
	sets        map[types.UID]*appsv1.ReplicaSet
	pods        map[types.UID]*corev1.Pod
	routes      map[string]*unstructured.Unstructured
	services    map[string]*corev1.Service
	slices      map[string]*discoveryv1.EndpointSlice
}

func newScene() *scene {
	return &scene{
		releases:    map[string]*v1alpha1.BatchRelease{},
		deployments: map[string]*appsv1.Deployment{},
		inPlace:     map[string]client.Object{},
		gates:       map[string]*v1alpha1.Gate{},
		kept:        map[string]*appsv1.ControllerRevision{},
		history:     map[string]*appsv1.ControllerRevision{},
		sets:        map[types.UID]*appsv1.ReplicaSet{},
		pods:        map[types.UID]*corev1.Pod{},
		routes:      map[string]*unstructured.Unstructured{},
		services:    map[string]*corev1.Service{},
		slices:      map[string]*discoveryv1.EndpointSlice{},
	}
}

func (s *scene) clone() *scene {
	return &scene{
		releases:    maps.Clone(s.releases),
		deployments: maps.Clone(s.deployments),
		inPlace:     maps.Clone(s.inPlace),
		gates:       maps.Clone(s.gates),
		kept:        maps.Clone(s.kept),
		history:     maps.Clone(s.history),
		sets:        maps.Clone(s.sets),
		pods:        maps.Clone(s.pods),
		routes:      maps.Clone(s.routes),
		services:    maps.Clone(s.services),
		slices:      maps.Clone(s.slices),
	}
}

// apply takes over what one entry of the journal says.
func (s *scene) apply(e entry) {
	switch o := e.object.(type) {
	case *v1alpha1.BatchRelease:
		put(s.releases, o.Name, o, e.gone)
	case *appsv1.Deployment:
		put(s.deployments, o.Name, o, e.gone)
	case *appsv1.StatefulSet, *appsv1.DaemonSet:
		put(s.inPlace, o.GetName(), o, e.gone)
	case *v1alpha1.Gate:
		put(s.gates, o.Name, o, e.gone)
	case *appsv1.ControllerRevision:
		kept := s.kept
		if native(o) {
			kept = s.history
		}
		put(kept, o.Name, o, e.gone)
	case *appsv1.ReplicaSet:
		put(s.sets, o.UID, o, e.gone)
	case *corev1.Pod:
		put(s.pods, o.UID, o, e.gone)
	case *unstructured.Unstructured:
		put(s.routes, o.GetName(), o, e.gone)
	case *corev1.Service:
		put(s.services, o.Name, o, e.gone)
	case *discoveryv1.EndpointSlice:
		put(s.slices, o.Name, o, e.gone)
	}
}

func put[K comparable, V any](m map[K]V, key K, value V, gone bool) {
	if gone {
		delete(m, key)
		return
	}
	m[key] = value
}

// setsOf returns the ReplicaSets of a Deployment, by name.
func (s *scene) setsOf(d *appsv1.Deployment) []*appsv1.ReplicaSet {
	var sets []*appsv1.ReplicaSet
	for _, set := range s.sets {
		if owns(d, set) {
			sets = append(sets, set)
		}
	}
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(a.Name, b.Name) })
	return sets
}

func owns(owner, object client.Object) bool {
	controller := metav1.GetControllerOf(object)
	return controller != nil && controller.UID == owner.GetUID()
}

// updateSet returns the ReplicaSet of the Deployment's template, nil if there is none.
func (s *scene) updateSet(d *appsv1.Deployment) *appsv1.ReplicaSet {
	for _, set := range s.setsOf(d) {
		if digestOf(&set.Spec.Template) == digestOf(&d.Spec.Template) {
			return set
		}
	}
	return nil
}

func digestOf(template *corev1.PodTemplateSpec) string {
	digest, err := podtemplate.Digest(template)
	if err != nil { // a template that was read from the API always encodes
		panic(err)
	}
	return digest
}

// podsOf counts the pods of a workload that are not going away, by the image that they run.
func (s *scene) podsOf(workload client.Object) map[string]int {
	counts := map[string]int{}
	for _, pod := range s.podsOwned(workload) {
		if alive(pod) {
			counts[pod.Spec.Containers[0].Image]++
		}
	}
	return counts
}

// readyPods counts the pods of a workload that serve.
func (s *scene) readyPods(workload client.Object) int32 {
	var ready int32
	for _, pod := range s.podsOwned(workload) {
		if alive(pod) && isReady(pod) {
			ready++
		}
	}
	return ready
}

// podsIn counts the pods of a ReplicaSet that are not going away.
func (s *scene) podsIn(set *appsv1.ReplicaSet) int {
	n := 0
	for _, pod := range s.pods {
		if owns(set, pod) && alive(pod) {
			n++
		}
	}
	return n
}

func alive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func replicas(set *appsv1.ReplicaSet) int32 {
	if set == nil {
		return 0
	}
	return ptr.Deref(set.Spec.Replicas, 1)
}

func held(workload client.Object) bool {
	_, found := workload.GetAnnotations()[v1alpha1.HoldAnnotation]
	return found
}

func hashOf(set *appsv1.ReplicaSet) string { return set.Labels[appsv1.DefaultDeploymentUniqueLabelKey] }
