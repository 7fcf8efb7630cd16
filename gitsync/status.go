package gitsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/plan"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/plain"
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

// statusOf returns the status after a pass. A failed pass keeps the fields that it could not
// observe.
func statusOf(source *v1alpha1.ReleaseSource, o outcome, now metav1.Time) v1alpha1.ReleaseSourceStatus {
	status := *source.Status.DeepCopy()
	requested := requestedAt(source)
	switch o := o.(type) {
	case followed:
		answered := requested != "" && requested != status.LastHandledSyncAt
		if status.ObservedCommit != o.commit || o.wrote() || answered {
			status.LastSyncTime = &now
		}
		found := o.errors()
		status.ObservedCommit, status.ObservedTree = o.commit, o.tree
		status.Approvals = o.approvals
		setVerified(source, &status, o.verified, now)
		status.Files, status.Releases = int32(o.files), int32(o.releases)
		status.Errors, status.ErrorCount = fileErrors(found), int32(len(found))
		status.RefusedHead, status.Unread, status.Refused = "", false, names(o.refused)
		setIf(len(o.overrides) > 0, source, &status, metav1.Condition{
			Type: v1alpha1.ConditionOverridden, Reason: v1alpha1.ReasonOtherTemplate, Message: overriddenWords(o.overrides), LastTransitionTime: now,
		})
		setIf(len(o.left) > 0, source, &status, metav1.Condition{
			Type: v1alpha1.ConditionNotInGit, Reason: v1alpha1.ReasonPruneOff, Message: leftWords(o.left), LastTransitionTime: now,
		})
	case unread:
		status.Unread = o.cause != passing
		if o.head != "" {
			status.RefusedHead = o.head
		}
		if why, is := errors.AsType[*unverifiedError](o.err); is {
			meta.SetStatusCondition(&status.Conditions, verifiedIs(source, metav1.ConditionFalse, why.reason, why.message, now))
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

// setVerified writes what was verified, or that nothing is.
func setVerified(source *v1alpha1.ReleaseSource, status *v1alpha1.ReleaseSourceStatus, known *verified, now metav1.Time) {
	if known == nil {
		status.Verified, status.VerifyKeys = nil, ""
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionVerified)
		return
	}
	status.Verified, status.VerifyKeys = known.heads, known.keys
	head := known.heads[0]
	message := fmt.Sprintf("commit %s is signed by %s with the key %s", plain.Commit(head.Commit), head.Signer, head.Key)
	if head.Key == "" {
		message = fmt.Sprintf("commit %s is taken as it is", plain.Commit(head.Commit))
	}
	meta.SetStatusCondition(&status.Conditions, verifiedIs(source, metav1.ConditionTrue, v1alpha1.ReasonCommitVerified, message, now))
}

func verifiedIs(source *v1alpha1.ReleaseSource, is metav1.ConditionStatus, reason, message string, now metav1.Time) metav1.Condition {
	return metav1.Condition{
		Type: v1alpha1.ConditionVerified, Status: is, Reason: reason, Message: shortMessage(message),
		ObservedGeneration: source.Generation, LastTransitionTime: now,
	}
}

// maxRefused limits the releases that a status lists.
const maxRefused = 500

func names(keys []plan.Key) []string {
	var names []string
	for _, key := range keys[:min(len(keys), maxRefused)] {
		names = append(names, key.String())
	}
	return names
}

// setIf sets a condition that is true, and removes it otherwise.
func setIf(is bool, source *v1alpha1.ReleaseSource, status *v1alpha1.ReleaseSourceStatus, condition metav1.Condition) {
	if !is {
		meta.RemoveStatusCondition(&status.Conditions, condition.Type)
		return
	}
	condition.Status, condition.Message, condition.ObservedGeneration = metav1.ConditionTrue, shortMessage(condition.Message), source.Generation
	meta.SetStatusCondition(&status.Conditions, condition)
}

func fileErrors(errors []spec.Error) []v1alpha1.FileError {
	var listed []v1alpha1.FileError
	for _, err := range errors[:min(len(errors), maxErrors)] {
		listed = append(listed, v1alpha1.FileError{File: err.File, Line: int32(err.Line), Message: shortMessage(err.Message)})
	}
	return listed
}

// conditions returns conditions as kstatus has them: Reconciling while a retry can succeed, Stalled
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
	if f, is := o.(followed); is {
		r.tellWrites(before, f)
	}
	s := standingOf(o)
	if !meta.SetStatusCondition(&before.DeepCopy().Status.Conditions, readyOf(before, s)) {
		return
	}
	kind := corev1.EventTypeWarning
	if s.ready != metav1.ConditionFalse {
		kind = corev1.EventTypeNormal
	}
	r.events.Eventf(before, nil, kind, s.reason, "Sync", "%s", s.message)
}

// tellWrites records events of the writes. Kubernetes counts events that differ only in their
// message as one, with the first message. That suffices for releases, which each commit writes. A
// workload is created once, and named as a related object.
func (r *Reconciler) tellWrites(source *v1alpha1.ReleaseSource, f followed) {
	event := func(related runtime.Object, reason, action, note string) {
		r.events.Eventf(source, related, corev1.EventTypeNormal, reason, action, "%s", note)
	}
	for _, created := range f.created {
		w, version := plan.WorkloadOf(created.Release), " of commit "+f.commit
		if created.Approved != nil {
			version = " in the version that was released last"
		}
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name}}
		object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(w.Kind))
		event(object, "Created", "Create", w.String()+version)
	}
	slices.SortFunc(f.applied, func(a, b plan.Key) int { return cmp.Compare(a.String(), b.String()) })
	for _, key := range f.applied {
		event(nil, "Applied", "Apply", "BatchRelease "+key.String()+" of commit "+f.commit)
	}
	for _, e := range f.undone {
		r.events.Eventf(e.release, source, corev1.EventTypeWarning, v1alpha1.ReasonEdited, "Restore", "%s", e.words())
	}
	for _, key := range f.pruned {
		event(nil, "Pruned", "Delete", "BatchRelease "+key.String()+", which commit "+f.commit+" does not have")
	}
}

// readyOf returns the condition Ready, as it was observed before: that a new generation was
// observed is no event.
func readyOf(before *v1alpha1.ReleaseSource, s standing) metav1.Condition {
	ready := conditions(s)[0]
	if was := meta.FindStatusCondition(before.Status.Conditions, ready.Type); was != nil {
		ready.ObservedGeneration = was.ObservedGeneration
	}
	return ready
}
