package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// maxLog limits the entries of a status.
const maxLog = 20

// log returns the log of the release with its new entries, by the status before and the new one.
func (t *telling) log() []v1alpha1.LogEntry {
	var news []v1alpha1.LogEntry
	if t.retries() {
		news = append(news, v1alpha1.LogEntry{Type: v1alpha1.LogRetried, By: t.asker()})
	}
	if t.supersedes() {
		was := t.before
		news = append(news, v1alpha1.LogEntry{
			Type: v1alpha1.LogSuperseded, Revision: was.UpdateRevision, Commit: was.Commit, Author: bounded(was.CommitAuthor), Images: was.Images,
			State: was.State, Batch: was.Batch,
		})
	}
	if back := t.status.Rollback; back != nil && t.attempted() {
		news = append(news, v1alpha1.LogEntry{Type: v1alpha1.LogRollbackStarted, By: back.By, Revision: t.status.UpdateRevision, Message: back.Message})
	}
	news = append(news, t.stopsAndResumes()...)
	if len(news) == 0 {
		return t.before.Log
	}
	for i := range news {
		news[i].Time = *t.time()
	}
	all := slices.Concat(t.before.Log, news)
	return all[max(0, len(all)-maxLog):]
}

// asker returns the user who says to have requested what is recorded now.
func (l *look) asker() string {
	return boundedTo(l.Release.Annotations[v1alpha1.RequestedByAnnotation], maxUser)
}

// maxUser limits the recorded name of a user, in bytes.
const maxUser = 500

// retries reports whether this pass records a retry.
func (t *telling) retries() bool {
	_, requested := t.Release.Annotations[v1alpha1.RetryAnnotation]
	failedBefore := t.before.Phase == v1alpha1.PhaseFailed && !t.failed()
	return requested && (failedBefore || t.before.RefusedWrite != nil && t.removes(v1alpha1.RetryAnnotation))
}

// removes reports whether an action removes an annotation.
func (d Decision) removes(annotation string) bool {
	return slices.ContainsFunc(d.actions, func(action Action) bool {
		a, is := action.(Annotate)
		return is && slices.Contains(a.Remove, annotation)
	})
}

// supersedes reports whether the release of another template takes the place of one in progress. A rollback does not: the history has
// what it leaves.
func (t *telling) supersedes() bool {
	was := t.before
	left := was.Phase != "" && was.Phase != v1alpha1.PhaseCompleted && was.UpdateRevision != ""
	return left && t.attempted() && !t.isRollback() && was.UpdateRevision != t.status.UpdateRevision
}

// stopsAndResumes returns an entry for each cause that stops the release now, or no longer does.
func (t *telling) stopsAndResumes() []v1alpha1.LogEntry {
	var news []v1alpha1.LogEntry
	add := func(kind v1alpha1.LogType, causes, others []v1alpha1.StopCause) {
		for _, cause := range causes {
			if slices.Contains(others, cause) {
				continue
			}
			entry := v1alpha1.LogEntry{Type: kind, Cause: cause}
			if cause == v1alpha1.StopSuspended || cause == v1alpha1.StopWorkloadChanged && kind == v1alpha1.LogResumed {
				entry.By = t.asker()
			}
			if change := t.change(); cause == v1alpha1.StopWorkloadChanged && change != nil {
				entry.Message = bounded(change.Message)
			}
			news = append(news, entry)
		}
	}
	add(v1alpha1.LogStopped, t.status.StoppedBy, t.before.StoppedBy)
	add(v1alpha1.LogResumed, t.before.StoppedBy, t.status.StoppedBy)
	return news
}

// images returns the images of the update revision. They are known while the workload has its template.
func (t *telling) images() []string {
	resolved := t.record.Resolved
	switch {
	case resolved == nil:
		return nil
	case t.Workload != nil && t.Workload.Digest == resolved.Digest && len(t.Workload.Images) > 0:
		return t.Workload.Images[:min(len(t.Workload.Images), maxImages)]
	case t.before.UpdateRevision != t.status.UpdateRevision:
		return nil
	default:
		return t.before.Images
	}
}

// maxImages limits the images of a status.
const maxImages = 20

// answered are the annotations to remove once a request is recorded: the request, and who made it.
func (l *look) answered(annotation string) []string {
	if _, named := l.Release.Annotations[v1alpha1.RequestedByAnnotation]; named {
		return []string{annotation, v1alpha1.RequestedByAnnotation}
	}
	return []string{annotation}
}

// forgetAsker removes the name of who requested something else than a rollback or a retry, as this pass records it: a name that stayed would
// answer for what others request later.
func forgetAsker(d Decision) Decision {
	annotations := d.Release.Annotations
	_, named := annotations[v1alpha1.RequestedByAnnotation]
	_, rollback := annotations[v1alpha1.RollbackAnnotation]
	_, retry := annotations[v1alpha1.RetryAnnotation]
	if !named || rollback || retry || d.statusFirst || d.needs.Any() {
		return d
	}
	return d.do(Annotate{Reason: "the request is recorded", Remove: []string{v1alpha1.RequestedByAnnotation}})
}
