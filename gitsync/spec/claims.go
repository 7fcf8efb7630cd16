package spec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// claimsPath is where a StatefulSet has its volume claim templates.
const claimsPath = "spec.volumeClaimTemplates"

// Claims returns the volume claim templates that a release's workload has in the repository. It
// reports false for a workload that has none by its kind, or that the repository does not have.
func (r *Release) Claims() ([]corev1.PersistentVolumeClaim, bool) {
	if r.workload == nil || r.workload.kind != statefulSetKind {
		return nil, false
	}
	var set struct {
		Spec struct {
			VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates"`
		} `json:"spec"`
	}
	err := json.Unmarshal(r.workload.object, &set)
	return set.Spec.VolumeClaimTemplates, err == nil
}

// ClaimsOf returns the volume claim templates of a workload of the cluster; nil for a kind that has
// none.
func ClaimsOf(workload any) []corev1.PersistentVolumeClaim {
	if set, is := workload.(*appsv1.StatefulSet); is {
		return set.Spec.VolumeClaimTemplates
	}
	return nil
}

// claimProblems returns what is wrong with the types of volume claim templates, which are compared
// with those of the cluster.
func claimProblems(of kind, object map[string]any) []pathProblem {
	inside, _ := object["spec"].(map[string]any)
	given, found := inside["volumeClaimTemplates"]
	if of != statefulSetKind || !found {
		return nil
	}
	check := &checker{lenient: true}
	check.check(given, reflect.TypeFor[[]corev1.PersistentVolumeClaim](), field.NewPath("spec", "volumeClaimTemplates"))
	return check.problems
}

// ChangedClaims names the volume claim templates that differ in two StatefulSets, sorted. Fields
// that the API server fills in do not count.
func ChangedClaims(given, kept []corev1.PersistentVolumeClaim) []string {
	before, after := claimsByName(kept), claimsByName(given)
	var changed []string
	for name, claim := range after {
		if was, found := before[name]; !found || !equality.Semantic.DeepEqual(was, claim) {
			changed = append(changed, name)
		}
	}
	for name := range before {
		if _, found := after[name]; !found {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

// claimsByName returns volume claim templates as the API server keeps them, without their status.
func claimsByName(claims []corev1.PersistentVolumeClaim) map[string]corev1.PersistentVolumeClaim {
	byName := map[string]corev1.PersistentVolumeClaim{}
	for i := range claims {
		claim := claims[i].DeepCopy()
		claim.TypeMeta, claim.Status, claim.CreationTimestamp = metav1.TypeMeta{}, corev1.PersistentVolumeClaimStatus{}, metav1.Time{}
		if claim.Spec.VolumeMode == nil {
			claim.Spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
		}
		byName[claim.Name] = *claim
	}
	return byName
}

// A message names this many volume claim templates, by so much of their names: the API server
// checks them, and Git may have any.
const (
	maxClaimsNamed = 3
	maxClaimName   = 63
)

// ClaimNames names volume claim templates in a message.
func ClaimNames(names []string) string {
	var named []string
	for _, name := range names[:min(len(names), maxClaimsNamed)] {
		named = append(named, strings.ToValidUTF8(name[:min(len(name), maxClaimName)], ""))
	}
	which := strings.Join(named, ", ")
	if more := len(names) - len(named); more > 0 {
		which += fmt.Sprintf(" and %d more", more)
	}
	return which
}

// ClaimsRefused says why a release is not applied whose StatefulSet has other volume claim
// templates than the repository.
func ClaimsRefused(set string, names []string) string {
	return fmt.Sprintf("spec.volumeClaimTemplates: Kubernetes does not let them change, and those of StatefulSet %s in Git differ from the cluster's (%s): "+
		"put back in Git what the cluster has, or run kubectl delete statefulset %s --cascade=orphan, and Sluice creates it from Git", set, ClaimNames(names), set)
}
