package preflight

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// defaults are what the LimitRanges of a namespace give to containers that say nothing.
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

// of is what a container asks for, or is limited to. Who names a limit only asks for as much.
func (d defaults) of(c *corev1.Container, name corev1.ResourceName, limits bool) (resource.Quantity, bool) {
	lists := []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits, d.requests}
	if limits {
		lists = []corev1.ResourceList{c.Resources.Limits, d.limits}
	}
	for _, list := range lists {
		if value, found := list[name]; found {
			return value, true
		}
	}
	return resource.Quantity{}, false
}

// states reports whether every container of a pod says what a quota counts.
func (d defaults) states(pod *corev1.PodSpec, name corev1.ResourceName) bool {
	of, limits := resourceOf(name)
	if _, found := ofPod(pod, of, limits); found {
		return true
	}
	return !slices.ContainsFunc(slices.Concat(pod.InitContainers, pod.Containers), func(c corev1.Container) bool {
		_, found := d.of(&c, of, limits)
		return !found
	})
}

// amount is what one pod takes of what a quota counts (PodRequests and PodLimits in
// k8s.io/component-helpers): all containers at once, or an init container beside the sidecars that
// have started before it, whichever is more.
func (d defaults) amount(pod *corev1.PodSpec, name corev1.ResourceName) resource.Quantity {
	if name == corev1.ResourcePods || name == "count/pods" {
		return resource.MustParse("1")
	}
	of, limits := resourceOf(name)
	total, found := ofPod(pod, of, limits)
	if !found {
		total = d.sum(pod, of, limits)
	}
	return added(total, pod.Overhead[of])
}

func (d defaults) sum(pod *corev1.PodSpec, of corev1.ResourceName, limits bool) resource.Quantity {
	sidecars, most := resource.Quantity{}, resource.Quantity{}
	for i := range pod.InitContainers {
		c := &pod.InitContainers[i]
		value, _ := d.of(c, of, limits)
		value = added(value, sidecars)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars = value
		}
		if value.Cmp(most) > 0 {
			most = value
		}
	}
	total := sidecars
	for i := range pod.Containers {
		value, _ := d.of(&pod.Containers[i], of, limits)
		total = added(total, value)
	}
	if most.Cmp(total) > 0 {
		return most
	}
	return total
}

// ofPod is what a pod says as a whole.
func ofPod(pod *corev1.PodSpec, of corev1.ResourceName, limits bool) (resource.Quantity, bool) {
	if pod.Resources == nil {
		return resource.Quantity{}, false
	}
	lists := []corev1.ResourceList{pod.Resources.Requests, pod.Resources.Limits}
	if limits {
		lists = lists[1:]
	}
	for _, list := range lists {
		if value, found := list[of]; found {
			return value, true
		}
	}
	return resource.Quantity{}, false
}
