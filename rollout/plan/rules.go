package plan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// refusalRetry is after how long a template that the API server refused is tried again:
// a quota or a policy may have changed.
const refusalRetry = 5 * time.Minute

// missWorkload waits for a workload that does not exist.
func (p *pass) missWorkload() bool {
	if p.Workload != nil && !p.Workload.Deleting {
		return false
	}
	ref := p.Release.Spec.WorkloadRef
	p.say(v1alpha1.ReasonWorkloadNotFound, fmt.Sprintf("%s %q does not exist; the release starts when it does", ref.Kind, ref.Name))
	return true
}

// meetWorkload makes sure of a workload that has the name of the one that the status speaks of: a
// cache may show one that is gone already.
func (p *pass) meetWorkload() bool {
	if !p.anotherWorkload() {
		return false
	}
	p.need(Needs{Workload: true})
	return true
}

// yieldToHolder leaves a workload alone that another release has taken over.
func (p *pass) yieldToHolder() bool {
	w := p.Workload
	if w.Hold == nil || w.heldBy(p.Release) {
		return false
	}
	p.stall(v1alpha1.ReasonWorkloadHeld, fmt.Sprintf(
		"Deployment %q is taken over by BatchRelease %q: delete one of the two", w.Name, w.Hold.Release))
	return true
}

// answerRetry lets a release go on that has failed, or whose workload somebody has changed, then removes
// the annotation.
func (p *pass) answerRetry() bool {
	if _, found := p.Release.Annotations[v1alpha1.RetryAnnotation]; !found {
		return false
	}
	if p.acknowledge() {
		return true
	}
	if p.status.Phase != v1alpha1.PhaseFailed {
		p.do(Annotate{Reason: "the retry is recorded", Remove: []string{v1alpha1.RetryAnnotation}})
		return false
	}
	p.status.Phase = p.rollingPhase()
	if p.status.Batch == "" && p.status.RollbackTo == "" {
		p.status.Phase = v1alpha1.PhaseInitial
	}
	p.status.Progress, p.status.RefusedWrite = &v1alpha1.Progress{Since: *p.now()}, nil
	p.say(p.upgradeReason(), "going on: a retry was asked for")
	p.out.Events = append(p.out.Events, Event{false, v1alpha1.ReasonRetrying, p.status.Message})
	p.out.StatusFirst = true
	return true
}

// chooseTemplate starts a release when the template is a new one.
func (p *pass) chooseTemplate() bool {
	current := p.status.Resolved
	switch {
	case p.pastGit && current == nil:
		return true
	case p.Given == "" && current == nil:
		p.stall(v1alpha1.ReasonNoTemplate, "spec.template is missing: there is nothing to release")
		return true
	case current == nil && p.quarantined():
		p.say(v1alpha1.ReasonRolledBack, "spec.template was rolled back: another one starts the next release")
		return true
	case p.Given == "", current != nil && current.Given == p.Given, p.quarantined():
		p.status.Queued = nil
		return false
	}
	switch waiting := p.waiting(); {
	case waiting != nil && (p.unsure() || p.unproven(waiting)):
		return true
	case waiting != nil && p.mustWait(waiting):
		return p.enqueue(*waiting)
	case p.status.Queued != nil && p.status.Phase == v1alpha1.PhaseCompleted:
		p.dequeue()
		return true
	case p.Resolved == nil || p.Resolved.Given != p.Given:
		p.out.Needs.Resolve = &Template{Given: true}
		return true
	case p.Resolved.Refused != "":
		return p.refuseTemplate("the API server refuses spec.template: " + p.Resolved.Refused)
	case p.Resolved.Overlooked != "":
		return p.refuseTemplate("spec.template can't be told from what runs: " + p.Resolved.Overlooked + ": install a newer version")
	case p.sameAsCurrent(&p.Resolved.ResolvedTemplate):
		p.status.Resolved.Given = p.Given
		p.status.Quarantined, p.status.Queued = nil, nil
		return false
	case !p.standsBeside(&p.Resolved.ResolvedTemplate):
		return true
	default:
		p.start(p.Resolved.ResolvedTemplate)
		return false
	}
}

// sameAsCurrent reports whether a template comes to the same as what is, or was last, released.
func (p *pass) sameAsCurrent(template *v1alpha1.ResolvedTemplate) bool {
	return p.status.Resolved != nil && p.status.Resolved.Digest == template.Digest
}

// refuseTemplate says why the template is not released. A release that is under way goes on with
// the template it has.
func (p *pass) refuseTemplate(why string) bool {
	p.stall(v1alpha1.ReasonInvalidTemplate, why)
	p.wakeAt(p.Now.Add(refusalRetry))
	p.status.Queued = nil
	return p.status.Resolved == nil
}

// start begins the release of a new template. One that was stable before, brought back by
// a revert in Git, is a rollback and takes its fast plan.
func (p *pass) start(template v1alpha1.ResolvedTemplate) {
	var why *v1alpha1.RollbackRecord
	if p.returns(&template) {
		why = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerGitRevert, From: p.left(), Message: p.revertMessage()}
	}
	p.endRollback()
	p.begin(template, why)
	p.status.Quarantined = nil
}

// begin resets the status to the first step of a new attempt, which is a rollback if there is a
// reason for one.
func (p *pass) begin(template v1alpha1.ResolvedTemplate, rollback *v1alpha1.RollbackRecord) {
	p.recordEnd()
	commit, phase := p.status.Commit, p.status.Phase
	p.status.Attempt, p.status.StartedAt = p.nextAttempt(), new(metav1.NewTime(p.Now).Rfc3339Copy())
	p.status.Phase = v1alpha1.PhaseInitial
	p.status.CurrentStepIndex, p.status.CurrentStepState = 0, v1alpha1.StepInitial
	p.status.Batch, p.status.Gates, p.status.Progress, p.status.PausePoint = "", nil, nil, nil
	p.status.Replicas, p.status.TargetReplicas = 0, 0
	p.status.UpdatedReplicas, p.status.UpdatedReadyReplicas, p.status.UpdatedAvailableReplicas = 0, 0, 0
	p.status.Answers, p.status.Forced = nil, nil
	p.status.Resolved, p.status.Queued = &template, nil
	p.status.UpdateRevision = template.Revision
	p.drop(v1alpha1.ConditionDrifted)
	p.drop(v1alpha1.ConditionPreflight)
	if rollback == nil || rollback.Trigger == v1alpha1.TriggerGitRevert || p.status.Commit == "" {
		p.setCommit() // else it is the one that is left
	}
	p.recordSuperseded(commit, phase)
	p.status.RollbackTo, p.status.Rollback = "", rollback
	if rollback == nil {
		p.say(v1alpha1.ReasonTakingOver, "taking over the workload")
		return
	}
	p.status.RollbackTo = template.Revision
	p.status.Phase = v1alpha1.PhaseRollingBack
	p.say(v1alpha1.ReasonRollingBack, "rolling back to "+template.Revision+": "+rollback.Message)
}

// setCommit has the status speak of the commit that brought what is given.
func (p *pass) setCommit() {
	annotations := p.Release.Annotations
	p.status.Commit = annotations[v1alpha1.CommitAnnotation]
	p.status.CommitAuthor, p.status.CommitSubject = annotations[v1alpha1.AuthorAnnotation], annotations[v1alpha1.SubjectAnnotation]
}

// nextAttempt is one that no gate speaks of, even if the status was lost.
func (p *pass) nextAttempt() int64 {
	last := p.status.Attempt
	for i := range p.Gates {
		last = max(last, p.Gates[i].Spec.Attempt)
	}
	return last + 1
}
