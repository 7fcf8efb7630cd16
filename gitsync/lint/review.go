package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	strictjson "sigs.k8s.io/json"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// review is one release that package spec takes.
type review struct {
	*Report
	files   fs.FS
	release *spec.Release
	object  v1alpha1.BatchRelease
	// deployment is nil if the repository does not have it.
	deployment *appsv1.Deployment
}

// review looks for what would only come to light in the cluster.
func (r *Report) review(files fs.FS, release *spec.Release) error {
	it := &review{Report: r, files: files, release: release}
	if err := convert(release.Object(), &it.object); err != nil {
		return err
	}
	it.checkGates()
	it.checkTemplate()
	if release.HasDeployment() {
		if !it.decodeDeployment() {
			return nil
		}
		it.checkSelector()
	} else {
		it.find(Warning, it.place(), "spec.workloadRef.name", fmt.Sprintf(
			"spec.workloadRef.name: Deployment %s/%s is not among these files: the release waits until the cluster has it", release.Namespace, release.Workload))
	}
	it.checkLimits()
	it.checkDeadline()
	return nil
}

func convert(object *unstructured.Unstructured, into any) error {
	data, err := object.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode %s: %w", object.GetKind(), err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decode %s: %w", object.GetKind(), err)
	}
	return nil
}

// decodeDeployment reports whether the Deployment can be read: package spec looks at its template only.
func (r *review) decodeDeployment() bool {
	r.deployment = &appsv1.Deployment{}
	err := convert(r.release.Deployment(), r.deployment)
	if err == nil {
		return true
	}
	path, message := "spec", err.Error()
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		path, message = wrong.Field, fmt.Sprintf("%s: must not be a %s", wrong.Field, wrong.Value)
	}
	r.find(Error, r.release.DeploymentPlace(), path, message+": the API server refuses the Deployment")
	return false
}

// place is where the release stands.
func (r *review) place() spec.Place { return spec.Place{File: r.release.File, Line: r.release.Line} }

func (r *review) find(severity Severity, object spec.Place, path, message string) {
	r.add(severity, spec.Find(r.files, object, path, message))
}

// checkGates looks for gates that nobody can pass.
func (r *review) checkGates() {
	steps := map[string][]v1alpha1.Step{"strategy": r.object.Spec.Strategy.Steps}
	if r.object.Spec.Rollback != nil {
		steps["rollback"] = r.object.Spec.Rollback.Steps
	}
	for name, of := range steps {
		for i, step := range of {
			for j := range step.Gates {
				at := field.NewPath("spec", name, "steps").Index(i).Child("gates").Index(j)
				for _, problem := range gate.Unpassable(&step.Gates[j], at) {
					r.find(Error, r.place(), problem.Field, problem.Error())
				}
			}
		}
	}
}

// checkTemplate looks for fields that Kubernetes, as of our libraries, does not know. A newer API server may.
func (r *review) checkTemplate() {
	var template corev1.PodTemplateSpec
	unknown, err := strictjson.UnmarshalStrict(r.object.Spec.Template.Raw, &template)
	if err != nil {
		r.find(Error, r.release.TemplatePlace(), "spec.template", "spec.template: "+err.Error())
		return
	}
	for _, problem := range unknown {
		path := "spec.template"
		if located, ok := errors.AsType[strictjson.FieldError](problem); ok {
			path += "." + located.FieldPath()
		}
		r.find(Warning, r.release.TemplatePlace(), path, path+": unknown field, as of Kubernetes 1.37: the API server drops or refuses it")
	}
}

// checkSelector compares the template with the selector of the Deployment, which can't be changed.
func (r *review) checkSelector() {
	selector, err := metav1.LabelSelectorAsSelector(r.deployment.Spec.Selector)
	if err != nil {
		r.find(Error, r.release.DeploymentPlace(), "spec.selector", "spec.selector: "+err.Error())
		return
	}
	var template corev1.PodTemplateSpec
	if json.Unmarshal(r.object.Spec.Template.Raw, &template) != nil || selector.Matches(labels.Set(template.Labels)) {
		return
	}
	r.find(Error, r.release.TemplatePlace(), "spec.template.metadata.labels", fmt.Sprintf(
		"spec.template.metadata.labels: the API server refuses a template that the selector of Deployment %s does not match", r.release.Workload))
}

// checkLimits looks for limits that leave no room, of the release or of its Deployment.
func (r *review) checkLimits() {
	strategy := r.object.Spec.Strategy
	surge, unavailable := strategy.MaxSurge, strategy.MaxUnavailable
	if r.deployment != nil && r.deployment.Spec.Strategy.RollingUpdate != nil {
		rolling := r.deployment.Spec.Strategy.RollingUpdate
		surge, unavailable = first(surge, rolling.MaxSurge), first(unavailable, rolling.MaxUnavailable)
	}
	if isZero(surge) && isZero(unavailable) {
		r.find(Warning, r.place(), "spec.strategy.maxUnavailable",
			"spec.strategy: maxSurge and maxUnavailable are both 0, which leaves no room: one pod may be unavailable all the same")
	}
}

func first(values ...*intstr.IntOrString) *intstr.IntOrString {
	for _, value := range values {
		if value != nil {
			return value
		}
	}
	return nil
}

func isZero(value *intstr.IntOrString) bool {
	if value == nil {
		return false
	}
	scaled, err := intstr.GetScaledValueFromIntOrPercent(value, 100, true)
	return err == nil && scaled == 0
}

// checkDeadline looks for a deadline that no pod can meet.
func (r *review) checkDeadline() {
	deadline := r.object.Spec.Strategy.ProgressDeadlineSeconds
	if deadline == nil || r.deployment == nil || r.deployment.Spec.MinReadySeconds < *deadline {
		return
	}
	r.find(Warning, r.place(), "spec.strategy.progressDeadlineSeconds", fmt.Sprintf(
		"spec.strategy.progressDeadlineSeconds: no pod is available within %d s, since minReadySeconds of Deployment %s is %d",
		*deadline, r.release.Workload, r.deployment.Spec.MinReadySeconds))
}
