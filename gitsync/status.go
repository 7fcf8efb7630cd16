package gitsync

import (
	"context"
	"fmt"
	"slices"

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
	next := source.DeepCopy()
	next.Status = statusOf(source, o, metav1.NewTime(r.clock.Now()))
	written := kube.PatchStatus(ctx, r.client, source, next, client.FieldOwner(v1alpha1.OwnerGitsync))
	switch written.(type) {
	case kube.Written:
		r.tell(source, o)
	case kube.Unchanged, kube.Gone:
	case kube.Outdated:
		return false, nil
	case kube.Refused, kube.Failed:
		return false, fmt.Errorf("write status of ReleaseSource: %w", kube.Err(written))
	}
	return true, nil
}

// statusOf is the status after a pass. What a failed pass did not learn stays as it was.
func statusOf(source *v1alpha1.ReleaseSource, o outcome, now metav1.Time) v1alpha1.ReleaseSourceStatus {
	status := *source.Status.DeepCopy()
	requested := requestedAt(source)
	switch o := o.(type) {
	case followed:
		answered := requested != "" && requested != status.LastHandledSyncAt
		if status.ObservedCommit != o.commit || o.wrote() || answered {
			status.LastSyncTime = &now
		}
		errors := o.errors()
		status.ObservedCommit, status.ObservedTree = o.commit, o.tree
		status.Approvals = o.approvals
		status.Files, status.Releases = int32(o.files), int32(o.releases)
		status.Errors, status.ErrorCount = fileErrors(errors), int32(len(errors))
		status.RefusedHead = ""
	case unread:
		if o.head != "" {
			status.RefusedHead = o.head
		}
	case suspended, leaving:
	}
	if !source.Spec.Suspend {
		status.LastHandledSyncAt = requested
	}
	status.ObservedGeneration = source.Generation
	for _, condition := range conditions(standingOf(o)) {
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
func conditions(s standing) []metav1.Condition {
	is := func(value bool) metav1.ConditionStatus {
		if value {
			return metav1.ConditionTrue
		}
		return metav1.ConditionFalse
	}
	retrying := s.failed && !s.stalled
	return []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: s.ready, Reason: s.reason, Message: s.message},
		{Type: v1alpha1.ConditionReconciling, Status: is(retrying), Reason: s.reason, Message: messageIf(retrying, s.message)},
		{Type: v1alpha1.ConditionStalled, Status: is(s.stalled), Reason: s.reason, Message: messageIf(s.stalled, s.message)},
	}
}

func messageIf(is bool, message string) string {
	if is {
		return message
	}
	return ""
}

// tell makes events of what is new compared with the status before.
func (r *Reconciler) tell(before *v1alpha1.ReleaseSource, o outcome) {
	event := func(kind, reason, action, note string) {
		r.events.Eventf(before, nil, kind, reason, action, "%s", note)
	}
	if f, is := o.(followed); is {
		slices.Sort(f.created)
		for _, name := range f.created {
			event(corev1.EventTypeNormal, "Created", "Create", "Deployment "+name+" of commit "+f.commit)
		}
		slices.Sort(f.applied)
		for _, name := range f.applied {
			event(corev1.EventTypeNormal, "Applied", "Apply", "BatchRelease "+name+" of commit "+f.commit)
		}
		for _, name := range f.pruned {
			event(corev1.EventTypeNormal, "Pruned", "Delete", "BatchRelease "+name+", which commit "+f.commit+" does not have")
		}
	}
	s := standingOf(o)
	if !meta.SetStatusCondition(&before.DeepCopy().Status.Conditions, readyOf(before, s)) {
		return
	}
	kind := corev1.EventTypeWarning
	if s.ready != metav1.ConditionFalse {
		kind = corev1.EventTypeNormal
	}
	event(kind, s.reason, "Sync", s.message)
}

// readyOf is the condition Ready, as it was observed before: that a new generation was observed is no event.
func readyOf(before *v1alpha1.ReleaseSource, s standing) metav1.Condition {
	ready := conditions(s)[0]
	if was := meta.FindStatusCondition(before.Status.Conditions, ready.Type); was != nil {
		ready.ObservedGeneration = was.ObservedGeneration
	}
	return ready
}
