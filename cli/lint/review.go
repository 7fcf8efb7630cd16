package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

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
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// review is one release that package spec takes.
type review struct {
	*Report
	files   fs.FS
	release *spec.Release
	object  v1alpha1.BatchRelease
	// workload is nil if the repository does not have it.
	workload *workload
}

// review looks for what would only come to light in the cluster.
func (r *Report) review(files fs.FS, release *spec.Release, others *others, metrics *Metrics) error {
	it := &review{Report: r, files: files, release: release}
	if err := convert(release.Object(), &it.object); err != nil {
		return err
	}
	it.checkGates()
	it.checkMetrics(metrics.shared())
	if release.IsTrain() {
		it.checkTrain(others)
		return nil
	}
	it.checkMember()
	it.checkTemplate()
	it.checkImages()
	it.checkGenerated()
	it.checkConfig()
	if release.HasWorkload() {
		if !it.decodeWorkload() {
			return nil
		}
		it.checkFields()
		it.checkNumbers()
		it.checkSelector()
		it.checkRecreate()
		it.checkOneByOne()
		it.checkFew()
	} else {
		it.find(Warning, it.place(), "spec.workloadRef.name", fmt.Sprintf(
			"spec.workloadRef.name: %s %s/%s is not among these files: the release waits until the cluster has it",
			release.WorkloadKind, release.Namespace, release.Workload))
	}
	it.checkLimits()
	it.checkDeadline()
	it.checkTraffic(others)
	if metrics == nil {
		return nil
	}
	return it.forecast(metrics)
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

// place returns where the release stands.
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

// checkTemplate looks for fields that Kubernetes, as of our libraries, does not know. A newer API
// server may.
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

// checkFields looks for fields beside the template that the workload's kind does not have: people
// take them over from another kind.
func (r *review) checkFields() {
	unknown, err := unknownFields(r.release.WorkloadObject())
	if err != nil {
		r.find(Error, r.release.WorkloadPlace(), "spec", err.Error())
	}
	for _, path := range unknown {
		if strings.HasPrefix(path, "spec.template.") {
			continue // checkTemplate has it
		}
		kind := r.release.WorkloadKind
		r.find(Warning, r.release.WorkloadPlace(), path, fmt.Sprintf(
			"%s: unknown field, as of Kubernetes 1.37: the API server refuses to create a %s with it%s", path, kind, otherName(kind, path)))
	}
}

// checkNumbers looks for numbers below 0 where the API server takes none. The types have been
// checked.
func (r *review) checkNumbers() {
	object := r.release.WorkloadObject().Object
	for _, path := range []string{
		"spec.replicas", "spec.minReadySeconds", "spec.revisionHistoryLimit", "spec.progressDeadlineSeconds",
		"spec.ordinals.start", "spec.updateStrategy.rollingUpdate.partition",
	} {
		if n, found, err := unstructured.NestedInt64(object, strings.Split(path, ".")...); found && err == nil && n < 0 {
			r.find(Error, r.release.WorkloadPlace(), path, fmt.Sprintf("%s: must not be below 0: the API server refuses the %s", path, r.release.WorkloadKind))
		}
	}
}

// otherName says what a field of one kind is called in another.
func otherName(kind, path string) string {
	switch {
	case kind != "Deployment" && path == "spec.strategy":
		return "; did you mean spec.updateStrategy?"
	case kind == "Deployment" && path == "spec.updateStrategy":
		return "; did you mean spec.strategy?"
	default:
		return ""
	}
}

// checkGenerated looks for what the pods need and Sluice does not make.
func (r *review) checkGenerated() {
	for _, name := range r.release.Generated {
		r.find(Warning, r.release.TemplatePlace(), "spec.template", fmt.Sprintf(
			"spec.template: %s is generated by %s, and Sluice applies no ConfigMaps and Secrets: unless something else applies it first, the new pods can't start",
			name, r.release.Kustomization))
	}
}

// checkConfig looks for ConfigMaps and Secrets that are copied for nothing.
func (r *review) checkConfig() {
	for _, unused := range r.release.Unused {
		r.find(Warning, r.place(), "spec.config", fmt.Sprintf(
			"spec.config: no volume and no environment variable of the template names %s %s: a change of it releases nothing", unused.Kind, unused.Of))
	}
}

// checkSelector looks for a selector that selects nothing. Package spec compares it with the
// template.
func (r *review) checkSelector() {
	selector, err := metav1.LabelSelectorAsSelector(r.workload.selector)
	if err != nil {
		r.find(Error, r.release.WorkloadPlace(), "spec.selector", "spec.selector: "+err.Error())
		return
	}
	var template corev1.PodTemplateSpec
	if json.Unmarshal(r.object.Spec.Template.Raw, &template) != nil || selector.Matches(labels.Set(template.Labels)) {
		return
	}
	r.find(Error, r.release.TemplatePlace(), "spec.template.metadata.labels", fmt.Sprintf(
		"spec.template.metadata.labels: the API server refuses a template that the selector of %s does not match", r.workload.name))
}

// checkRecreate looks for a Deployment that asks for one version at a time. Without pods there is
// nothing to mix.
func (r *review) checkRecreate() {
	if !r.workload.recreate || r.workload.empty || r.object.Spec.Strategy.AllowMixedVersions {
		return
	}
	r.find(Error, r.release.WorkloadPlace(), "spec.strategy.type", "spec.strategy.type: "+preflight.MixesVersions(r.release.Workload))
}

// checkOneByOne looks for a StatefulSet whose pods come back one after the other, in a release that
// lets several go at once: they are missing for longer than that saves.
func (r *review) checkOneByOne() {
	if !r.workload.orderedReady {
		return
	}
	for _, limit := range r.unavailable() {
		if limit.value != nil && !isOne(limit.value) {
			r.find(Warning, r.place(), limit.path, fmt.Sprintf(
				"%s: %s has podManagementPolicy OrderedReady: pods that go together come back one by one, the lowest ordinal first", limit.path, r.workload.name))
		}
	}
}

// limit is how many pods may be unavailable, and where the release says so.
type limit struct {
	path  string
	value *intstr.IntOrString
}

// unavailable returns the limit of the release, which may be its workload's or none, and those of
// steps that have their own.
func (r *review) unavailable() []limit {
	strategy := r.object.Spec.Strategy
	limits := []limit{{"spec.strategy.maxUnavailable", strategy.MaxUnavailable}}
	if r.workload != nil {
		limits[0].value = first(strategy.MaxUnavailable, r.workload.unavailable)
	}
	for i, step := range strategy.Steps {
		if step.MaxUnavailable != nil {
			limits = append(limits, limit{fmt.Sprintf("spec.strategy.steps[%d].maxUnavailable", i), step.MaxUnavailable})
		}
	}
	return limits
}

// isOne reports whether a limit comes to one pod at most, whatever the size.
func isOne(limit *intstr.IntOrString) bool {
	return limit.Type == intstr.Int && limit.IntVal <= 1 || isZero(limit)
}

// checkLimits looks for limits that leave no room, of the release or of its workload.
func (r *review) checkLimits() {
	surge := r.object.Spec.Strategy.MaxSurge
	if r.workload != nil {
		surge = first(surge, r.workload.surge)
	}
	inPlace := r.release.WorkloadKind != "Deployment"
	for _, limit := range r.unavailable() {
		within := strings.TrimSuffix(limit.path, ".maxUnavailable")
		switch {
		case inPlace && isZero(limit.value):
			r.find(Warning, r.place(), limit.path,
				within+": maxUnavailable is 0, which leaves no room: one pod may be unavailable all the same")
		case isZero(surge) && isZero(limit.value):
			r.find(Warning, r.place(), limit.path,
				within+": maxSurge and maxUnavailable are both 0, which leaves no room: one pod may be unavailable all the same")
		}
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
	if deadline == nil || r.workload == nil || r.workload.minReadySeconds < *deadline {
		return
	}
	r.find(Warning, r.place(), "spec.strategy.progressDeadlineSeconds", fmt.Sprintf(
		"spec.strategy.progressDeadlineSeconds: no pod is available within %d s, since minReadySeconds of %s is %d",
		*deadline, r.workload.name, r.workload.minReadySeconds))
}
