package spec

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// checkTogether reports whether a release and its workload go together, and what is wrong where
// they don't: each of the two manifests may be right by itself.
func (p *pass) checkTogether(release *Release) bool {
	before := len(p.errors) + p.dropped
	p.checkVariables(release)
	p.checkSelector(release)
	p.checkSurge(release)
	return len(p.errors)+p.dropped == before
}

// checkSelector refuses a template whose pods the workload would not find. That there is a
// selector, and that it is one, is for the API server to say.
func (p *pass) checkSelector(release *Release) {
	var workload struct {
		Spec struct {
			Selector *metav1.LabelSelector `json:"selector"`
		} `json:"spec"`
	}
	var template struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	if json.Unmarshal(release.workload.object, &workload) != nil || json.Unmarshal(release.template, &template) != nil {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(workload.Spec.Selector)
	if err != nil || workload.Spec.Selector == nil || selector.Matches(labels.Set(template.Metadata.Labels)) {
		return
	}
	p.failAt(release.templatePlace, "spec.template.metadata.labels", fmt.Sprintf(
		"spec.template.metadata.labels: the API server refuses a template that the selector of %s %s does not match", release.WorkloadKind, release.Workload))
}

// checkSurge refuses to replace in place, without having been told so, the pods of a DaemonSet that
// has each new pod run beside the old one first.
func (p *pass) checkSurge(release *Release) {
	if release.WorkloadKind != string(daemonSetKind) {
		return
	}
	var workload struct {
		Spec struct {
			UpdateStrategy struct {
				RollingUpdate struct {
					MaxSurge *intstr.IntOrString `json:"maxSurge"`
				} `json:"rollingUpdate"`
			} `json:"updateStrategy"`
		} `json:"spec"`
	}
	var object v1alpha1.BatchRelease
	if json.Unmarshal(release.workload.object, &workload) != nil || json.Unmarshal(release.object, &object) != nil {
		return
	}
	surge := workload.Spec.UpdateStrategy.RollingUpdate.MaxSurge
	if surge == nil || object.Spec.Strategy.MaxUnavailable != nil {
		return
	}
	if pods, err := intstr.GetScaledValueFromIntOrPercent(surge, 100, true); err != nil || pods == 0 {
		return
	}
	p.failAt(Place{release.File, release.Line}, "spec.strategy.maxUnavailable", fmt.Sprintf(
		"spec.strategy.maxUnavailable: must be given, since DaemonSet %s has spec.updateStrategy.rollingUpdate.maxSurge: "+
			"a release does not surge, it replaces pods in place, maxUnavailable at a time", release.Workload))
}

// failAt reports what is wrong with a field of an object.
func (p *pass) failAt(object Place, path, message string) {
	p.fail(object.File, p.find(object, path), message)
}
