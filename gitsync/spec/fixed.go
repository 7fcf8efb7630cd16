package spec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fixed are fields of a workload that Kubernetes never lets change, beside the volume claim
// templates of a StatefulSet.
type Fixed struct {
	Selector            *metav1.LabelSelector          `json:"selector"`
	ServiceName         string                         `json:"serviceName"`
	PodManagementPolicy appsv1.PodManagementPolicyType `json:"podManagementPolicy"`
}

// FixedOf returns the fields of a workload of the cluster.
func FixedOf(workload any) Fixed {
	switch w := workload.(type) {
	case *appsv1.Deployment:
		return Fixed{Selector: w.Spec.Selector}
	case *appsv1.DaemonSet:
		return Fixed{Selector: w.Spec.Selector}
	case *appsv1.StatefulSet:
		return Fixed{w.Spec.Selector, w.Spec.ServiceName, w.Spec.PodManagementPolicy}
	}
	return Fixed{}
}

// Fixed returns the fields as the release's workload has them in the repository. It reports false
// if that has no such workload.
func (r *Release) Fixed() (Fixed, bool) {
	if r.workload == nil {
		return Fixed{}, false
	}
	var manifest struct {
		Spec Fixed `json:"spec"`
	}
	err := json.Unmarshal(r.workload.object, &manifest)
	return manifest.Spec, err == nil
}

// ChangedFixed names the fields of a workload that differ, sorted. Fields that the API server fills
// in do not count, nor does a missing selector, without which it takes no workload.
func (r *Release) ChangedFixed(kept Fixed) []string {
	given, known := r.Fixed()
	if !known {
		return nil
	}
	var changed []string
	if given.Selector != nil && kept.Selector != nil && !equality.Semantic.DeepEqual(given.Selector, kept.Selector) {
		changed = append(changed, "spec.selector")
	}
	if r.WorkloadKind == string(statefulSetKind) {
		ordered := func(p appsv1.PodManagementPolicyType) bool { return p == "" || p == appsv1.OrderedReadyPodManagement }
		if a, b := given.PodManagementPolicy, kept.PodManagementPolicy; a != b && !(ordered(a) && ordered(b)) {
			changed = append(changed, "spec.podManagementPolicy")
		}
		if given.ServiceName != kept.ServiceName {
			changed = append(changed, "spec.serviceName")
		}
	}
	slices.Sort(changed)
	return changed
}

// FixedRefused says why a release is not applied whose workload has other fields than the
// repository that never change.
func (r *Release) FixedRefused(fields []string) string {
	again := fmt.Sprintf("give the workload in Git another name, or run kubectl delete batchrelease/%s %s/%s, which ends its pods",
		r.Name, strings.ToLower(r.WorkloadKind), r.Workload)
	if !slices.Contains(fields, "spec.selector") { // the pods are found again
		again = fmt.Sprintf("run kubectl delete %s %s --cascade=orphan", strings.ToLower(r.WorkloadKind), r.Workload)
	}
	return fmt.Sprintf("%s: Kubernetes does not let it change, and %s %s in Git differs from the cluster's: "+
		"put back in Git what the cluster has, or %s, and Sluice creates it from Git", strings.Join(fields, ", "), r.WorkloadKind, r.Workload, again)
}
