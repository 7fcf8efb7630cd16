package preflight

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helper "k8s.io/component-helpers/resource"
)

// defaults holds the LimitRange defaults of a namespace, for containers without their own.
type defaults struct{ requests, limits corev1.ResourceList }

func defaultsOf(ranges []corev1.LimitRange) defaults {
	d := defaults{corev1.ResourceList{}, corev1.ResourceList{}}
	for i := range ranges {
		for _, item := range ranges[i].Spec.Limits {
			if item.Type != corev1.LimitTypeContainer {
				continue
			}
			for name, value := range item.Default {
				d.limits[name], d.requests[name] = value, value
			}
			maps.Copy(d.requests, item.DefaultRequest)
		}
	}
	return d
}

// made returns a pod of a template as the API server makes it: each default fills in only what is
// missing, in the order of the API server (defaultPodRequests in pkg/apis/core/v1), and then of the
// LimitRanges.
func (d defaults) made(template *corev1.PodSpec) *corev1.Pod {
	pod := &corev1.Pod{Spec: *template.DeepCopy()}
	containers := slices.Concat(pointers(pod.Spec.InitContainers), pointers(pod.Spec.Containers))
	for _, c := range containers {
		c.Resources.Requests = filled(c.Resources.Requests, c.Resources.Limits)
	}
	if whole := pod.Spec.Resources; whole != nil && helper.IsPodLevelResourcesSet(pod) {
		ofContainers := helper.AggregateContainerRequests(pod, helper.PodResourcesOptions{})
		maps.DeleteFunc(ofContainers, func(name corev1.ResourceName, _ resource.Quantity) bool {
			return !helper.IsSupportedPodLevelResource(name)
		})
		whole.Requests = filled(filled(whole.Requests, ofContainers), whole.Limits)
	}
	for _, c := range containers {
		c.Resources.Limits, c.Resources.Requests = filled(c.Resources.Limits, d.limits), filled(c.Resources.Requests, d.requests)
	}
	return pod
}

func pointers(containers []corev1.Container) []*corev1.Container {
	all := make([]*corev1.Container, 0, len(containers))
	for i := range containers {
		all = append(all, &containers[i])
	}
	return all
}

// filled returns a list with what it lacks of another.
func filled(list, other corev1.ResourceList) corev1.ResourceList {
	all := maps.Clone(other)
	if all == nil {
		all = corev1.ResourceList{}
	}
	maps.Copy(all, list)
	return all
}

// states reports whether a pod says what a quota counts: as a whole anything, or in each of its
// containers this (Constraints of the quota evaluator of Kubernetes' pods).
func (d defaults) states(template *corev1.PodSpec, name corev1.ResourceName) bool {
	pod := d.made(template)
	if helper.IsPodLevelResourcesSet(pod) {
		return true
	}
	of, limits := resourceOf(name)
	return !slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		list := c.Resources.Requests
		if limits {
			list = c.Resources.Limits
		}
		_, found := list[of]
		return !found
	})
}

// amount returns how much of a quota's resource one pod takes.
func (d defaults) amount(template *corev1.PodSpec, name corev1.ResourceName) resource.Quantity {
	if name == corev1.ResourcePods || name == "count/pods" {
		return resource.MustParse("1")
	}
	pod := d.made(template)
	of, limits := resourceOf(name)
	if limits {
		return helper.PodLimits(pod, helper.PodResourcesOptions{})[of]
	}
	return helper.PodRequests(pod, helper.PodResourcesOptions{})[of]
}
