package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// What the API server takes for a strategy, by ValidateDeploymentStrategy, ValidateStatefulSetSpec
// and ValidateDaemonSetUpdateStrategy in pkg/apis/apps/validation of Kubernetes. Anyone who may
// write a workload may write another one into the annotation, and the workload could not be handed
// back with it.

// takesDeployment reports whether a Deployment may have the strategy.
func takesDeployment(strategy appsv1.DeploymentStrategy) bool {
	rolling := strategy.RollingUpdate
	switch strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		return rolling == nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		return rolling == nil || isCount(rolling.MaxSurge) && isShare(rolling.MaxUnavailable) &&
			!(isNone(rolling.MaxSurge) && isNone(rolling.MaxUnavailable))
	default:
		return false
	}
}

// takesStatefulSet reports whether a StatefulSet may have the strategy.
func takesStatefulSet(strategy appsv1.StatefulSetUpdateStrategy) bool {
	rolling := strategy.RollingUpdate
	switch strategy.Type {
	case appsv1.OnDeleteStatefulSetStrategyType:
		return rolling == nil
	case appsv1.RollingUpdateStatefulSetStrategyType:
		return rolling == nil || ptr.Deref(rolling.Partition, 0) >= 0 && isShare(rolling.MaxUnavailable) && !isNone(rolling.MaxUnavailable)
	default:
		return false
	}
}

// takesDaemonSet reports whether a DaemonSet may have the strategy.
func takesDaemonSet(strategy appsv1.DaemonSetUpdateStrategy) bool {
	rolling := strategy.RollingUpdate
	switch strategy.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return true
	case appsv1.RollingUpdateDaemonSetStrategyType:
		return rolling == nil || isShare(rolling.MaxSurge) && isShare(rolling.MaxUnavailable) && surgesOrNot(rolling)
	default:
		return false
	}
}

// surgesOrNot reports whether one of the limits of a DaemonSet is more than none, and the other is
// none. By default pods don't surge, and one may be unavailable.
func surgesOrNot(rolling *appsv1.RollingUpdateDaemonSet) bool {
	surges := rolling.MaxSurge != nil && !isNone(rolling.MaxSurge)
	return surges == isNone(rolling.MaxUnavailable)
}

// isCount reports whether a limit is a number of pods, or a percentage; nil is the default.
func isCount(limit *intstr.IntOrString) bool {
	n, ok := scaled(limit)
	return ok && n >= 0
}

// isShare reports whether a limit is a number of pods, or a percentage of at most 100%; nil is the
// default.
func isShare(limit *intstr.IntOrString) bool {
	n, ok := scaled(limit)
	return ok && n >= 0 && (limit == nil || limit.Type == intstr.Int || n <= hundred)
}

// isNone reports whether a limit is no pods, however many there are.
func isNone(limit *intstr.IntOrString) bool {
	n, ok := scaled(limit)
	return limit != nil && ok && n == 0
}

const hundred = 100

// scaled returns a limit of a hundred pods.
func scaled(limit *intstr.IntOrString) (n int, ok bool) {
	if limit == nil {
		return 0, true
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(limit, hundred, true)
	return n, err == nil
}
