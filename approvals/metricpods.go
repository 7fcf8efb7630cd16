package approvals

import (
	"errors"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/internal/podwatch"
	"github.com/sluice-dev/sluice/judge/counters"
)

// errPodsUnseen says that the watch of the pods has not seen them yet.
var errPodsUnseen = errors.New("the pods are not known yet")

// podsOf returns the pods of both versions as their watch has them.
func (r *MetricGates) podsOf(m *measurement) ([]counters.Pod, error) {
	kind := kinds.Named(m.workload.Kind)
	if kind == nil {
		return nil, readingError{v1alpha1.TroubleMisconfigured, "compare needs a workload: a train has no pods of its own"}
	}
	versions := [2]kinds.Pods{kind.Pods(m.workload.Name, m.stable), kind.Pods(m.workload.Name, m.gate.Spec.Revision)}
	selector := labels.NewSelector()
	for key := range versions[0].Labels {
		either, err := labels.NewRequirement(key, selection.In, []string{versions[0].Labels[key], versions[1].Labels[key]})
		if err != nil {
			return nil, readingError{v1alpha1.TroubleMisconfigured, err.Error()}
		}
		selector = selector.Add(*either)
	}
	what := podwatch.Pods{Namespace: m.gate.Namespace, Selector: selector.String()}
	pods, seen, err := r.pods.Of(client.ObjectKeyFromObject(m.gate), what)
	switch {
	case err != nil:
		return nil, readingError{v1alpha1.TroubleMisconfigured, err.Error()}
	case seen == podwatch.Begun:
		return nil, errPodsUnseen
	case seen == podwatch.Late:
		return nil, readingError{v1alpha1.TroubleNoData, "the pods can't be watched: the log of the controller says why"}
	}
	var all []counters.Pod
	for _, pod := range pods {
		for i := range versions {
			if since := readySince(pod); isOf(pod, versions[i]) && !since.IsZero() {
				all = append(all, counters.Pod{
					Name: pod.Name, UID: string(pod.UID) + "/" + strconv.Itoa(i), New: i == 1, Restarts: restartsOf(pod), Since: since,
				})
			}
		}
	}
	return all, nil
}

// isOf reports whether a pod is of a version.
func isOf(pod *corev1.Pod, version kinds.Pods) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	for key, value := range version.Labels {
		if pod.Labels[key] != value {
			return false
		}
	}
	return owner != nil && owner.Kind == version.OwnerKind && owner.Name == version.Owner
}

// readySince returns the time from which a pod has been ready; zero if it is not.
func readySince(pod *corev1.Pod) time.Time {
	if pod.DeletionTimestamp != nil {
		return time.Time{}
	}
	if ready := podReady(pod); ready != nil && ready.Status == corev1.ConditionTrue {
		return ready.LastTransitionTime.Time
	}
	return time.Time{}
}

func podReady(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c
		}
	}
	return nil
}

func restartsOf(pod *corev1.Pod) (restarts int32) {
	for i := range pod.Status.ContainerStatuses {
		restarts += pod.Status.ContainerStatuses[i].RestartCount
	}
	return restarts
}

// podToMeasure leaves of a pod what tells its version, its age and its restarts.
func podToMeasure(object any) (any, error) {
	pod, is := object.(*corev1.Pod)
	if !is { // a tombstone
		return object, nil
	}
	pod.ManagedFields, pod.Annotations, pod.Spec = nil, nil, corev1.PodSpec{}
	versions := map[string]string{}
	for _, key := range []string{appsv1.DefaultDeploymentUniqueLabelKey, appsv1.ControllerRevisionHashLabelKey} {
		if value, has := pod.Labels[key]; has {
			versions[key] = value
		}
	}
	pod.Labels = versions
	status := corev1.PodStatus{}
	if ready := podReady(pod); ready != nil {
		status.Conditions = []corev1.PodCondition{*ready}
	}
	for i := range pod.Status.ContainerStatuses {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{RestartCount: pod.Status.ContainerStatuses[i].RestartCount})
	}
	pod.Status = status
	return pod, nil
}
