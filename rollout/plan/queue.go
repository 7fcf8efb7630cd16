package plan

import (
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// mustWait reports whether a new template can't be released now. One that is kept to roll back to never
// waits, nor does one that the workload has been taken over for already, by a pass that did not live to
// record it; nor one whose predecessor is lost.
func (p *pass) mustWait(template *v1alpha1.ResolvedTemplate) bool {
	if p.stop() == nil && !p.finishesFirst() || p.sameAsCurrent(template) || p.returns(template) {
		return false
	}
	held := p.Workload.heldBy(p.Release)
	return !held || p.Workload.Digest != template.Digest && !p.lost()
}

// finishesFirst reports whether a release, or rollback, is under way that a new template does not take the
// place of. One that can't go on by itself, failed or rejected, does not hold up what may mend it, and one
// that has not begun is passed by, unless it is a rollback.
func (p *pass) finishesFirst() bool {
	s := &p.status
	under := s.Phase == v1alpha1.PhaseRollingUpdate || s.Phase == v1alpha1.PhaseRollingBack || s.Phase == v1alpha1.PhaseFinalizing
	return p.Release.Spec.Strategy.Supersede == v1alpha1.SupersedeQueue && under &&
		(s.Batch != "" || s.RollbackTo != "") && s.Reason != v1alpha1.ReasonGateRejected
}

// waitsItsTurn reports whether the template that is given is on record as the one to come after this release.
func (p *pass) waitsItsTurn() bool {
	queued := p.status.Queued
	return p.Release.Spec.Strategy.Supersede == v1alpha1.SupersedeQueue && queued != nil && queued.Given == p.Given
}

// unproven asks for a live read of what is kept before a template counts as one to go back to: its pods ask nobody,
// and a cache may show it as stable that has been rolled back since. It reports whether that is to be read first.
func (p *pass) unproven(template *v1alpha1.ResolvedTemplate) bool {
	if p.KeptLive || p.sameAsCurrent(template) || !p.returns(template) {
		return false
	}
	p.need(Needs{Kept: true})
	return true
}

// returns reports whether a template is one that was stable before, brought back by a revert in Git.
func (p *pass) returns(template *v1alpha1.ResolvedTemplate) bool {
	known := p.wasStable(template.Digest)
	// A workload that is taken over has the template since an earlier, unfinished pass of ours.
	return known && (p.Workload.Digest != template.Digest || p.Workload.heldBy(p.Release))
}

// unsure asks for live reads of a workload that is held with another template than what is being released:
// whether a template is lost, or the new one written already, must not rest on a cache.
func (p *pass) unsure() bool {
	current := p.status.Resolved
	if p.stop() == nil && !p.finishesFirst() || !p.Workload.heldBy(p.Release) || current != nil && p.Workload.Digest == current.Digest {
		return false
	}
	needs := Needs{Workload: !p.Workload.Live, Sets: !p.SetsLive}
	p.need(needs)
	return needs.Any()
}

// lost reports whether the template of what is being released can't be had any more: somebody has changed
// that of the workload before there was a ReplicaSet of it.
func (p *pass) lost() bool {
	revision := p.status.UpdateRevision
	if p.status.Resolved == nil || p.Workload.Digest == p.status.Resolved.Digest || p.kept(revision) != nil {
		return false
	}
	return !slices.ContainsFunc(p.Sets, func(s Set) bool { return s.Revision == revision })
}

// waiting is what is known of the template that is given: since it waits, or since it was resolved in
// this pass; nil if nothing is.
func (p *pass) waiting() *v1alpha1.ResolvedTemplate {
	switch queued := p.status.Queued; {
	case queued != nil && queued.Given == p.Given:
		return &queued.ResolvedTemplate
	case p.Resolved != nil && p.Resolved.Given == p.Given && p.Resolved.Refused == "":
		return &p.Resolved.ResolvedTemplate
	default:
		return nil
	}
}

// enqueue records that a template waits; only the newest does. It reports whether there is nothing else
// to go on with.
func (p *pass) enqueue(template v1alpha1.ResolvedTemplate) bool {
	if queued := p.status.Queued; queued == nil || queued.Given != template.Given {
		p.status.Queued = &v1alpha1.QueuedTemplate{
			ResolvedTemplate: template,
			Commit:           p.Release.Annotations[v1alpha1.CommitAnnotation],
			Since:            *p.now(),
		}
	}
	idle := p.status.Resolved == nil || p.status.Phase == v1alpha1.PhaseCompleted
	if why := p.stop(); idle && why != nil {
		p.sayStopped("revision "+p.status.Queued.Revision+" waits", why)
	}
	return p.status.Resolved == nil
}

// dequeue puts it on record that the release before is completed, before the one that waited begins: who looks
// at the status only now and then would take it for superseded.
func (p *pass) dequeue() {
	p.status.Queued = nil
	p.sayCompleted()
	p.out.StatusFirst = true
}

// nextWords begin what a message says of the template that waits.
const nextWords = "; next: revision "

// withoutNext is a message without what it says of the template that waits.
func withoutNext(message string) string {
	before, _, _ := strings.Cut(message, nextWords)
	return before
}

// sayNext adds to the message of a release under way, which does not say so yet, which revision waits for its end.
func (p *pass) sayNext() {
	under := p.rollingBack() || p.status.Batch != "" && p.status.Phase != v1alpha1.PhaseCompleted
	if queued := p.status.Queued; queued != nil && under {
		p.status.Message += nextWords + queued.Revision
	}
}
