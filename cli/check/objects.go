package check

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// correctFile is what to do about a file that is not applied: it may be wrong by itself, or the
// cluster does not take it.
const correctFile = "correct the file; before a push, sluice lint finds errors in files, and sluice plan --cluster what the cluster refuses"

// page is where people find each reason, and what to do about it.
const page = "see https://github.com/sluice-dev/sluice/blob/main/docs/reasons.md"

// Source returns what the controller has found of a repository and its forge.
func Source(source *v1alpha1.ReleaseSource) []Finding {
	subject := "releasesource/" + source.Name
	conditions := source.Status.Conditions
	findings := []Finding{judged(subject+" repository", meta.FindStatusCondition(conditions, v1alpha1.ConditionReady))}
	if source.Spec.Verify != nil {
		findings = append(findings, judged(subject+" signatures", meta.FindStatusCondition(conditions, v1alpha1.ConditionVerified)))
	}
	for _, found := range source.Status.Errors {
		place := found.File
		if found.Line > 0 {
			place += fmt.Sprintf(":%d", found.Line)
		}
		findings = append(findings, Finding{Failed, subject + " " + place, found.Message, correctFile})
	}
	if source.Spec.Forge == nil {
		return append(findings, Finding{Warning, subject + " forge", "there is none: pullRequest gates pass by their record on the branch alone, " +
			"and commits show no progress", "set spec.forge: docs/forge.md"})
	}
	findings = append(findings, judged(subject+" forge", meta.FindStatusCondition(conditions, v1alpha1.ConditionForgeReady)))
	if source.Spec.WebhookSecretRef == nil {
		findings = append(findings, Finding{Warning, subject + " webhooks", "none are received: Git and the forge are polled every " +
			cmp.Or(source.Spec.Interval.Duration.String(), "while"), "set spec.webhookSecretRef to see pushes and merges at once: docs/forge.md"})
	}
	return findings
}

// judged returns a condition that is well when it is true.
func judged(subject string, condition *metav1.Condition) Finding {
	switch {
	case condition == nil:
		return Finding{Warning, subject, "the controller has not looked at it yet", "see that the controller runs, and that it watches this namespace"}
	case condition.Status == metav1.ConditionTrue:
		return Finding{OK, subject, condition.Message, ""}
	case condition.Status == metav1.ConditionUnknown: // it is suspended, or being read
		return Finding{Warning, subject, condition.Reason + ": " + condition.Message, page}
	}
	return Finding{Failed, subject, condition.Reason + ": " + condition.Message, page}
}

// Release returns what the controller has found of a release and of what stands against it in its
// namespace.
func Release(release *v1alpha1.BatchRelease) []Finding {
	subject := "batchrelease/" + release.Name
	var findings []Finding
	for _, look := range []struct {
		condition string
		bad       metav1.ConditionStatus
		grade     Grade
	}{
		{v1alpha1.ConditionStalled, metav1.ConditionTrue, Failed},
		{v1alpha1.ConditionPreflightFailed, metav1.ConditionTrue, Failed},
		{v1alpha1.ConditionPreflightFailed, metav1.ConditionFalse, Warning},
		{v1alpha1.ConditionDrifted, metav1.ConditionTrue, Warning},
		{v1alpha1.ConditionBeyondStep, metav1.ConditionTrue, Warning},
		{v1alpha1.ConditionRolledBackServes, metav1.ConditionTrue, Warning},
		{v1alpha1.ConditionQuarantined, metav1.ConditionTrue, Warning},
		{v1alpha1.ConditionSuspended, metav1.ConditionTrue, Warning},
	} {
		if found := meta.FindStatusCondition(release.Status.Conditions, look.condition); found != nil && found.Status == look.bad {
			findings = append(findings, Finding{look.grade, subject, found.Reason + ": " + found.Message, page})
		}
	}
	switch {
	case len(findings) > 0:
		return findings
	case release.Status.Phase == "" && release.Status.State != "":
		return []Finding{{Warning, subject, release.Status.Reason + ": " + release.Status.Message, page}}
	case release.Status.Phase == "":
		return []Finding{judged(subject, nil)}
	}
	return []Finding{{OK, subject, release.Status.Message, ""}}
}
