package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// checkQuota looks at each thing that a quota counts: whether a first pod can be made, and in the
// end all of them.
func (r Release) checkQuota(quota *corev1.ResourceQuota, defaults defaults) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(quota.Status.Hard)) {
		hard, used := quota.Status.Hard[name], quota.Status.Used[name]
		room := hard.DeepCopy()
		room.Sub(used)
		problem := r.problem(quota, name, room, defaults)
		if problem != "" {
			found = append(found, fmt.Sprintf("ResourceQuota %s (%s: %s of %s used) %s", quota.Name, name, used.String(), hard.String(), problem))
		}
	}
	return found
}

// problem returns what a quota says against the release; empty if nothing.
func (r Release) problem(quota *corev1.ResourceQuota, name corev1.ResourceName, room resource.Quantity, defaults defaults) string {
	if name == "count/replicasets.apps" {
		if r.Kind == "Deployment" && r.NewSet && room.Cmp(resource.MustParse("1")) < 0 {
			return "leaves no room for a ReplicaSet"
		}
		return ""
	}
	if !covers(quota, &r.Released.Spec) {
		return ""
	}
	if demanded[name] && !defaults.states(&r.Released.Spec, name) {
		return "takes no pod without it: set it in every container"
	}
	need, freed := defaults.amount(&r.Released.Spec, name), resource.Quantity{}
	if covers(quota, &r.Running.Spec) {
		freed = defaults.amount(&r.Running.Spec, name)
	}
	switch first, all := added(room, times(freed, r.Unavailable)), added(room, times(freed, r.Replicas)); {
	case need.IsZero():
		return ""
	case first.Cmp(need) < 0 && (r.Surge == 0 || room.Cmp(need) < 0):
		return fmt.Sprintf("leaves no room for a first pod, which needs %s, while at most %d may be unavailable", need.String(), r.Unavailable)
	case all.Cmp(times(need, r.Replicas)) < 0:
		total := times(need, r.Replicas)
		return fmt.Sprintf("leaves no room for %d pods of the new template, which need %s", r.Replicas, total.String())
	default:
		return ""
	}
}

func times(q resource.Quantity, n int32) resource.Quantity {
	product := q.DeepCopy()
	product.Mul(int64(n))
	return product
}

func added(a, b resource.Quantity) resource.Quantity {
	total := a.DeepCopy()
	total.Add(b)
	return total
}

// demanded is what each container must state where a quota counts it (validationSet in the quota
// evaluator of Kubernetes' pods).
var demanded = map[corev1.ResourceName]bool{
	corev1.ResourceCPU: true, corev1.ResourceRequestsCPU: true, corev1.ResourceLimitsCPU: true,
	corev1.ResourceMemory: true, corev1.ResourceRequestsMemory: true, corev1.ResourceLimitsMemory: true,
}

// covers reports whether a quota counts the pods of a template.
func covers(quota *corev1.ResourceQuota, pod *corev1.PodSpec) bool {
	for _, scope := range quota.Spec.Scopes {
		if !within(corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}, pod) {
			return false
		}
	}
	if quota.Spec.ScopeSelector == nil {
		return true
	}
	return !slices.ContainsFunc(quota.Spec.ScopeSelector.MatchExpressions, func(s corev1.ScopedResourceSelectorRequirement) bool {
		return !within(s, pod)
	})
}

// within reports whether a pod is in a scope. It is in no scope of other objects, or of affinity
// across namespaces.
func within(scope corev1.ScopedResourceSelectorRequirement, pod *corev1.PodSpec) bool {
	switch scope.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return pod.ActiveDeadlineSeconds != nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return pod.ActiveDeadlineSeconds == nil
	case corev1.ResourceQuotaScopeBestEffort:
		return bestEffort(pod)
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !bestEffort(pod)
	case corev1.ResourceQuotaScopePriorityClass:
		return ofPriority(scope, pod.PriorityClassName)
	default:
		return false
	}
}

func ofPriority(scope corev1.ScopedResourceSelectorRequirement, class string) bool {
	switch scope.Operator {
	case corev1.ScopeSelectorOpIn:
		return slices.Contains(scope.Values, class)
	case corev1.ScopeSelectorOpNotIn:
		return !slices.Contains(scope.Values, class)
	case corev1.ScopeSelectorOpDoesNotExist:
		return class == ""
	default:
		return class != ""
	}
}

// bestEffort reports whether no container asks for, or is limited to, anything.
func bestEffort(pod *corev1.PodSpec) bool {
	if pod.Resources != nil && len(pod.Resources.Requests)+len(pod.Resources.Limits) > 0 {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(pod.InitContainers, pod.Containers), func(c corev1.Container) bool {
		return len(c.Resources.Requests)+len(c.Resources.Limits) > 0
	})
}

// resourceOf returns what a name in a quota counts: the limits or the requests of a resource.
func resourceOf(name corev1.ResourceName) (of corev1.ResourceName, limits bool) {
	if of, is := strings.CutPrefix(string(name), "limits."); is {
		return corev1.ResourceName(of), true
	}
	return corev1.ResourceName(strings.TrimPrefix(string(name), "requests.")), false
}
