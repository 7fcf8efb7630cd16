package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const (
	// maxJobTemplate limits a template, in bytes: a release has one for each gate.
	maxJobTemplate = 32 << 10
	maxJobName     = 40
	// defaultJobDeadline is the time for a Job if neither its gate nor its template gives one.
	defaultJobDeadline = 10 * time.Minute
	maxJobDeadline     = 24 * time.Hour
	// keptJob is the number of seconds that a finished Job stays if its template gives none.
	keptJob = 24 * 60 * 60
)

// JobName returns the name of the Job of a gate. It depends on the UID of the gate, so that the Job
// of an earlier gate of the same name is another one.
func JobName(g *v1alpha1.Gate) string {
	sum := sha256.Sum256([]byte(g.UID))
	return fmt.Sprintf("%s-%d-%s", g.Spec.Policy.Job.Name, g.Spec.Step+1, hex.EncodeToString(sum[:5]))
}

// JobOf returns the Job to create for a gate with a valid policy. It is suspended: it must not run
// before its UID is on record. Only labels, annotations and spec come from the template.
func JobOf(g *v1alpha1.Gate) *unstructured.Unstructured {
	policy := g.Spec.Policy.Job
	template := templateOf(policy)
	spec := objectIn(template, "spec")
	given := specOf(policy)
	spec["suspend"] = true
	spec["activeDeadlineSeconds"] = int64(jobDeadline(policy, given) / time.Second)
	if given.BackoffLimit == nil {
		spec["backoffLimit"] = int64(0)
	}
	delete(spec, "ttlSecondsAfterFinished")
	pod := objectIn(objectIn(spec, "template"), "spec")
	for _, containers := range []string{"initContainers", "containers"} {
		addVariables(pod, containers, variablesOf(g))
	}
	job := &unstructured.Unstructured{Object: map[string]any{"apiVersion": batchv1.SchemeGroupVersion.String(), "kind": "Job", "spec": spec}}
	job.SetName(JobName(g))
	job.SetNamespace(g.Namespace)
	metadata := objectIn(template, "metadata")
	labels := ownNames(metadata, "labels")
	labels[v1alpha1.ReleaseLabel], labels[v1alpha1.RevisionLabel] = g.Spec.ReleaseRef.Name, g.Spec.Revision
	labels[v1alpha1.GateLabel] = string(g.UID)
	job.SetLabels(labels)
	job.SetAnnotations(ownNames(metadata, "annotations"))
	owner := metav1.NewControllerRef(g, v1alpha1.GroupVersion.WithKind("Gate"))
	owner.BlockOwnerDeletion = nil
	job.SetOwnerReferences([]metav1.OwnerReference{*owner})
	return job
}

// JobKeptSeconds returns the seconds that the Job of a gate stays once it has finished and that is
// on record.
func JobKeptSeconds(g *v1alpha1.Gate) int32 {
	if given := specOf(g.Spec.Policy.Job).TTLSecondsAfterFinished; given != nil {
		return max(*given, 0)
	}
	return keptJob
}

func jobDeadline(policy *v1alpha1.JobGate, given *batchv1.JobSpec) time.Duration {
	switch {
	case policy.Deadline != nil:
		return policy.Deadline.Duration
	case given.ActiveDeadlineSeconds != nil:
		return time.Duration(*given.ActiveDeadlineSeconds) * time.Second
	default:
		return defaultJobDeadline
	}
}

// variablesOf returns the environment variables that tell a Job what it runs for.
func variablesOf(g *v1alpha1.Gate) []any {
	var variables []any
	for _, v := range [][2]string{
		{"SLUICE_RELEASE", g.Spec.ReleaseRef.Name},
		{"SLUICE_NAMESPACE", g.Namespace},
		{"SLUICE_REVISION", g.Spec.Revision},
		{"SLUICE_COMMIT", g.Spec.Commit},
		{"SLUICE_STEP", strconv.Itoa(int(g.Spec.Step) + 1)},
		{"SLUICE_ATTEMPT", strconv.FormatInt(g.Spec.Attempt, 10)},
	} {
		variables = append(variables, map[string]any{"name": v[0], "value": v[1]})
	}
	return variables
}

// addVariables puts variables before those of each container, so that these can refer to them. One
// that a container has stays as it is.
func addVariables(pod map[string]any, containers string, variables []any) {
	all, _ := pod[containers].([]any)
	for _, one := range all {
		container, _ := one.(map[string]any)
		if container == nil {
			continue
		}
		own, _ := container["env"].([]any)
		added := slices.DeleteFunc(slices.Clone(variables), func(v any) bool {
			return slices.ContainsFunc(own, func(o any) bool { return nameIn(o) == nameIn(v) })
		})
		container["env"] = append(added, own...)
	}
}

func nameIn(variable any) any {
	fields, _ := variable.(map[string]any)
	return fields["name"]
}

// ownNames returns the labels or annotations of a template without those of Sluice.
func ownNames(metadata map[string]any, kind string) map[string]string {
	names := map[string]string{}
	for name, value := range objectIn(metadata, kind) {
		if text, is := value.(string); is && !strings.HasPrefix(name, v1alpha1.Prefix) {
			names[name] = text
		}
	}
	return names
}

// objectIn returns the object in a field; an empty one that is put there if there is none.
func objectIn(object map[string]any, name string) map[string]any {
	value, is := object[name].(map[string]any)
	if !is {
		value = map[string]any{}
		object[name] = value
	}
	return value
}

func templateOf(policy *v1alpha1.JobGate) map[string]any {
	var template map[string]any
	if policy.Template == nil || utiljson.Unmarshal(policy.Template.Raw, &template) != nil || template == nil {
		return map[string]any{}
	}
	return template
}

// specOf returns the spec of a template; an empty one if it can't be read.
func specOf(policy *v1alpha1.JobGate) *batchv1.JobSpec {
	var template batchv1.JobTemplateSpec
	if policy.Template == nil || utiljson.Unmarshal(policy.Template.Raw, &template) != nil {
		return &batchv1.JobSpec{}
	}
	return &template.Spec
}

// validateJob says what is wrong with the policy of a job gate. In Git the template may be that of
// another manifest, so that it may be missing here.
func validateJob(policy *v1alpha1.JobGate, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	for _, reason := range validation.IsDNS1123Label(policy.Name) {
		problems = append(problems, field.Invalid(path.Child("name"), policy.Name, reason))
	}
	if len(policy.Name) > maxJobName {
		problems = append(problems, field.TooLong(path.Child("name"), policy.Name, maxJobName))
	}
	if d := policy.Deadline; d != nil && (d.Duration < time.Second || d.Duration > maxJobDeadline) {
		problems = append(problems, field.Invalid(path.Child("deadline"), d.Duration.String(), "must be at least 1s and at most 24h"))
	}
	if policy.Template == nil {
		return problems
	}
	return append(problems, ValidateJobTemplate(policy.Template.Raw, path.Child("template"))...)
}

// ValidateJobTemplate refuses the template of a Job (batch/v1 JobTemplateSpec) that would end
// without a pod, count pods of others, or be decided by another controller. The API server checks
// the rest when the Job is created.
func ValidateJobTemplate(raw []byte, path *field.Path) field.ErrorList {
	at := path.Child("spec")
	if len(raw) > maxJobTemplate {
		return field.ErrorList{field.TooLong(at, "", maxJobTemplate)}
	}
	var template batchv1.JobTemplateSpec
	if err := utiljson.Unmarshal(raw, &template); err != nil {
		return field.ErrorList{field.Invalid(at, "", "must be a JobTemplateSpec of batch/v1: "+err.Error())}
	}
	spec := &template.Spec
	var problems field.ErrorList
	pod := spec.Template.Spec
	if len(pod.Containers) == 0 {
		problems = append(problems, field.Required(at.Child("template", "spec", "containers"), "a Job has at least one container"))
	}
	if pod.RestartPolicy != corev1.RestartPolicyNever && pod.RestartPolicy != corev1.RestartPolicyOnFailure {
		problems = append(problems, field.NotSupported(at.Child("template", "spec", "restartPolicy"), pod.RestartPolicy,
			[]corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure}))
	}
	for name, count := range map[string]*int32{"completions": spec.Completions, "parallelism": spec.Parallelism} {
		if count != nil && *count < 1 {
			problems = append(problems, field.Invalid(at.Child(name), *count, "must be at least 1: a Job without pods is no evidence"))
		}
	}
	if d := spec.ActiveDeadlineSeconds; d != nil && (*d < 1 || *d > int64(maxJobDeadline/time.Second)) {
		problems = append(problems, field.Invalid(at.Child("activeDeadlineSeconds"), *d, "must be from 1 to 86400"))
	}
	if spec.ManualSelector != nil || spec.Selector != nil {
		problems = append(problems, field.Forbidden(at.Child("selector"), "a Job must count its own pods only: remove selector and manualSelector"))
	}
	if spec.ManagedBy != nil {
		problems = append(problems, field.Forbidden(at.Child("managedBy"), "another controller would decide the gate: remove it"))
	}
	return problems
}
