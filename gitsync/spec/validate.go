package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// The limits of the CRD.
const (
	maxName   = 63
	maxSteps  = 50
	maxGates  = 10
	maxKeys   = 8
	maxValues = 100
)

// validateRelease has the rules of the CRD, those that it can't express, and those
// that hold for what comes from Git.
func validateRelease(release *v1alpha1.BatchRelease, object map[string]any) []pathProblem {
	spec := field.NewPath("spec")
	errs := validateMetadata(release)
	errs = append(errs, validateMembership(&release.Spec, spec)...)
	errs = append(errs, plan.Validate(&release.Spec, spec)...)
	errs = append(errs, validateStrategy(&release.Spec.Strategy, spec.Child("strategy"))...)
	errs = append(errs, validateKind(&release.Spec, spec.Child("strategy"))...)
	if rollback := release.Spec.Rollback; rollback != nil {
		errs = append(errs, validateSteps(rollback.Steps, spec.Child("rollback", "steps"))...)
	}
	if limit := release.Spec.RevisionHistoryLimit; limit != nil && (*limit < 1 || *limit > 100) {
		errs = append(errs, field.Invalid(spec.Child("revisionHistoryLimit"), *limit, "must be from 1 to 100"))
	}
	if to := release.Spec.ReleaseTo; to != nil && (*to < 0 || int(*to) >= len(release.Spec.Strategy.Steps)) {
		detail := fmt.Sprintf("must be a step, from 0 to %d", len(release.Spec.Strategy.Steps)-1)
		errs = append(errs, field.Invalid(spec.Child("releaseTo"), *to, detail))
	}
	errs = append(errs, oneOf(release.Spec.DeletionPolicy, spec.Child("deletionPolicy"), v1alpha1.DeletionRevert, v1alpha1.DeletionProceed)...)
	errs = append(errs, oneOf(release.Spec.Drift, spec.Child("drift"), v1alpha1.DriftReport, v1alpha1.DriftRevert)...)
	errs = append(errs, validateConfig(&release.Spec, spec.Child("config"))...)
	if release.Spec.Follow != "" {
		errs = append(errs, field.Forbidden(spec.Child("follow"),
			"a release from a repository has its template there: apply this one beside its workload (kubectl, Helm, Flux, Argo CD)"))
	}
	if status, _ := object["status"].(map[string]any); len(status) > 0 {
		errs = append(errs, field.Forbidden(field.NewPath("status"), "is set by the controller, and can't come from Git"))
	}
	return toProblems(errs)
}

// toProblems keeps the first error of each field: the rules overlap.
func toProblems(errs field.ErrorList) []pathProblem {
	var problems []pathProblem
	seen := map[string]bool{}
	for _, err := range errs {
		if forbidden := err.Type == field.ErrorTypeForbidden; forbidden || !seen[err.Field] {
			problems = append(problems, pathProblem{err.Field, err.Error()})
		}
		seen[err.Field] = true
	}
	return problems
}

func validateMetadata(release *v1alpha1.BatchRelease) field.ErrorList {
	at := field.NewPath("metadata")
	var errs field.ErrorList
	for _, reason := range apivalidation.NameIsDNSSubdomain(release.Name, false) {
		errs = append(errs, field.Invalid(at.Child("name"), release.Name, reason))
	}
	if len(release.Name) > maxName {
		errs = append(errs, field.TooLong(at.Child("name"), release.Name, maxName))
	}
	if release.Namespace != "" {
		for _, reason := range validation.IsDNS1123Label(release.Namespace) {
			errs = append(errs, field.Invalid(at.Child("namespace"), release.Namespace, reason))
		}
	}
	errs = append(errs, metav1validation.ValidateLabels(release.Labels, at.Child("labels"))...)
	errs = append(errs, apivalidation.ValidateAnnotations(release.Annotations, at.Child("annotations"))...)
	errs = append(errs, validateReserved(release.Labels, at.Child("labels"))...)
	errs = append(errs, validateReserved(release.Annotations, at.Child("annotations"))...)
	return append(errs, validateServerSet(release, at)...)
}

// validateReserved refuses what the controller writes, and the annotations that are
// an order to the cluster: from Git they would be given again and again.
func validateReserved(names map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for name := range names {
		order := name == v1alpha1.RollbackAnnotation || name == v1alpha1.RetryAnnotation
		state := name == v1alpha1.CurrentStableAnnotation || name == v1alpha1.LastStableAnnotation
		switch {
		case order:
			errs = append(errs, field.Forbidden(at, name+" is a one-off command, and can't come from Git: use kubectl annotate"))
		case state || strings.HasPrefix(name, v1alpha1.Prefix):
			errs = append(errs, field.Forbidden(at, name+" is set by the controller, and can't come from Git"))
		}
	}
	return errs
}

// validateServerSet refuses what only a server sets: the manifest was copied out of a cluster.
func validateServerSet(release *v1alpha1.BatchRelease, at *field.Path) field.ErrorList {
	given := map[string]bool{
		"uid":               release.UID != "",
		"resourceVersion":   release.ResourceVersion != "",
		"generation":        release.Generation != 0,
		"creationTimestamp": !release.CreationTimestamp.IsZero(),
		"deletionTimestamp": release.DeletionTimestamp != nil,
		"managedFields":     len(release.ManagedFields) > 0,
		"ownerReferences":   len(release.OwnerReferences) > 0,
		"finalizers":        len(release.Finalizers) > 0,
		"generateName":      release.GenerateName != "",
		"selfLink":          release.SelfLink != "",
	}
	var errs field.ErrorList
	for name, is := range given {
		if is {
			errs = append(errs, field.Forbidden(at.Child(name), "can't come from Git"))
		}
	}
	return errs
}

func validateReference(ref v1alpha1.WorkloadReference, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if ref.APIVersion != workloadVersion || !kind(ref.Kind).isWorkload() {
		given := strings.TrimSpace(ref.APIVersion + " " + ref.Kind)
		errs = append(errs, field.Invalid(at, given, "only "+workloadVersion+" "+releasable("and")+" can be released: set apiVersion: "+
			workloadVersion+", and kind: "+releasable("or")))
	}
	if ref.Name == "" {
		return append(errs, field.Required(at.Child("name"), "names the workload"))
	}
	for _, reason := range apivalidation.NameIsDNSSubdomain(ref.Name, false) {
		errs = append(errs, field.Invalid(at.Child("name"), ref.Name, reason))
	}
	return errs
}

// Percentages as the CRD has them.
var (
	percentOfAll = regexp.MustCompile(`^(100|[0-9]{1,2})%$`)
	percent      = regexp.MustCompile(`^[0-9]{1,3}%$`)
)

// validateStrategy has what the CRD checks besides plan.Validate.
func validateStrategy(strategy *v1alpha1.ReleaseStrategy, at *field.Path) field.ErrorList {
	errs := validateSteps(strategy.Steps, at.Child("steps"))
	errs = append(errs, validateGuards(strategy.Guards, at.Child("guards"))...)
	if strategy.MaxSurge != nil {
		errs = append(errs, validateCount(*strategy.MaxSurge, percent, at.Child("maxSurge"))...)
	}
	if strategy.MaxUnavailable != nil {
		errs = append(errs, validateCount(*strategy.MaxUnavailable, percentOfAll, at.Child("maxUnavailable"))...)
	}
	errs = append(errs, oneOf(strategy.Supersede, at.Child("supersede"), v1alpha1.SupersedeRestart, v1alpha1.SupersedeQueue)...)
	if deadline := strategy.ProgressDeadlineSeconds; deadline != nil && *deadline < 1 {
		errs = append(errs, field.Invalid(at.Child("progressDeadlineSeconds"), *deadline, "must be at least 1"))
	}
	errs = append(errs, validateOrder(strategy.Order, at.Child("order"))...)
	errs = append(errs, validateTraffic(strategy.Traffic, at.Child("traffic"))...)
	errs = append(errs, oneOf(strategy.OnFailure, at.Child("onFailure"), v1alpha1.FailurePause, v1alpha1.FailureRollback, v1alpha1.FailureRollbackDependents)...)
	errs = append(errs, oneOf(strategy.StepBack, at.Child("stepBack"), v1alpha1.StepBackKeepPods, v1alpha1.StepBackRemovePods)...)
	errs = append(errs, oneOf(strategy.PodReplacement, at.Child("podReplacement"), v1alpha1.ReplaceWhenTerminationStarted, v1alpha1.ReplaceWhenTerminated)...)
	return append(errs, oneOf(strategy.Preflight, at.Child("preflight"), v1alpha1.PreflightHold, v1alpha1.PreflightWarn)...)
}

// oneOf checks an enumeration; empty is fine.
func oneOf[T ~string](value T, at *field.Path, allowed ...T) field.ErrorList {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at, value, allowed)}
}

func validateSteps(steps []v1alpha1.Step, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(steps) > maxSteps {
		errs = append(errs, field.TooMany(at, len(steps), maxSteps))
	}
	for i := range steps {
		errs = append(errs, validateStep(&steps[i], at.Index(i))...)
	}
	return errs
}

// maxGuards is the number of guards of a release; the CRD has the same.
const maxGuards = 5

func validateGuards(guards []v1alpha1.GatePolicy, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(guards) > maxGuards {
		errs = append(errs, field.TooMany(at, len(guards), maxGuards))
	}
	for i := range guards {
		if guards[i].Metrics == nil {
			errs = append(errs, field.Required(at.Index(i).Child("metrics"), "a guard measures metrics: other gates belong to steps"))
			continue
		}
		errs = append(errs, gate.Validate(&guards[i], at.Index(i))...)
	}
	return errs
}

func validateStep(step *v1alpha1.Step, at *field.Path) field.ErrorList {
	errs := validateCount(step.Replicas, percentOfAll, at.Child("replicas"))
	if len(step.Gates) > maxGates {
		errs = append(errs, field.TooMany(at.Child("gates"), len(step.Gates), maxGates))
	}
	for i := range step.Gates {
		errs = append(errs, gate.Validate(&step.Gates[i], at.Child("gates").Index(i))...)
	}
	errs = append(errs, validateSharing(step, at)...)
	return append(errs, validateOneApproval(step.Gates, at.Child("gates"))...)
}

// validateOneApproval has a step ask for one approval: all approvals of a release are put into the
// same file.
func validateOneApproval(gates []v1alpha1.GatePolicy, at *field.Path) field.ErrorList {
	isApproval := func(policy v1alpha1.GatePolicy) bool { return policy.PullRequest != nil }
	first := slices.IndexFunc(gates, isApproval)
	var errs field.ErrorList
	for i := first + 1; first >= 0 && i < len(gates); i++ {
		if isApproval(gates[i]) {
			detail := fmt.Sprintf("a step can have one pullRequest gate, and gates[%d] is one", first)
			errs = append(errs, field.Forbidden(at.Index(i).Child("pullRequest"), detail))
		}
	}
	return errs
}

func validateCount(count intstr.IntOrString, form *regexp.Regexp, at *field.Path) field.ErrorList {
	if count.Type == intstr.Int && count.IntVal >= 0 || count.Type == intstr.String && form.MatchString(count.StrVal) {
		return nil
	}
	example := "a number of pods >= 0 or a percentage from 0% to 100%"
	if form == percent {
		example = "a number of pods >= 0 or a percentage such as 25%"
	}
	return field.ErrorList{field.Invalid(at, count.String(), "must be "+example)}
}
