package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// report is a decision as people and other controllers read it: the state, the reason, the message
// and the conditions of the status, and the events. The planner decides nothing by any of them; the
// ones before are compared only to find what is new.
type report struct {
	d Decision
	// s is the snapshot of the decision.
	s     *snapshot
	state *state
	// before is the stored status, and status the new one.
	before, status *v1alpha1.BatchReleaseStatus
}

// render computes the plan of a decision: its actions, with the status and the events.
func render(before *snapshot, d Decision) Plan {
	d = withReportedCounts(d)
	status := d.snap.record.BatchReleaseStatus
	status.Batch = d.batchNow()
	r := &report{d: d, s: d.snap, state: stateOf(d.snap), before: &before.release.Status, status: &status}
	status.Reason, status.Message = words(r)
	status.State, status.StoppedBy, status.StalledBy = r.state.value, stopsNow(r.s).values(), stalled(r).cause
	setConditions(r)
	status.Images, status.Log = images(r), logOf(r)
	if was := r.before; status.Phase != was.Phase || status.CurrentStepIndex != was.CurrentStepIndex ||
		status.CurrentStepState != was.CurrentStepState {
		status.LastUpdateTime = d.snap.time()
	}
	return Plan{
		Actions: d.actions, Status: status, StatusFirst: d.statusFirst, Records: d.records,
		Needs: d.needs, Wakes: wakesOf(d), Timed: d.excused(), PodLooks: d.looks, Events: append(events(r), news(r)...),
	}
}

// withReportedCounts adds the counts of pods and the refused write to the record of a decision.
func withReportedCounts(d Decision) Decision {
	if s := d.snap; !absent(s) && !(s.record.completed() && s.release.Status.Phase == v1alpha1.PhaseCompleted) {
		d = countAll(d)
		if s.record.underWay() && s.record.entered() && s.hold().held() && !s.empty {
			d = count(d) // pods come and go also where nothing can be decided
		}
	}
	switch {
	case d.statusFirst: // the next iteration reports it
	case d.refused == nil && d.snap.record.RefusedWrite == nil:
	case d.refused == nil:
		d = d.with(func(r *record) { r.RefusedWrite = nil })
	default:
		refused := d.refusedWrite()
		d = d.with(func(r *record) { r.RefusedWrite = &refused })
	}
	return d
}

// stall is a problem that only a user can fix. The zero value is none.
type stall struct {
	cause   v1alpha1.StallCause
	message string
	// told marks a stall that the event of the state tells already.
	told bool
}

// event returns the event of a stall; nil if there is none.
func (s stall) event() *Event {
	if s.cause == "" {
		return nil
	}
	return &Event{Warning: !s.told, Reason: string(s.cause), Message: bounded(s.message)}
}

// stalled returns the problem that only a user can fix: the state's, a refused write, one beside
// the state, in this order.
func stalled(r *report) stall {
	column := r.state.stall
	own := stall{column.cause, r.status.Message, column.told}
	if column.message != nil {
		own.message = column.message(r)
	}
	refused := r.d.refused != nil
	switch {
	case r.state.traits.has(calm):
		return stall{}
	case column.cause != "" && !column.last && !(column.yields && refused):
		return own
	case refused && r.d.refused.Unguarded:
		return stall{v1alpha1.StallUnguarded, r.d.refused.Why, false}
	case refused && !r.d.statusFirst:
		return stall{v1alpha1.StallWriteRefused, refusalWords(r.d.refused), false}
	}
	if beside := stalledBeside(r.s); beside.cause != "" {
		return beside
	}
	if column.last {
		return own
	}
	return stall{}
}

// stalledBeside returns the problem that stalls a release in any state.
func stalledBeside(s *snapshot) stall {
	switch refused := refusedTemplate(s); {
	case s.problem != nil:
		return stall{v1alpha1.StallInvalidStrategy, s.problem.Error(), false}
	case refused != nil:
		return stall{v1alpha1.StallInvalidTemplate, refused.words(), false}
	case drifts(s) && s.release.Spec.Drift == v1alpha1.DriftRevert && driftOwner(s) != "":
		return stall{v1alpha1.StallWorkloadShared, sharedWords(s, "reverts changes"), false}
	case !absent(s) && mayNotFollow(s):
		return stall{v1alpha1.StallWorkloadShared, sharedWords(s, followsIt), false}
	case unguarded(s):
		return stall{v1alpha1.StallUnguarded, UnguardedWords(kindOf(s), s.workload.Name), false}
	case s.record.Traffic != nil && s.record.Traffic.Problem != nil:
		return stall{v1alpha1.StallTrafficBlocked, s.record.Traffic.Problem.Words(), false}
	default:
		return stall{}
	}
}

// images returns the images of the update revision. They are known while the workload has its
// template.
func images(r *report) []string {
	w, resolved := r.s.workload, r.s.record.Resolved
	switch {
	case resolved == nil:
		return nil
	case w != nil && w.Digest == resolved.Digest && len(w.Images) > 0:
		return w.Images[:min(len(w.Images), maxImages)]
	case r.before.UpdateRevision != r.status.UpdateRevision:
		return nil
	default:
		return r.before.Images
	}
}

// maxImages limits the images of a status.
const maxImages = 20

// maxLog limits the entries of a status.
const maxLog = 20

// logOf returns the log of the release with the entries of this pass.
func logOf(r *report) []v1alpha1.LogEntry {
	var news []v1alpha1.LogEntry
	if retries(r) {
		news = append(news, v1alpha1.LogEntry{Type: v1alpha1.LogRetried, By: requestedBy(r.s.release)})
	}
	if supersedes(r) {
		was := r.before
		news = append(news, v1alpha1.LogEntry{
			Type: v1alpha1.LogSuperseded, Revision: was.UpdateRevision, Commit: was.Commit, Author: bounded(was.CommitAuthor), Images: was.Images,
			State: was.State, Batch: was.Batch,
		})
	}
	if back := r.status.Rollback; back != nil && attempted(r) {
		news = append(news, v1alpha1.LogEntry{Type: v1alpha1.LogRollbackStarted, By: back.By, Revision: r.status.UpdateRevision, Message: back.Message})
	}
	news = append(news, stopsAndResumes(r)...)
	if len(news) == 0 {
		return r.before.Log
	}
	for i := range news {
		news[i].Time = *r.s.time()
	}
	all := slices.Concat(r.before.Log, news)
	return all[max(0, len(all)-maxLog):]
}

// retries reports whether this pass records a retry.
func retries(r *report) bool {
	_, requested := r.s.release.Annotations[v1alpha1.RetryAnnotation]
	failedBefore := r.before.Phase == v1alpha1.PhaseFailed && !r.s.record.failed()
	return requested && (failedBefore || r.before.RefusedWrite != nil && r.d.removes(v1alpha1.RetryAnnotation))
}

// supersedes reports whether the release of another template replaces one in progress. A rollback
// does not: the history has what it leaves.
func supersedes(r *report) bool {
	was := r.before
	left := was.Phase != "" && was.Phase != v1alpha1.PhaseCompleted && was.UpdateRevision != ""
	return left && attempted(r) && !r.s.record.isRollback() && was.UpdateRevision != r.status.UpdateRevision
}

// stopsAndResumes returns an entry for each cause that stops the release now, or no longer does.
func stopsAndResumes(r *report) []v1alpha1.LogEntry {
	var news []v1alpha1.LogEntry
	add := func(kind v1alpha1.LogType, causes, others []v1alpha1.StopCause) {
		for _, cause := range causes {
			if slices.Contains(others, cause) {
				continue
			}
			entry := v1alpha1.LogEntry{Type: kind, Cause: cause}
			if cause == v1alpha1.StopSuspended || cause == v1alpha1.StopWorkloadChanged && kind == v1alpha1.LogResumed {
				entry.By = requestedBy(r.s.release)
			}
			if change := r.s.hold().change(); cause == v1alpha1.StopWorkloadChanged && change != nil {
				entry.Message = bounded(change.Message)
			}
			news = append(news, entry)
		}
	}
	add(v1alpha1.LogStopped, r.status.StoppedBy, r.before.StoppedBy)
	add(v1alpha1.LogResumed, r.before.StoppedBy, r.status.StoppedBy)
	return news
}

// attempted reports whether another attempt begins.
func attempted(r *report) bool { return r.status.Attempt != r.before.Attempt }
