package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

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

// refuseStrategy stops at steps that can't be read.
func (p *pass) refuseStrategy() bool {
	err := Validate(&p.Release.Spec, field.NewPath("spec")).ToAggregate()
	if err == nil {
		return false
	}
	p.stall(v1alpha1.ReasonInvalidStrategy, err.Error())
	return true
}

// answerRollback turns the rollback annotation into a recorded intent, then removes it.
func (p *pass) answerRollback() bool {
	asked, found := p.Release.Annotations[v1alpha1.RollbackAnnotation]
	if !found {
		return false
	}
	target, why := p.rollbackTarget(asked)
	switch {
	case p.rollingBackTo(target, asked):
		p.do(Annotate{Reason: "the rollback is recorded", Remove: []string{v1alpha1.RollbackAnnotation}})
	case target == nil:
		p.do(Annotate{Reason: Reason(why), Remove: []string{v1alpha1.RollbackAnnotation}})
		p.out.Events = append(p.out.Events, Event{true, v1alpha1.ReasonRevisionNotFound, why})
		return false
	default:
		p.recordRollback(target)
		return true
	}
	return false
}

// rollingBackTo reports whether the intent asked for is recorded already.
func (p *pass) rollingBackTo(target *Kept, asked string) bool {
	if p.status.RollbackTo == "" || p.status.Phase == v1alpha1.PhaseCompleted {
		return false
	}
	return asked == "true" || target != nil && target.Revision == p.status.RollbackTo
}

// rollbackTarget is the stable revision in a release, the last stable one after it, or the
// revision that was named; nil and the reason if there is none.
func (p *pass) rollbackTarget(asked string) (*Kept, string) {
	revision := asked
	if asked == "true" {
		revision = p.status.StableRevision
		if p.status.Phase == v1alpha1.PhaseCompleted || revision == "" {
			revision = p.Release.Annotations[v1alpha1.LastStableAnnotation]
		}
	}
	target := p.kept(revision)
	switch {
	case target == nil:
		return nil, fmt.Sprintf("rollback=%s: no template of revision %q is kept", asked, revision)
	case target.Revision == p.status.UpdateRevision && p.status.Phase == v1alpha1.PhaseCompleted:
		return nil, fmt.Sprintf("rollback=%s: revision %q is what runs already", asked, revision)
	default:
		return target, ""
	}
}

// recordRollback makes the rollback durable before anything is done for it: from here on
// nothing raises the bad revision again.
func (p *pass) recordRollback(target *Kept) {
	if p.Given != "" && !slices.Contains(p.status.Quarantined, p.Given) {
		p.status.Quarantined = append(p.status.Quarantined, p.Given)
	}
	p.begin(v1alpha1.ResolvedTemplate{Given: p.Given, Digest: target.Digest, Revision: target.Revision}, true)
	p.say(v1alpha1.ReasonRollingBack, "rolling back to "+target.Revision)
	p.out.StatusFirst = true
}

// answerRetry lets a failed release go on, then removes the annotation.
func (p *pass) answerRetry() bool {
	if _, found := p.Release.Annotations[v1alpha1.RetryAnnotation]; !found {
		return false
	}
	if p.status.Phase != v1alpha1.PhaseFailed {
		p.do(Annotate{Reason: "the retry is recorded", Remove: []string{v1alpha1.RetryAnnotation}})
		return false
	}
	p.status.Phase = p.rollingPhase()
	p.status.Progress = &v1alpha1.Progress{Since: *p.now()}
	p.say(p.upgradeReason(), "going on: a retry was asked for")
	p.out.StatusFirst = true
	return true
}

// chooseTemplate starts a release when the template is a new one.
func (p *pass) chooseTemplate() bool {
	current := p.status.Resolved
	switch {
	case p.Given == "" && current == nil:
		p.stall(v1alpha1.ReasonNoTemplate, "spec.template is missing: there is nothing to release")
		return true
	case current == nil && slices.Contains(p.status.Quarantined, p.Given):
		p.say(v1alpha1.ReasonRolledBack, "spec.template was rolled back: another one starts the next release")
		return true
	case p.Given == "", current != nil && current.Given == p.Given, slices.Contains(p.status.Quarantined, p.Given):
		p.status.Queued = nil
		return false
	}
	switch waiting := p.waiting(); {
	case waiting != nil && p.unsure():
		return true
	case waiting != nil && p.mustWait(waiting):
		return p.enqueue(*waiting)
	case p.Resolved == nil || p.Resolved.Given != p.Given:
		p.out.Needs.Resolve = &Template{Given: true}
		return true
	case p.Resolved.Refused != "":
		return p.refuseTemplate()
	case p.sameAsCurrent(&p.Resolved.ResolvedTemplate):
		p.status.Resolved.Given = p.Given
		p.status.Quarantined, p.status.Queued = nil, nil
		return false
	default:
		p.start(p.Resolved.ResolvedTemplate)
		return false
	}
}

// sameAsCurrent reports whether a template comes to the same as what is, or was last, released.
func (p *pass) sameAsCurrent(template *v1alpha1.ResolvedTemplate) bool {
	return p.status.Resolved != nil && p.status.Resolved.Digest == template.Digest
}

// refuseTemplate says what the API server said. A release that is under way goes on with
// the template it has.
func (p *pass) refuseTemplate() bool {
	p.stall(v1alpha1.ReasonInvalidTemplate, "the API server refuses spec.template: "+p.Resolved.Refused)
	p.wakeAt(p.Now.Add(refusalRetry))
	p.status.Queued = nil
	return p.status.Resolved == nil
}

// start begins the release of a new template. One that was stable before, brought back by
// a revert in Git, is a rollback and takes its fast plan.
func (p *pass) start(template v1alpha1.ResolvedTemplate) {
	returns := p.returns(&template)
	p.endRollback()
	p.begin(template, returns)
	p.status.Quarantined = nil
}

// endRollback ends a rollback that is under way, because another template is released now. What
// was being rolled back to stays the version to go back to, not the bad one.
func (p *pass) endRollback() {
	to := p.status.RollbackTo
	if to == "" || p.status.Phase == v1alpha1.PhaseCompleted {
		return
	}
	p.status.StableRevision = to
	p.forgetRolledBack(to)
	p.markStable(to)
}

// begin resets the status to the first step of a new attempt.
func (p *pass) begin(template v1alpha1.ResolvedTemplate, rollback bool) {
	p.status.Attempt = p.nextAttempt()
	p.status.Phase = v1alpha1.PhaseInitial
	p.status.CurrentStepIndex, p.status.CurrentStepState = 0, v1alpha1.StepInitial
	p.status.Batch, p.status.Gates, p.status.Progress = "", nil, nil
	p.status.Replicas, p.status.TargetReplicas = 0, 0
	p.status.Resolved, p.status.Queued = &template, nil
	p.status.UpdateRevision = template.Revision
	p.status.Commit = p.Release.Annotations[v1alpha1.CommitAnnotation]
	p.status.RollbackTo = ""
	p.drop(v1alpha1.ConditionDrifted)
	if rollback {
		p.status.RollbackTo = template.Revision
		p.status.Phase = v1alpha1.PhaseRollingBack
	}
	p.say(v1alpha1.ReasonTakingOver, "taking over the workload")
}

// nextAttempt is one that no gate speaks of, even if the status was lost.
func (p *pass) nextAttempt() int64 {
	last := p.status.Attempt
	for i := range p.Gates {
		last = max(last, p.Gates[i].Spec.Attempt)
	}
	return last + 1
}
