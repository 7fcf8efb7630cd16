package spec

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// validateKind refuses settings without effect on workloads of the release's kind: a user who sets
// one expects an effect. The CRD has the same rules in the same words, since releases come without
// Git as well.
func validateKind(release *v1alpha1.BatchReleaseSpec, at *field.Path) field.ErrorList {
	strategy, of := release.Strategy, kind(release.WorkloadRef.Kind)
	if of != statefulSetKind && of != daemonSetKind {
		return nil
	}
	var errs field.ErrorList
	refuse := func(given bool, name, why string) {
		if given {
			errs = append(errs, field.Forbidden(at.Child(name), why))
		}
	}
	refuse(strategy.MaxSurge != nil, "maxSurge",
		"is for Deployments: pods of a StatefulSet or DaemonSet are replaced in place, within maxUnavailable")
	refuse(strategy.PodReplacement != "", "podReplacement",
		"is for Deployments: a pod of a StatefulSet or DaemonSet is created when the one before it is gone")
	refuse(strategy.Traffic != nil, "traffic",
		"is for Deployments: no Service can tell the versions of a StatefulSet or DaemonSet apart by pod-template-hash")
	refuse(strategy.AllowMixedVersions, "allowMixedVersions",
		"is for Deployments with strategy Recreate: a StatefulSet or DaemonSet has no such strategy")
	refuse(of == statefulSetKind && len(strategy.Order) > 0, "order",
		"is not for StatefulSets: their pods go by ordinal, the highest first")
	refuse(of == statefulSetKind && strategy.PausePoints, "pausePoints",
		"is not for StatefulSets: their pods go by ordinal, the highest first; use steps")
	refuse(of == daemonSetKind && strategy.StepBack == v1alpha1.StepBackRemovePods, "stepBack",
		"RemovePods is not for DaemonSets: a pod that is replaced has the new template, until a rollback")
	return errs
}
