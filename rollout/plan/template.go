package plan

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// refusalRetry is after how long a template that the API server refused is tried again: a quota or
// a policy may have changed.
const refusalRetry = time.Minute

const retryRecorded Reason = "the retry is recorded"

// answerRetry lets a release go on that has failed, or whose workload another writer changed, then
// removes the annotation.
func answerRetry(d Decision) (Decision, bool) {
	if _, found := d.snap.release.Annotations[v1alpha1.RetryAnnotation]; !found {
		return d, false
	}
	if d.snap.hold().change() != nil {
		d = acknowledge(d)
		if d.refused != nil && d.refused.Until.IsZero() { // else it is sent again when its time comes
			d = retryRefused(d)
		}
		return d, true
	}
	if !d.snap.record.failed() {
		return d.do(Annotate{Reason: retryRecorded, Remove: answered(d.snap.release, v1alpha1.RetryAnnotation)}), false
	}
	return resume(d).tell(retried{}).first(), true
}

// resume lets a release go on that has failed.
func resume(d Decision) Decision {
	return d.with(func(r *record) {
		r.Phase = d.snap.record.rollingPhase()
		if !d.snap.record.entered() && !d.snap.record.isRollback() {
			r.Phase = v1alpha1.PhaseInitial
		}
		r.Progress, r.RefusedWrite, r.Failure = &v1alpha1.Progress{Since: *d.snap.time()}, nil, nil
	})
}

// withoutTemplate removes the Services of an earlier release whose workload was created again;
// nothing is released.
func withoutTemplate(d Decision) Decision {
	if !d.snap.hold().held() {
		d, _ = leaveTraffic(d, traffic.Rest)
	}
	return d
}

// chooseTemplate starts a release when the template is a new one.
func chooseTemplate(d Decision) (Decision, bool) {
	current := d.snap.record.Resolved
	switch {
	case current == nil && (d.snap.given == "" || isQuarantined(d.snap)):
		return withoutTemplate(d), true
	case d.snap.given == "", current != nil && current.Given == d.snap.given && !releasesAgain(d.snap), isQuarantined(d.snap):
		return dropQueued(d), false
	}
	waiting := waitingTemplate(d.snap)
	if waiting != nil {
		if reads := readsBeforeReplacing(d.snap); !d.snap.live(reads) {
			return d.read(reads), true
		}
		if reads := readsBeforeRollback(d.snap, waiting); !d.snap.live(reads) {
			return d.read(reads), true
		}
		if r := d.snap.ride(); r.wanted && r.starts(waiting.Given) && !d.snap.live(ReadTrain) && !d.snap.record.releases(waiting.Digest) {
			return d.read(ReadTrain), true
		}
		if mustWait(d.snap, waiting) {
			return enqueue(d, *waiting), d.snap.record.Resolved == nil
		}
	}
	if next, ready := prepareQueued(d, waiting); !ready {
		return next, true
	}
	switch {
	case d.snap.record.Queued != nil && d.snap.record.completed() && !d.snap.ride().wanted: // a member has been at rest
		// First record that the release before is completed: a reader who polls the status would
		// take it for superseded.
		return dropQueued(d).first(), true
	case d.snap.obs.Resolved == nil || d.snap.obs.Resolved.Given != d.snap.given:
		return tryGiven(d)
	case d.snap.obs.Resolved.unusable(): // what is in progress goes on with the template it has
		return dropQueued(d).wakeAt(d.snap.now.Add(refusalRetry), WakeTemplate), d.snap.record.Resolved == nil
	}
	return releaseResolved(d)
}

// releaseResolved starts a release of the resolved template, unless it is released already, or was
// rolled back.
func releaseResolved(d Decision) (Decision, bool) {
	template := d.snap.obs.Resolved.ResolvedTemplate
	switch {
	case d.snap.record.releases(template.Digest):
		return sameTemplate(d), false
	case rolledBackBefore(d.snap, &template):
		return quarantine(dropQueued(d), d.snap.given), false
	}
	if d, recalled := recallRollback(d, &template); recalled {
		return d, true
	}
	if validate(startTemplate(d, template).snap) != nil { // those of the rollback in progress are fine
		return d, false
	}
	d, ready := prepareToBegin(d, &template)
	if !ready {
		return d, true
	}
	d = startTemplate(d, template)
	return d, d.statusFirst
}

// tryGiven asks what the API server makes of the given template. It reports whether there is
// nothing else to decide until that is known: a rollback does not wait for it.
func tryGiven(d Decision) (Decision, bool) {
	d = d.need(Needs{Resolve: &Template{Given: true}})
	if d.refused != nil && d.snap.record.completed() {
		d = countReleased(d)
	}
	return d, d.refused == nil || !d.snap.record.rollingBack()
}

// dropQueued removes the template that waits from the record.
func dropQueued(d Decision) Decision { return d.with(func(r *record) { r.Queued = nil }) }

// sameTemplate updates the recorded digest when the template was only rewritten.
func sameTemplate(d Decision) Decision {
	resolved := *d.snap.record.Resolved
	resolved.Given, resolved.Dropped = d.snap.given, d.snap.obs.Resolved.Dropped
	return d.with(func(r *record) { r.Resolved, r.Quarantined, r.Queued = &resolved, nil, nil })
}

// unusable reports whether a template can't be released.
func (r *Resolved) unusable() bool { return r.Refused != "" || r.Overlooked != "" }

// refusedTemplate returns the API server's answer to the given template if that can't be released;
// nil if it can, is released, or waits.
func refusedTemplate(s *snapshot) *Resolved {
	given, current, queued := s.obs.Resolved, s.record.Resolved, s.record.Queued
	switch {
	case given == nil || !given.unusable() || s.given == "" || given.Given != s.given || isQuarantined(s):
		return nil
	case current != nil && current.Given == s.given, queued != nil && queued.Given == s.given:
		return nil
	default:
		return given
	}
}

// startTemplate begins the release of a new template. A revert in Git, which brings back one that
// was stable before, is a rollback with its fast plan.
func startTemplate(d Decision, template v1alpha1.ResolvedTemplate) Decision {
	var why *v1alpha1.RollbackRecord
	if returns(d.snap, &template) {
		why = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerGitRevert, From: replacedBy(d.snap, template.Revision), Message: revertMessage(d.snap)}
	}
	d = begin(endRollback(d), template, why)
	if why != nil && follows(d.snap) { // the workload has another template by now
		d = d.recordFirst(recordLeft(d).actions[len(d.actions):])
	}
	return d.with(func(r *record) { r.Quarantined = nil })
}

// begin sets the record to the first step of a new attempt, which is a rollback if there is a
// reason for one.
func begin(d Decision, template v1alpha1.ResolvedTemplate, rollback *v1alpha1.RollbackRecord) Decision {
	d = recordEnd(d)
	return d.with(func(r *record) {
		before := *r
		r.Attempt, r.StartedAt = d.snap.gates().nextAttempt(), d.snap.time()
		r.Phase, r.Adopted = v1alpha1.PhaseInitial, false
		r.CurrentStepIndex, r.CurrentStepState, r.StepStartedAt, r.EnteredStep = 0, v1alpha1.StepInitial, nil, nil
		r.Gates, r.Guards, r.Progress, r.RefusedWrite, r.PausePoint, r.Failure = nil, nil, nil, nil, nil, nil
		r.Replicas, r.TargetReplicas = 0, 0
		r.UpdatedReplicas, r.UpdatedReadyReplicas, r.UpdatedAvailableReplicas = 0, 0, 0
		r.Answers, r.Forced, r.Traffic = nil, nil, nil
		r.Train = d.snap.ride().boards()
		r.Resolved, r.Queued = &template, nil
		r.UpdateRevision = template.Revision
		if rollback == nil || rollback.Trigger == v1alpha1.TriggerGitRevert || r.Commit == "" {
			setCommit(d.snap, r) // else it is the one that is left
		}
		r.Superseded = superseded(r, &before)
		r.Rollback = rollback
		if rollback != nil {
			r.Phase = v1alpha1.PhaseRollingBack
		}
	})
}

// setCommit copies the commit annotations into the record.
func setCommit(s *snapshot, r *record) {
	annotations := s.release.Annotations
	r.Commit = annotations[v1alpha1.CommitAnnotation]
	r.CommitAuthor, r.CommitSubject = annotations[v1alpha1.AuthorAnnotation], annotations[v1alpha1.SubjectAnnotation]
	r.CommitTime = v1alpha1.ParseCommitTime(annotations[v1alpha1.CommitTimeAnnotation], s.now)
	r.CommitReference = v1alpha1.ParseReference(annotations[v1alpha1.ReferenceAnnotation])
}
