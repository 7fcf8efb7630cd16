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

// leave hands the workload back when the release is being deleted.
func (p *pass) leave() bool {
	if p.Release.DeletionTimestamp == nil {
		return false
	}
	w := p.Workload
	if w != nil && !(w.Live && p.ReleaseLive) {
		p.need(Needs{Workload: !w.Live, Release: !p.ReleaseLive})
		return true
	}
	if w != nil && !w.Deleting && w.heldBy(p.Release) {
		p.do(HandBack{
			Reason:   "the release is deleted",
			Hold:     *w.Hold,
			Template: p.deletionTemplate(),
		})
	}
	if slices.Contains(p.Release.Finalizers, v1alpha1.Finalizer) {
		p.do(Annotate{Reason: "the workload is the native controller's again", Finalizer: new(false)})
	}
	return true
}

// deletionTemplate is what the workload is left with; nil keeps what it has. Nobody has
// approved the rest of a release, so by default the pods go back to the stable version.
func (p *pass) deletionTemplate() *Template {
	forward := p.status.RollbackTo == "" && p.status.Phase != v1alpha1.PhaseFinalizing
	stable := p.kept(p.status.StableRevision)
	if p.Release.Spec.DeletionPolicy == v1alpha1.DeletionProceed || !forward || stable == nil {
		return nil
	}
	return &Template{Revision: stable.Revision}
}

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

const unpausedReason Reason = "put back: only Sluice may unpause a workload that is taken over"

// putBack pauses a workload again that somebody has unpaused while it is taken over, before
// anything else: the native controller is about to remove all its old pods (T6).
func (p *pass) putBack() bool {
	w := p.Workload
	if !w.heldBy(p.Release) || w.secured() || p.status.Phase == v1alpha1.PhaseCompleted {
		return false
	}
	p.status.Held = &w.Hold.HeldWorkload
	p.do(TakeOver{Reason: unpausedReason, Hold: *w.Hold})
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
		return false
	case p.Resolved == nil || p.Resolved.Given != p.Given:
		p.out.Needs.Resolve = &Template{Given: true}
		return true
	case p.Resolved.Refused != "":
		return p.refuseTemplate()
	case current != nil && current.Digest == p.Resolved.Digest:
		p.status.Resolved.Given = p.Given
		p.status.Quarantined = nil
		return false
	default:
		p.start(p.Resolved.ResolvedTemplate)
		return false
	}
}

// refuseTemplate says what the API server said. A release that is under way goes on with
// the template it has.
func (p *pass) refuseTemplate() bool {
	p.stall(v1alpha1.ReasonInvalidTemplate, "the API server refuses spec.template: "+p.Resolved.Refused)
	p.wakeAt(p.Now.Add(refusalRetry))
	return p.status.Resolved == nil
}

// start begins the release of a new template. One that was stable before, brought back by
// a revert in Git, is a rollback and takes its fast plan.
func (p *pass) start(template v1alpha1.ResolvedTemplate) {
	known := slices.ContainsFunc(p.Kept, func(k Kept) bool { return k.Digest == template.Digest })
	// A workload that is taken over has the template since an earlier, unfinished pass of ours.
	unreleased := p.Workload.Digest != template.Digest || p.Workload.heldBy(p.Release)
	p.endRollback()
	p.begin(template, known && unreleased)
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
	p.status.Resolved = &template
	p.status.UpdateRevision = template.Revision
	p.status.Commit = p.Release.Annotations[v1alpha1.CommitAnnotation]
	p.status.RollbackTo = ""
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

// rest leaves a completed release alone.
func (p *pass) rest() bool {
	if p.status.Phase != v1alpha1.PhaseCompleted {
		return false
	}
	if p.status.Reason == v1alpha1.ReasonWorkloadNotFound {
		p.sayCompleted()
	}
	if w := p.Workload; w.heldBy(p.Release) && !p.ReleaseLive {
		p.need(Needs{Release: true})
	} else if w.heldBy(p.Release) {
		p.do(HandBack{Reason: "the release is completed", Hold: w.leftover(), Template: p.completedTemplate()})
	}
	return true
}

// completedTemplate is what a workload is to have again that was taken over for another template
// by a pass whose status was never written: Git has taken that template back since. It is nil if
// the workload has what was completed, or is not really taken over.
func (p *pass) completedTemplate() *Template {
	if !p.Workload.secured() || p.Workload.Digest == p.status.Resolved.Digest {
		return nil
	}
	return new(p.template())
}

// leftover is what a workload gets back whose release is completed. If it is neither paused nor
// set to Recreate it is not taken over: kubectl rollout undo has brought our annotation back from
// a ReplicaSet, to which the native controller had copied it, and it speaks of another time.
func (w *Workload) leftover() Hold {
	hold := *w.Hold
	if !w.Paused && !w.Recreate {
		hold.HeldWorkload = v1alpha1.HeldWorkload{Strategy: w.Strategy, Paused: w.Paused}
	}
	return hold
}

// arrive completes a release whose template the workload runs under the native controller. One
// that is paused with Recreate in the middle of it has lost our annotation.
func (p *pass) arrive() bool {
	w := p.Workload
	if w.Hold != nil || w.Digest != p.status.Resolved.Digest || p.status.Held != nil && !p.handedBack() ||
		w.secured() && p.oldReplicas() > 0 {
		return false
	}
	if needs := (Needs{Workload: !w.Live, Gates: !p.GatesLive && len(p.undecided()) > 0}); needs.Any() {
		p.need(needs)
		return true
	}
	p.keepWorkloadTemplate(Reason("revision " + p.status.UpdateRevision + " is stable"))
	p.forgetRolledBack(p.Workload.Revision)
	p.markStable(p.Workload.Revision)
	p.forgetOldTemplates()
	p.closeGates("the release is completed")
	p.closeUndecided("the release is completed")
	p.complete()
	return true
}

// handedBack reports whether a hold that is gone was ended by us, and not by somebody else
// in the middle of the release.
func (p *pass) handedBack() bool {
	if p.status.Phase == v1alpha1.PhaseFinalizing {
		return true
	}
	update := p.updateSet()
	return p.lastStep() && update != nil && update.Replicas == p.Workload.Replicas && p.oldReplicas() == 0 &&
		!(p.Workload.Paused && p.Workload.Recreate)
}

// markStable makes a revision the one to roll back to: last <- current, current <- new.
func (p *pass) markStable(revision string) {
	current := p.Release.Annotations[v1alpha1.CurrentStableAnnotation]
	if current == revision {
		return
	}
	change := Annotate{
		Reason: Reason("revision " + revision + " is stable"),
		Set:    map[string]string{v1alpha1.CurrentStableAnnotation: revision},
	}
	p.do(change.withLast(p.lastStable(current, revision), p.Release.Annotations))
}

// withLast names the last stable revision too, or takes its name away if there is none.
func (a Annotate) withLast(last string, annotations map[string]string) Annotate {
	if _, had := annotations[v1alpha1.LastStableAnnotation]; last == "" && had {
		a.Remove = append(a.Remove, v1alpha1.LastStableAnnotation)
	}
	if last != "" {
		a.Set[v1alpha1.LastStableAnnotation] = last
	}
	return a
}

// lastStable is the revision before the one that becomes stable. After a rollback the bad
// one was never stable to go back to, so it is the one kept before the target.
func (p *pass) lastStable(current, revision string) string {
	if current == revision {
		return p.Release.Annotations[v1alpha1.LastStableAnnotation]
	}
	if p.status.RollbackTo == "" {
		return current
	}
	target, last := p.kept(revision), (*Kept)(nil)
	for i := range p.Kept {
		if k := &p.Kept[i]; target != nil && k.Number < target.Number && (last == nil || k.Number > last.Number) {
			last = k
		}
	}
	if last == nil {
		return ""
	}
	return last.Revision
}

func (p *pass) complete() {
	steps := int32(len(p.steps()))
	p.status.Phase = v1alpha1.PhaseCompleted
	p.status.CurrentStepIndex, p.status.CurrentStepState = steps-1, v1alpha1.StepCompleted
	p.status.Batch = fmt.Sprintf("%d/%d", steps, steps)
	p.status.Gates, p.status.Progress, p.status.Held = nil, nil, nil
	p.status.StableRevision = p.status.UpdateRevision
	p.status.WorkloadUID = p.Workload.UID
	p.status.Replicas, p.status.TargetReplicas = p.Workload.Replicas, p.Workload.Replicas
	p.count()
	p.sayCompleted()
}

func (p *pass) sayCompleted() {
	if p.status.RollbackTo != "" {
		p.say(v1alpha1.ReasonRolledBack, "revision "+p.status.UpdateRevision+" runs again")
		return
	}
	p.say(v1alpha1.ReasonCompleted, "all pods run revision "+p.status.UpdateRevision)
}

// hold takes the workload over, or puts back what somebody changed while it is taken over.
func (p *pass) hold() bool {
	w := p.Workload
	held := w.heldBy(p.Release)
	if held && w.Hold.UID == p.Release.UID && w.secured() && w.Digest == p.status.Resolved.Digest {
		return p.goOn()
	}
	if !held && w.Behind > 0 {
		p.say(v1alpha1.ReasonTakingOver, "waiting for the native controller to see the workload as it is now")
		return true // it may be about to make the first ReplicaSet, whose pods are the old ones
	}
	proven := p.ReleaseLive
	if !held && p.status.Held == nil {
		proven = p.prepare() || proven
	}
	if !proven {
		p.need(Needs{Release: true})
		return true
	}
	p.takeOver(held)
	return true
}

// goOn goes on with a workload that is taken over. Starting another attempt with it, rather
// than taking it over for one, means that the status was lost, or that an old one was read.
func (p *pass) goOn() bool {
	if p.status.Attempt != p.Release.Status.Attempt && !p.ReleaseLive {
		p.need(Needs{Release: true})
		return true
	}
	if p.status.StableRevision == "" {
		p.status.StableRevision = p.Release.Annotations[v1alpha1.CurrentStableAnnotation]
	}
	p.status.Held = &p.Workload.Hold.HeldWorkload
	p.status.WorkloadUID = p.Workload.UID
	return false
}

// prepare makes durable what a rollback needs, before the workload's template is overwritten.
// It reports whether it writes the release, which proves that the release was read as it is.
func (p *pass) prepare() bool {
	stable := p.Workload.Revision
	p.status.StableRevision = stable
	p.keepWorkloadTemplate("kept to roll back to")
	annotations, finalized := p.Release.Annotations, slices.Contains(p.Release.Finalizers, v1alpha1.Finalizer)
	if finalized && annotations[v1alpha1.CurrentStableAnnotation] == stable {
		return false
	}
	change := Annotate{
		Reason:    "the workload is handed back before the release goes away",
		Set:       map[string]string{v1alpha1.CurrentStableAnnotation: stable},
		Finalizer: new(true),
	}
	p.do(change.withLast(p.lastStable(annotations[v1alpha1.CurrentStableAnnotation], stable), annotations))
	return true
}

func (p *pass) takeOver(held bool) {
	w := p.Workload
	template := p.template()
	if held && w.Digest != p.status.Resolved.Digest && p.settleDigest(template) {
		return
	}
	p.do(TakeOver{Reason: p.takeOverReason(held), Template: &template, Hold: p.holdValue(held)})
	p.closeGates("a new attempt voids the gates of the one before")
}

// template is where the template to write comes from: the release, as long as that is what
// is being released, else what is kept of it.
func (p *pass) template() Template {
	if p.status.Resolved.Given == p.Given && p.Given != "" && !slices.Contains(p.status.Quarantined, p.Given) {
		return Template{Given: true}
	}
	return Template{Revision: p.status.UpdateRevision}
}

// settleDigest tells a template that somebody changed from one that the API server now
// gives other defaults. It reports whether there is nothing to write, or to be known first.
func (p *pass) settleDigest(template Template) bool {
	if p.Release.Status.Resolved == nil || *p.Release.Status.Resolved != *p.status.Resolved {
		return false // the template is a new one
	}
	if p.Resolved == nil {
		p.out.Needs.Resolve = &template
		return true
	}
	if p.Resolved.Refused == "" && p.Resolved.Digest == p.Workload.Digest {
		p.status.Resolved.Digest = p.Workload.Digest
		return true
	}
	return false
}

func (p *pass) takeOverReason(held bool) Reason {
	revision := p.status.UpdateRevision
	switch {
	case !held && p.status.Held == nil:
		return Reason("release " + revision)
	case p.status.Phase == v1alpha1.PhaseInitial || p.status.Phase == v1alpha1.PhaseRollingBack:
		return Reason("release " + revision + " instead")
	case !p.Workload.secured():
		return unpausedReason
	case p.Workload.Digest == p.status.Resolved.Digest:
		return "put back: the annotation that says who has taken the workload over"
	default:
		return Reason("put back: the template of revision " + revision)
	}
}

// holdValue is what the workload gets back in the end: what it had when it was taken over,
// however often it has been since.
func (p *pass) holdValue(held bool) Hold {
	w := p.Workload
	hold := Hold{Release: p.Release.Name, UID: p.Release.UID}
	switch {
	case held:
		hold.HeldWorkload = w.Hold.HeldWorkload
	case p.status.Held != nil:
		hold.HeldWorkload = *p.status.Held
	default:
		hold.HeldWorkload = v1alpha1.HeldWorkload{Strategy: w.Strategy, Paused: w.Paused}
	}
	p.status.Held = &hold.HeldWorkload
	p.status.WorkloadUID = w.UID
	return hold
}
