package plan

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// refusalRetry is after how long a template that the API server refused is tried again:
// a quota or a policy may have changed.
const refusalRetry = time.Minute

const retryRecorded Reason = "the retry is recorded"

// answerRetry lets a release go on that has failed, or whose workload somebody has changed, then removes
// the annotation.
func answerRetry(d Decision) (Decision, bool) {
	if _, found := d.Release.Annotations[v1alpha1.RetryAnnotation]; !found {
		return d, false
	}
	if d.change() != nil {
		d = acknowledge(d)
		if d.refused != nil && d.refused.Until.IsZero() { // else it is sent again when its time comes
			d = retryRefused(d)
		}
		return d, true
	}
	if !d.failed() {
		return d.do(Annotate{Reason: retryRecorded, Remove: d.answered(v1alpha1.RetryAnnotation)}), false
	}
	d = d.with(func(r *record) {
		r.Phase = d.rollingPhase()
		if !d.entered() && !d.isRollback() {
			r.Phase = v1alpha1.PhaseInitial
		}
		r.Progress, r.RefusedWrite, r.Failure = &v1alpha1.Progress{Since: *d.time()}, nil, nil
	})
	return d.tell(retried{}).first(), true
}

// withoutTemplate is what there is to do where nothing is released: the Services of a release may be left whose workload somebody has created
// again.
func withoutTemplate(d Decision) Decision {
	if !d.held() {
		d, _ = leaveTraffic(d, traffic.Rest)
	}
	return d
}

// chooseTemplate starts a release when the template is a new one.
func chooseTemplate(d Decision) (Decision, bool) {
	current := d.record.Resolved
	switch {
	case current == nil && (d.Given == "" || d.quarantined()):
		return withoutTemplate(d), true
	case d.Given == "", current != nil && current.Given == d.Given, d.quarantined():
		return dropQueued(d), false
	}
	waiting := d.waiting()
	if waiting != nil {
		if reads := d.unsure(); !d.Live.Has(reads) {
			return d.read(reads), true
		}
		if reads := d.unproven(waiting); !d.Live.Has(reads) {
			return d.read(reads), true
		}
		if d.mustWait(waiting) {
			return enqueue(d, *waiting), d.record.Resolved == nil
		}
	}
	if next, ready := prepareQueued(d, waiting); !ready {
		return next, true
	}
	switch {
	case d.record.Queued != nil && d.completed():
		// It is put on record that the release before is completed, before the one that waited begins: who looks
		// at the status only now and then would take it for superseded.
		return dropQueued(d).first(), true
	case d.Resolved == nil || d.Resolved.Given != d.Given:
		d = d.need(Needs{Resolve: &Template{Given: true}})
		return d, d.refused == nil || !d.rollingBack() // a rollback does not wait for a template to be tried
	case d.Resolved.unusable(): // what is in progress goes on with the template it has
		return dropQueued(d).wakeAt(d.Now.Add(refusalRetry)), d.record.Resolved == nil
	}
	template := d.Resolved.ResolvedTemplate
	switch {
	case d.sameAsCurrent(&template):
		return sameTemplate(d), false
	case d.rolledBackAs(&template):
		return quarantine(dropQueued(d), d.Given), false
	}
	if d, recalled := recallRollback(d, &template); recalled {
		return d, true
	}
	if startTemplate(d, template).validate() != nil { // those of the rollback in progress are fine
		return d, false
	}
	d, ready := prepareToBegin(d, &template)
	if !ready {
		return d, true
	}
	return startTemplate(d, template), false
}

func dropQueued(d Decision) Decision { return d.with(func(r *record) { r.Queued = nil }) }

// sameTemplate knows what is released by the way in which it is written now.
func sameTemplate(d Decision) Decision {
	resolved := *d.record.Resolved
	resolved.Given, resolved.Dropped = d.Given, d.Resolved.Dropped
	return d.with(func(r *record) { r.Resolved, r.Quarantined, r.Queued = &resolved, nil, nil })
}

// sameAsCurrent reports whether a template comes to the same as what is, or was last, released.
func (l *look) sameAsCurrent(template *v1alpha1.ResolvedTemplate) bool {
	return l.record.Resolved != nil && l.record.Resolved.Digest == template.Digest
}

// unusable reports whether a template can't be released.
func (r *Resolved) unusable() bool { return r.Refused != "" || r.Overlooked != "" }

// refusedTemplate is what the API server makes of the template that is given, if it can't be released; nil if it can, is
// released, or waits.
func (l *look) refusedTemplate() *Resolved {
	given, current, queued := l.Resolved, l.record.Resolved, l.record.Queued
	switch {
	case given == nil || !given.unusable() || l.Given == "" || given.Given != l.Given || l.quarantined():
		return nil
	case current != nil && current.Given == l.Given, queued != nil && queued.Given == l.Given:
		return nil
	default:
		return given
	}
}

// startTemplate begins the release of a new template. One that was stable before, brought back by
// a revert in Git, is a rollback and takes its fast plan.
func startTemplate(d Decision, template v1alpha1.ResolvedTemplate) Decision {
	var why *v1alpha1.RollbackRecord
	if d.returns(&template) {
		why = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerGitRevert, From: d.leftFor(template.Revision), Message: d.revertMessage()}
	}
	d = begin(endRollback(d), template, why)
	return d.with(func(r *record) { r.Quarantined = nil })
}

// begin sets the record to the first step of a new attempt, which is a rollback if there is a
// reason for one.
func begin(d Decision, template v1alpha1.ResolvedTemplate, rollback *v1alpha1.RollbackRecord) Decision {
	d = recordEnd(d)
	return d.with(func(r *record) {
		before := *r
		r.Attempt, r.StartedAt = d.nextAttempt(), d.time()
		r.Phase, r.Adopted = v1alpha1.PhaseInitial, false
		r.CurrentStepIndex, r.CurrentStepState, r.StepStartedAt, r.EnteredStep = 0, v1alpha1.StepInitial, nil, nil
		r.Gates, r.Progress, r.RefusedWrite, r.PausePoint, r.Failure = nil, nil, nil, nil, nil
		r.Replicas, r.TargetReplicas = 0, 0
		r.UpdatedReplicas, r.UpdatedReadyReplicas, r.UpdatedAvailableReplicas = 0, 0, 0
		r.Answers, r.Forced, r.Traffic = nil, nil, nil
		r.Resolved, r.Queued = &template, nil
		r.UpdateRevision = template.Revision
		if rollback == nil || rollback.Trigger == v1alpha1.TriggerGitRevert || r.Commit == "" {
			d.setCommit(r) // else it is the one that is left
		}
		r.Superseded = superseded(r, &before)
		r.Rollback = rollback
		if rollback != nil {
			r.Phase = v1alpha1.PhaseRollingBack
		}
	})
}

// setCommit has the record speak of the commit that brought what is given.
func (l *look) setCommit(r *record) {
	annotations := l.Release.Annotations
	r.Commit = annotations[v1alpha1.CommitAnnotation]
	r.CommitAuthor, r.CommitSubject = annotations[v1alpha1.AuthorAnnotation], annotations[v1alpha1.SubjectAnnotation]
	r.CommitTime = v1alpha1.ParseCommitTime(annotations[v1alpha1.CommitTimeAnnotation], l.Now)
}

// nextAttempt is one that no gate belongs to, even if the status was lost.
func (l *look) nextAttempt() int64 {
	last := l.record.Attempt
	for i := range l.Gates {
		last = max(last, l.Gates[i].Spec.Attempt)
	}
	return last + 1
}
