package gitsync

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kube"
)

// maxErrors that status lists.
const maxErrors = 50

// record writes the outcome into the source's status if it says something new, and
// then tells it as events. It reports false where the source has changed meanwhile:
// another pass has to say what holds for it now.
func (r *Reconciler) record(ctx context.Context, source *v1alpha1.ReleaseSource, o outcome) (bool, error) {
	o.message = shortMessage(o.message)
	next := source.DeepCopy()
	next.Status = statusOf(source, o, metav1.NewTime(r.clock.Now()))
	outcome := kube.PatchStatus(ctx, r.client, source, next, client.FieldOwner(v1alpha1.OwnerGitsync))
	switch outcome.(type) {
	case kube.Written:
		r.tell(source, o)
	case kube.Unchanged, kube.Gone:
	case kube.Outdated:
		return false, nil
	case kube.Refused, kube.Failed:
		return false, fmt.Errorf("write status of ReleaseSource: %w", kube.Err(outcome))
	}
	return true, nil
}

// statusOf is the status after a pass. What a failed pass did not learn stays as it was.
func statusOf(source *v1alpha1.ReleaseSource, o outcome, now metav1.Time) v1alpha1.ReleaseSourceStatus {
	status := *source.Status.DeepCopy()
	requested := requestedAt(source)
	if c := o.content; c != nil {
		answered := requested != "" && requested != status.LastHandledSyncAt
		if status.ObservedCommit != c.commit || c.wrote() || answered {
			status.LastSyncTime = &now
		}
		status.ObservedCommit, status.ObservedTree = c.commit, c.tree
		status.Approvals = c.approvals
		status.Files, status.Releases = int32(c.files), int32(c.releases)
		status.Errors, status.ErrorCount = fileErrors(c.errors), int32(len(c.errors))
	}
	if o.refusedHead != "" || o.content != nil {
		status.RefusedHead = o.refusedHead
	}
	if !source.Spec.Suspend {
		status.LastHandledSyncAt = requested
	}
	status.ObservedGeneration = source.Generation
	for _, condition := range conditions(o) {
		condition.ObservedGeneration = source.Generation
		condition.LastTransitionTime = now
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	return status
}

func fileErrors(errors []spec.Error) []v1alpha1.FileError {
	var listed []v1alpha1.FileError
	for _, err := range errors[:min(len(errors), maxErrors)] {
		listed = append(listed, v1alpha1.FileError{File: err.File, Line: int32(err.Line), Message: shortMessage(err.Message)})
	}
	return listed
}

// conditions follow kstatus: Reconciling while it may get better by itself, Stalled
// while only a change can help.
func conditions(o outcome) []metav1.Condition {
	is := func(value bool) metav1.ConditionStatus {
		if value {
			return metav1.ConditionTrue
		}
		return metav1.ConditionFalse
	}
	retrying := o.failed && !o.stalled
	return []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: o.ready, Reason: o.reason, Message: o.message},
		{Type: v1alpha1.ConditionReconciling, Status: is(retrying), Reason: o.reason, Message: messageIf(retrying, o.message)},
		{Type: v1alpha1.ConditionStalled, Status: is(o.stalled), Reason: o.reason, Message: messageIf(o.stalled, o.message)},
	}
}

func messageIf(is bool, message string) string {
	if is {
		return message
	}
	return ""
}

// tell makes events of what is new against the status before.
func (r *Reconciler) tell(before *v1alpha1.ReleaseSource, o outcome) {
	event := func(kind, reason, action, note string) {
		r.events.Eventf(before, nil, kind, reason, action, "%s", note)
	}
	if c := o.content; c != nil {
		for _, name := range c.created {
			event(corev1.EventTypeNormal, "Created", "Create", "Deployment "+name+" of commit "+c.commit)
		}
		for _, name := range c.applied {
			event(corev1.EventTypeNormal, "Applied", "Apply", "BatchRelease "+name+" of commit "+c.commit)
		}
		for _, name := range c.pruned {
			event(corev1.EventTypeNormal, "Pruned", "Delete", "BatchRelease "+name+", which commit "+c.commit+" does not have")
		}
	}
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	if was != nil && was.Reason == o.reason && was.Message == o.message {
		return
	}
	kind := corev1.EventTypeWarning
	if o.ready != metav1.ConditionFalse {
		kind = corev1.EventTypeNormal
	}
	event(kind, o.reason, "Sync", o.message)
}
