// Package preflight finds what in a namespace can block a release, such as quotas; pure.
//
//	release, objects of the namespace ──► Check ──► what will not fit, warnings
//
// What will not fit is certain as far as these objects say: with it the release would stop at pods
// that nobody can make. A warning is what the release does all the same.
//
// Not looked at are the nodes themselves, limits of a LimitRange, quotas for anything but pods,
// their compute resources and ReplicaSets, and what webhooks add to pods.
package preflight

import (
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Release is the release that is about to begin.
type Release struct {
	// Kind and Workload name the workload.
	Kind, Workload string
	// Replicas are its pods; Surge and Unavailable, how many there may be beyond, or fewer.
	Replicas, Surge, Unavailable int32
	// Running is the template of its pods, Released the one that they get.
	Running, Released *corev1.PodTemplateSpec
	// Shared says that routes share requests between two versions that have pods of their own.
	Shared bool
	// NewSet says that the version is new. A Deployment then needs a ReplicaSet for it.
	NewSet bool
	// BreakGlass is the reason for which the admission policies let everybody change the workload;
	// empty if they don't.
	BreakGlass string
}

// longestReason of a break-glass annotation, in bytes: anybody who may change the workload writes
// it.
const longestReason = 200

// Namespace are the objects that can limit a release.
type Namespace struct {
	Quotas      []corev1.ResourceQuota
	Limits      []corev1.LimitRange
	Budgets     []policyv1.PodDisruptionBudget
	Autoscalers []autoscalingv2.HorizontalPodAutoscaler
}

// Findings are sentences for people.
type Findings struct {
	WillNotFit, Warnings []string
}

// All returns both, the worse first.
func (f *Findings) All() []string { return slices.Concat(f.WillNotFit, f.Warnings) }

// Fails reports whether the release does not fit.
func (f *Findings) Fails() bool { return len(f.WillNotFit) > 0 }

// Check looks for what stands against a release. A workload of no pods needs no room.
func Check(r Release, n Namespace) Findings {
	var found Findings
	if r.Running != nil && NamesOtherNodes(r.Kind, &r.Running.Spec, &r.Released.Spec) {
		found.Warnings = append(found.Warnings, OtherNodes)
	}
	if r.Replicas == 0 {
		return found
	}
	defaults := defaultsOf(n.Limits)
	for i := range n.Quotas {
		found.WillNotFit = append(found.WillNotFit, r.checkQuota(&n.Quotas[i], defaults)...)
	}
	if only := r.Kind != "Deployment" && r.Replicas == 1; r.Unavailable >= r.Replicas && !only { // an only pod is missing while it is replaced
		found.Warnings = append(found.Warnings, fmt.Sprintf("maxUnavailable lets all %d pods be missing at once", r.Replicas))
	}
	if r.BreakGlass != "" {
		found.Warnings = append(found.Warnings, fmt.Sprintf("%s %s has the annotation %s (%s), so the admission policies do not protect it: "+
			"if this is not an emergency, 'kubectl annotate %s %s %[3]s-' removes it",
			r.Kind, r.Workload, v1alpha1.BreakGlassAnnotation, plain.UpTo(plain.Line(r.BreakGlass), longestReason), strings.ToLower(r.Kind), r.Workload))
	}
	for i := range n.Budgets {
		found.Warnings = append(found.Warnings, r.checkBudget(&n.Budgets[i])...)
	}
	for i := range n.Autoscalers {
		found.Warnings = append(found.Warnings, r.checkAutoscaler(&n.Autoscalers[i])...)
	}
	return found
}

// checkBudget compares what a budget promises with what the release may do. A budget binds those
// who evict pods. Controllers delete them, be it a ReplicaSet or Sluice itself, so that nobody else
// would.
func (r Release) checkBudget(budget *policyv1.PodDisruptionBudget) []string {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil || !selector.Matches(labels.Set(r.Released.Labels)) {
		return nil
	}
	missing := r.Replicas
	switch spec := &budget.Spec; {
	case spec.MaxUnavailable != nil:
		missing = r.scaled(spec.MaxUnavailable)
	case spec.MinAvailable != nil:
		missing = max(r.Replicas-r.scaled(spec.MinAvailable), 0)
	}
	var warnings []string
	if r.Unavailable > missing {
		warnings = append(warnings, fmt.Sprintf("PodDisruptionBudget %s lets %d of %d pods be missing, the release %d: lower maxUnavailable if it is to keep to that; it counts the pods of both versions together",
			budget.Name, missing, r.Replicas, r.Unavailable))
	}
	return append(warnings, r.checkSides(budget.Name, missing)...)
}

// checkSides looks whether the drains of nodes may take all pods of the version that serves. The
// disruption controller counts what is there of both versions, and compares that with what
// spec.replicas asks for.
func (r Release) checkSides(budget string, missing int32) []string {
	if evicted := r.Surge + missing; r.Shared && missing < r.Replicas && evicted >= r.Replicas {
		return []string{fmt.Sprintf("PodDisruptionBudget %s counts the pods of both versions together: while there are %d, drains may evict %d, and so all %d that serve; "+
			"set its minAvailable to %d until the release has ended, or drain no nodes", budget, r.Replicas+r.Surge, evicted, r.Replicas, r.Replicas+r.Surge-missing)}
	}
	return nil
}

// scaled rounds percentages up, as the disruption controller does.
func (r Release) scaled(value *intstr.IntOrString) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(value, int(r.Replicas), true)
	if err != nil {
		return r.Replicas
	}
	return int32(n)
}

// checkAutoscaler looks whether spec.replicas is about to be changed in the middle of the release.
func (r Release) checkAutoscaler(hpa *autoscalingv2.HorizontalPodAutoscaler) []string {
	target := hpa.Spec.ScaleTargetRef
	if target.Kind != r.Kind || target.Name != r.Workload {
		return nil
	}
	least := int32(1)
	if hpa.Spec.MinReplicas != nil {
		least = *hpa.Spec.MinReplicas
	}
	if r.Replicas >= least && r.Replicas <= hpa.Spec.MaxReplicas {
		return nil
	}
	return []string{fmt.Sprintf("HorizontalPodAutoscaler %s wants %d to %d pods, the %s has %d: it will be scaled in mid-release",
		hpa.Name, least, hpa.Spec.MaxReplicas, r.Kind, r.Replicas)}
}
