package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// cast is a workload that a story is about: its kind, its name, which its release has too, the
// manifest in the repository, and the images of its versions in their order, the first being what
// the repository holds.
type cast struct {
	kind, name, manifest string
	images               []string
}

// replicasOf returns how many pods a workload is to have.
func replicasOf(object client.Object) int {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return countOf(o.Spec.Replicas)
	case *appsv1.StatefulSet:
		return countOf(o.Spec.Replicas)
	case *appsv1.DaemonSet:
		return int(o.Status.DesiredNumberScheduled)
	}
	return 0
}

func countOf(replicas *int32) int {
	if replicas == nil {
		return 1
	}
	return int(*replicas)
}

// deployed reports whether kubectl rollout status would end.
func deployed(object client.Object) bool {
	var observed int64
	var available int
	switch o := object.(type) {
	case *appsv1.Deployment:
		observed, available = o.Status.ObservedGeneration, int(o.Status.AvailableReplicas)
	case *appsv1.StatefulSet:
		observed, available = o.Status.ObservedGeneration, int(o.Status.AvailableReplicas)
	case *appsv1.DaemonSet:
		observed, available = o.Status.ObservedGeneration, int(o.Status.NumberAvailable)
	default:
		return false
	}
	return observed >= object.GetGeneration() && available > 0 && available == replicasOf(object)
}

// strategy is the native controller's update strategy of a workload.
type strategy struct {
	paused bool
	update any
}

// strategyOf returns what the owner of a workload gets back in the end.
func strategyOf(object client.Object) strategy {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return strategy{o.Spec.Paused, o.Spec.Strategy}
	case *appsv1.StatefulSet:
		return strategy{update: o.Spec.UpdateStrategy}
	case *appsv1.DaemonSet:
		return strategy{update: o.Spec.UpdateStrategy}
	}
	return strategy{}
}

// boundsOf returns how many pods more, and how many available ones fewer than replicas there may
// be: by the release where it says so, else by the workload.
func boundsOf(release *v1alpha1.BatchRelease, object client.Object) (surge, unavailable int, err error) {
	limits := struct{ surge, unavailable *intstr.IntOrString }{release.Spec.Strategy.MaxSurge, release.Spec.Strategy.MaxUnavailable}
	if d, ok := object.(*appsv1.Deployment); ok && d.Spec.Strategy.RollingUpdate != nil {
		if limits.surge == nil {
			limits.surge = d.Spec.Strategy.RollingUpdate.MaxSurge
		}
		if limits.unavailable == nil {
			limits.unavailable = d.Spec.Strategy.RollingUpdate.MaxUnavailable
		}
	}
	replicas := replicasOf(object)
	if surge, err = scaled(limits.surge, replicas, true); err != nil {
		return 0, 0, fmt.Errorf("read maxSurge: %w", err)
	}
	if unavailable, err = scaled(limits.unavailable, replicas, false); err != nil {
		return 0, 0, fmt.Errorf("read maxUnavailable: %w", err)
	}
	return surge, unavailable, nil
}

// scaled returns a number of pods; none is set, none may be missing or too many.
func scaled(value *intstr.IntOrString, replicas int, up bool) (int, error) {
	if value == nil {
		return 0, nil
	}
	return intstr.GetScaledValueFromIntOrPercent(value, replicas, up)
}

func kindOf(object client.Object) string {
	switch object.(type) {
	case *appsv1.Deployment:
		return "Deployment"
	case *appsv1.StatefulSet:
		return "StatefulSet"
	case *appsv1.DaemonSet:
		return "DaemonSet"
	}
	return "object"
}
