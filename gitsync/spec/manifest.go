package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// manifest is an object of a kind that is read. It depends on the text only.
type manifest struct {
	kind            kind
	namespace, name string
	// at is its place in the file, where it came from a file directly.
	at position
	// claims is the place of a StatefulSet's volume claim templates.
	claims position
	// object is the whole as it was given.
	object json.RawMessage
	// workloadKind and workload name the workload of a BatchRelease.
	workloadKind kind
	workload     string
	// routes are the routes that a BatchRelease names.
	routes []v1alpha1.TrafficRoute
	// sharing is the place of these.
	sharing position
	// stepsAt is the place of the steps of a BatchRelease, and membersAt of each of its members.
	stepsAt   position
	membersAt []position
	// template is that of the BatchRelease or the workload; nil if it has none. given is its
	// digest.
	template json.RawMessage
	given    string
	// jobs are the job gates of a BatchRelease that get their templates from Jobs.
	jobs []jobGate
	// checks are the paths of gates that wait for a check run.
	checks []string
	// faults keep a Job from running for a gate.
	faults []pathProblem
	// faulty says that the template, or a release, is invalid, which was reported.
	faulty bool
	// config lists the ConfigMaps and Secrets that a BatchRelease names, and configAt their places.
	config   []v1alpha1.ConfigReference
	configAt []position
	// train is the spec of a BatchRelease with members; nil of others.
	train *v1alpha1.BatchReleaseSpec
	// labels are the labels of a BatchRelease.
	labels map[string]string
	// stepless marks a BatchRelease without steps: it must be a member of a train, which has them.
	stepless bool
	// overridden are the fields of a member that its train decides.
	overridden []string
	// generated names the ConfigMaps and Secrets of the template that the same kustomization generates.
	generated []string
}

// header holds the fields that every Kubernetes object has.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
}

// parseObject returns the manifest of an object in JSON; nil if it is of a kind that is not read,
// or wrong. Of a workload whose template or volume claim templates alone are wrong it is known
// which one it is.
func parseObject(data []byte) (*manifest, []pathProblem) {
	object, ok := decode(data).(map[string]any)
	if !ok {
		return nil, nil
	}
	switch kind, problem := kindOf(object); {
	case problem != nil && problem.path == "kind" && looksLikeRelease(object):
		_, more := parseRelease(data, object)
		return nil, append([]pathProblem{*problem}, more...)
	case problem != nil:
		return nil, []pathProblem{*problem}
	case kind == releaseKind:
		return parseRelease(data, object)
	case kind.isWorkload():
		return parseWorkload(kind, data, object)
	case kind == jobKind:
		return parseJob(data), nil
	case kind.isOther():
		return parseOther(kind, data), nil
	}
	return nil, nil
}

func decode(data []byte) any {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}

var (
	apiVersionForm = regexp.MustCompile(`^([a-z0-9.-]+/)?[a-z0-9]+$`)
	kindForm       = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
)

// isObject reports whether something has the marks of a Kubernetes object, as far as they can be
// read: a tool that encrypts values encrypts these as well.
func isObject(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return apiVersionForm.MatchString(apiVersion) && kindForm.MatchString(kind)
}

// isRelease reports whether an object says that it is a BatchRelease, of whatever version.
func isRelease(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	return group == v1alpha1.GroupVersion.Group && object["kind"] == string(releaseKind)
}

// looksLikeRelease reports whether an object has what no other kind has: its kind is misspelt, or
// its apiVersion left out.
func looksLikeRelease(object map[string]any) bool {
	spec, _ := object["spec"].(map[string]any)
	return spec["workloadRef"] != nil && spec["strategy"] != nil || spec["members"] != nil && spec["strategy"] != nil
}

// mayBeRelease reports whether an object that is wrong may be meant as a BatchRelease.
func mayBeRelease(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	return looksLikeRelease(object) || object["kind"] == string(releaseKind) || strings.HasPrefix(apiVersion, v1alpha1.GroupVersion.Group)
}

// kindOf returns the readable kind of an object. An object that only resembles one is a problem
// rather than left out.
func kindOf(object map[string]any) (kind, *pathProblem) {
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	switch {
	case apiVersion == workloadVersion && kind(name).isWorkload():
		return kind(name), nil
	case apiVersion == "v1" && (name == string(serviceKind) || kind(name).isConfig()):
		return kind(name), nil
	case apiVersion == jobVersion && name == string(jobKind):
		return jobKind, nil
	case apiVersion == "" && name == string(releaseKind):
		return "", &pathProblem{"kind", "apiVersion: must be given: " + v1alpha1.GroupVersion.String()}
	case group != v1alpha1.GroupVersion.Group:
		return routeKindOf(group, name), nil
	case apiVersion != v1alpha1.GroupVersion.String():
		return "", &pathProblem{"apiVersion", fmt.Sprintf("apiVersion: must be %s, not %q", v1alpha1.GroupVersion, apiVersion)}
	case name == string(releaseKind):
		return releaseKind, nil
	case slices.Contains([]string{"ReleaseSource", "MetricProvider", "Gate"}, name):
		return "", nil
	}
	return "", &pathProblem{"kind", fmt.Sprintf("kind: %q is not a kind of %s, such as BatchRelease", name, v1alpha1.GroupVersion)}
}

// parseRelease checks a BatchRelease by all the rules that the API server has for it.
func parseRelease(data []byte, object map[string]any) (*manifest, []pathProblem) {
	check := &checker{}
	check.checkStruct(withoutNulls(object), reflect.TypeFor[v1alpha1.BatchRelease](), nil)
	if check.problems != nil {
		return faultyRelease(object), append(check.problems, restProblems(data, check.problems)...)
	}
	var release v1alpha1.BatchRelease
	if err := json.Unmarshal(data, &release); err != nil {
		return nil, []pathProblem{{"", err.Error()}}
	}
	checked, stepless := withAnySteps(release)
	problems := validateRelease(&checked, object)
	m := &manifest{
		labels:       release.Labels,
		stepless:     stepless,
		kind:         releaseKind,
		namespace:    release.Namespace,
		name:         release.Name,
		object:       data,
		workloadKind: kind(release.Spec.WorkloadRef.Kind),
		workload:     release.Spec.WorkloadRef.Name,
		config:       release.Spec.Config,
	}
	if len(release.Spec.Members) > 0 {
		m.train = &release.Spec
	}
	if release.Spec.Strategy.Traffic != nil {
		m.routes = release.Spec.Strategy.Traffic.Routes
	}
	m.jobs, m.checks = jobGatesOf(&release.Spec), checkGatesOf(&release.Spec)
	if release.Spec.Template != nil {
		problems = append(problems, m.setTemplate(release.Spec.Template.Raw, field.NewPath("spec", "template"))...)
	}
	if problems != nil {
		return faultyRelease(object), problems
	}
	return m, nil
}

// withAnySteps returns a release with steps, if it has none: whether it is a member of a train,
// which has them, is known once all files are read.
func withAnySteps(release v1alpha1.BatchRelease) (with v1alpha1.BatchRelease, stepless bool) {
	stepless = len(release.Spec.Strategy.Steps) == 0 && len(release.Spec.Members) == 0
	if stepless {
		release.Spec.Strategy.Steps, release.Spec.Strategy.Traffic = memberSteps(nil, false), nil
	}
	return release, stepless
}

// withoutNulls leaves out what generators write into metadata and status for nothing.
func withoutNulls(object map[string]any) map[string]any {
	cleaned := map[string]any{}
	for key, value := range object {
		if fields, ok := value.(map[string]any); ok && key == "metadata" {
			value = withoutNulls(fields)
		}
		if value != nil || key == "spec" {
			cleaned[key] = value
		}
	}
	return cleaned
}

// parseWorkload checks what is read of a workload: its name and its template.
// The API server checks the rest when the workload is created.
func parseWorkload(of kind, data []byte, object map[string]any) (*manifest, []pathProblem) {
	check := &checker{lenient: true}
	check.checkStruct(object, reflect.TypeFor[header](), nil)
	if check.problems != nil {
		return nil, check.problems
	}
	var workload struct {
		header `json:",inline"`
		Spec   struct {
			Template json.RawMessage `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &workload); err != nil {
		return nil, []pathProblem{{"spec", "spec: must be an object"}}
	}
	if workload.Metadata.Name == "" {
		return nil, []pathProblem{{"metadata", "metadata.name: must be given"}}
	}
	m := &manifest{
		kind:      of,
		namespace: workload.Metadata.Namespace,
		name:      workload.Metadata.Name,
		object:    data,
	}
	problems := append(claimProblems(of, object), heldProblems(workload.Metadata.Annotations)...)
	if len(workload.Spec.Template) > 0 {
		problems = append(problems, m.setTemplate(workload.Spec.Template, field.NewPath("spec", "template"))...)
	}
	m.faulty = problems != nil
	return m, problems
}

// heldProblems refuses annotations that would make a new workload look taken over, or exempt it
// from the policies: the manifest was copied out of a cluster.
func heldProblems(annotations map[string]string) []pathProblem {
	var problems []pathProblem
	for _, name := range []string{v1alpha1.HoldAnnotation, v1alpha1.BreakGlassAnnotation} {
		if _, found := annotations[name]; found {
			at := field.NewPath("metadata", "annotations")
			problems = append(problems, pathProblem{at.String(), field.Forbidden(at, name+" can't come from Git: take it out").Error()})
		}
	}
	return problems
}

// setTemplate checks the types of a pod template. Fields that are unknown here may be
// known to the API server, which checks the template before it is released.
func (m *manifest) setTemplate(raw json.RawMessage, at *field.Path) []pathProblem {
	check := &checker{lenient: true}
	value := decode(raw)
	check.checkStruct(value, reflect.TypeFor[corev1.PodTemplateSpec](), at)
	if check.problems != nil {
		return check.problems
	}
	if template, _ := value.(map[string]any); len(template) == 0 {
		return []pathProblem{{at.String(), at.String() + ": must not be empty"}}
	}
	given, err := podtemplate.Given(raw)
	if err != nil {
		return []pathProblem{{at.String(), fmt.Sprintf("%s: %v", at, err)}}
	}
	m.template, m.given = raw, given
	return nil
}
