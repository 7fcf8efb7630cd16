package gate

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// The limits of a policy; the CRD has the same.
const (
	maxDuration       = 720 * time.Hour
	maxScheduleLength = 256
	maxTimeZoneLength = 64
)

// reference is where the search for a schedule's first window starts. Any time will do.
var reference = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Validate says what is wrong with a gate policy at path: not exactly one type, an unknown
// onReject, a duration that is not more than 0s and at most 720h, a schedule that is no five cron
// fields or that matches no time, an unknown time zone, names that no account, team or app can
// have.
func Validate(policy *v1alpha1.GatePolicy, path *field.Path) field.ErrorList {
	problems := append(validateType(policy, path), validateOnReject(policy.OnReject, path.Child("onReject"))...)
	if policy.Soak != nil {
		problems = append(problems, validateDuration(policy.Soak.Duration.Duration, path.Child("soak", "duration"))...)
	}
	if policy.Window != nil {
		problems = append(problems, validateWindow(policy.Window, path.Child("window"))...)
	}
	if policy.PullRequest != nil {
		problems = append(problems, validatePullRequest(policy.PullRequest, path.Child("pullRequest"))...)
	}
	if policy.CommitStatus != nil {
		problems = append(problems, validateCommitStatus(policy.CommitStatus, path.Child("commitStatus"))...)
	}
	if policy.CheckRun != nil {
		problems = append(problems, validateCheckRun(policy.CheckRun, path.Child("checkRun"))...)
	}
	if policy.Job != nil {
		problems = append(problems, validateJob(policy.Job, path.Child("job"))...)
	}
	if policy.Metrics != nil {
		problems = append(problems, validateMetrics(policy.Metrics, path.Child("metrics"))...)
	}
	return problems
}

// typesOf returns the types that a policy sets.
func typesOf(policy *v1alpha1.GatePolicy) []v1alpha1.GateType {
	var set []v1alpha1.GateType
	for _, candidate := range []struct {
		gateType v1alpha1.GateType
		is       bool
	}{
		{v1alpha1.GateManual, policy.Manual != nil},
		{v1alpha1.GateNone, policy.None != nil},
		{v1alpha1.GateSoak, policy.Soak != nil},
		{v1alpha1.GateWindow, policy.Window != nil},
		{v1alpha1.GatePullRequest, policy.PullRequest != nil},
		{v1alpha1.GateCommitStatus, policy.CommitStatus != nil},
		{v1alpha1.GateCheckRun, policy.CheckRun != nil},
		{v1alpha1.GateJob, policy.Job != nil},
		{v1alpha1.GateMetrics, policy.Metrics != nil},
	} {
		if candidate.is {
			set = append(set, candidate.gateType)
		}
	}
	return set
}

func validateType(policy *v1alpha1.GatePolicy, path *field.Path) field.ErrorList {
	set := typesOf(policy)
	if len(set) == 0 {
		return field.ErrorList{field.Required(path, "one of manual, none, soak, window, pullRequest, commitStatus, checkRun, job, metrics")}
	}
	var problems field.ErrorList
	for _, extra := range set[1:] {
		detail := "a gate has one type, and " + string(set[0]) + " is set: give each a gate of its own"
		problems = append(problems, field.Forbidden(path.Child(string(extra)), detail))
	}
	return problems
}

func validateOnReject(policy v1alpha1.RejectPolicy, path *field.Path) field.ErrorList {
	switch policy {
	case "", v1alpha1.RejectHold, v1alpha1.RejectRollback:
		return nil
	default:
		return field.ErrorList{field.NotSupported(path, policy, []v1alpha1.RejectPolicy{v1alpha1.RejectHold, v1alpha1.RejectRollback})}
	}
}

func validateDuration(duration time.Duration, path *field.Path) field.ErrorList {
	if duration <= 0 || duration > maxDuration {
		return field.ErrorList{field.Invalid(path, duration.String(), "must be more than 0s and at most 720h")}
	}
	return nil
}

func validateWindow(window *v1alpha1.WindowGate, path *field.Path) field.ErrorList {
	problems := validateDuration(openFor(window), path.Child("duration"))
	problems = append(problems, validateTimeZone(window.TimeZone, path.Child("timeZone"))...)
	return append(problems, validateSchedule(window.Schedule, path.Child("schedule"))...)
}

func validateTimeZone(zone string, path *field.Path) field.ErrorList {
	if len(zone) > maxTimeZoneLength {
		return field.ErrorList{field.TooLong(path, zone, maxTimeZoneLength)}
	}
	if _, err := parseZone(zone); err != nil {
		return field.ErrorList{field.Invalid(path, zone, err.Error())}
	}
	return nil
}

func validateSchedule(expression string, path *field.Path) field.ErrorList {
	if len(expression) > maxScheduleLength {
		return field.ErrorList{field.TooLong(path, expression, maxScheduleLength)}
	}
	fields, err := parseFields(expression)
	if err != nil {
		return field.ErrorList{field.Invalid(path, expression, err.Error())}
	}
	if _, found := (schedule{fields: fields, zone: time.UTC}).next(reference); !found {
		return field.ErrorList{field.Invalid(path, expression, "matches no time")}
	}
	return nil
}
