package gitsync

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// maxErrors is how many errors the status names; it counts the rest.
const maxErrors = 50

// outcome is what came of one look at a repository.
type outcome struct {
	reason, message string
	// stalled says that only a change can help; retry that trying again may.
	stalled, retry bool

	// commit that was applied; empty if none was.
	commit          string
	files, releases int
	changed         int
	problems        []spec.Error
}

// failure is an outcome that another try may mend.
func failure(reason string, err error) outcome {
	return outcome{reason: reason, message: err.Error(), retry: true}
}

// repositoryFailure tells what a person must mend from what may pass.
func repositoryFailure(err error) outcome {
	out := failure(v1alpha1.ReasonFetchFailed, err)
	switch gitrepo.KindOf(err) {
	case gitrepo.Invalid:
		out.reason, out.stalled = v1alpha1.ReasonInvalidSpec, true
	case gitrepo.Denied:
		out.reason, out.stalled = v1alpha1.ReasonInvalidSecret, true
	case gitrepo.BranchNotFound:
		out.reason, out.stalled = v1alpha1.ReasonBranchNotFound, true
	case gitrepo.LimitExceeded:
		out.reason, out.stalled = v1alpha1.ReasonLimitExceeded, true
	case gitrepo.HistoryRewritten:
		out.reason, out.stalled = v1alpha1.ReasonHistoryRewrite, true
		out.message += "; releases are held until it is, the source sets allowRewrite, or the source is edited"
	case gitrepo.RepositoryNotFound:
		out.stalled = true
	}
	return out
}

// report writes the status if it says anything new, and then the event.
func (r *Reconciler) report(ctx context.Context, source *v1alpha1.ReleaseSource, found outcome) error {
	updated := source.DeepCopy()
	r.fill(updated, found)
	if equality.Semantic.DeepEqual(source.Status, updated.Status) {
		return nil
	}
	guard := client.MergeFromWithOptions(source, client.MergeFromWithOptimisticLock{})
	err := r.client.Status().Patch(ctx, updated, guard, client.FieldOwner(v1alpha1.OwnerGitsync))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the watch brings what the source is now, and it is looked at anew
	}
	if err != nil {
		return fmt.Errorf("write status of ReleaseSource: %w", err)
	}
	r.tell(source, updated, found)
	return nil
}

func (r *Reconciler) fill(source *v1alpha1.ReleaseSource, found outcome) {
	status := &source.Status
	status.ObservedGeneration = source.Generation
	if found.commit != "" {
		r.fillCommit(status, found)
	}
	if asked := source.Annotations[v1alpha1.RequestedAtAnnotation]; asked != "" && !found.retry {
		status.LastHandledSyncAt = asked
	}
	ready := found.reason == v1alpha1.ReasonSynced
	setCondition(source, v1alpha1.ConditionReady, ready, found)
	if found.stalled {
		setCondition(source, v1alpha1.ConditionStalled, true, found)
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionStalled)
	}
	setCondition(source, v1alpha1.ConditionReconciling, found.retry && !found.stalled, found)
}

func (r *Reconciler) fillCommit(status *v1alpha1.ReleaseSourceStatus, found outcome) {
	if status.ObservedCommit != found.commit || found.changed > 0 {
		now := metav1.NewTime(r.clock.Now()).Rfc3339Copy()
		status.ObservedCommit, status.LastSyncTime = found.commit, &now
	}
	status.Files, status.Releases = int32(found.files), int32(found.releases)
	status.ErrorCount = int32(len(found.problems))
	status.Errors = nil
	for _, problem := range found.problems[:min(len(found.problems), maxErrors)] {
		status.Errors = append(status.Errors, v1alpha1.FileError{
			File: problem.File, Line: int32(problem.Line), Message: problem.Message,
		})
	}
}

func setCondition(source *v1alpha1.ReleaseSource, kind string, is bool, found outcome) {
	value := metav1.ConditionFalse
	if is {
		value = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&source.Status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: found.reason, Message: found.message, ObservedGeneration: source.Generation,
	})
}

// tell publishes what people did not know before.
func (r *Reconciler) tell(before, after *v1alpha1.ReleaseSource, found outcome) {
	old := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	if old != nil && old.Reason == found.reason && old.Message == found.message {
		return
	}
	kind := corev1.EventTypeNormal
	if found.reason != v1alpha1.ReasonSynced && found.reason != v1alpha1.ReasonSuspended {
		kind = corev1.EventTypeWarning
	}
	r.events.Eventf(after, nil, kind, found.reason, "Sync", "%s", found.message)
}
