package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// answerRollback turns the rollback annotation into a recorded intent, then removes it.
func (p *pass) answerRollback() bool {
	asked, found := p.Release.Annotations[v1alpha1.RollbackAnnotation]
	if !found {
		return false
	}
	if asked == "true" && p.status.Resolved == nil && p.before() == "" {
		return false // what is yet to be begun is begun first, so that there is something to turn round
	}
	if asked == "true" && p.keepForRollback() {
		return true
	}
	target, why := p.rollbackTarget(asked)
	switch {
	case p.rollingBackTo(target, asked):
		p.do(Annotate{Reason: "the rollback is recorded", Remove: []string{v1alpha1.RollbackAnnotation}})
	case !p.KeptLive: // what it goes back to is not asked for gates, and what is not found is not asked for again
		p.need(Needs{Kept: true})
		return true
	case target == nil:
		p.do(Annotate{Reason: Reason(why), Remove: []string{v1alpha1.RollbackAnnotation}})
		p.out.Events = append(p.out.Events, Event{true, v1alpha1.ReasonRevisionNotFound, why})
	default:
		// Whoever asks for it means the tip of Git, too, though it may not have been begun; but not what is known
		// to wait for its turn: it came later, may be what mends this, and passes its gates.
		if !p.waitsItsTurn() {
			p.quarantine(p.Given)
		}
		p.rollBack(target, v1alpha1.RollbackRecord{
			Trigger: v1alpha1.TriggerAnnotation, Message: "rollback=" + asked + " was asked for",
		})
		return true
	}
	return false
}

// rollingBackTo reports whether the intent asked for is recorded already.
func (p *pass) rollingBackTo(target *Kept, asked string) bool {
	if !p.rollingBack() {
		return false
	}
	return asked == "true" || target != nil && target.Revision == p.status.RollbackTo
}

// rollbackTarget is the stable revision in a release, the last stable one after it, or the one that
// was named by its revision or commit; nil and the reason if there is none.
func (p *pass) rollbackTarget(asked string) (*Kept, string) {
	target, why := p.named(asked)
	if asked == "true" {
		target, why = p.stable(p.before()), "there is no stable template to go back to"
	}
	switch {
	case target == nil:
		return nil, fmt.Sprintf("rollback=%s: %s; %s", asked, why, p.keptWords())
	case target.Revision == p.status.UpdateRevision && p.status.Phase == v1alpha1.PhaseCompleted && !p.unrecorded():
		return nil, fmt.Sprintf("rollback=%s: revision %q is what runs already", asked, target.Revision)
	default:
		return target, ""
	}
}

// before is the revision to go back to: the stable one in a release, the last stable one after it. In the
// first release the status has no stable one before the pass that takes the workload over has written it.
func (p *pass) before() string {
	annotations := p.Release.Annotations
	switch {
	case p.unrecorded():
		return annotations[v1alpha1.CurrentStableAnnotation]
	case p.status.Phase == v1alpha1.PhaseCompleted:
		return annotations[v1alpha1.LastStableAnnotation]
	case p.status.StableRevision != "":
		return p.status.StableRevision
	case p.Workload.heldBy(p.Release):
		return annotations[v1alpha1.CurrentStableAnnotation]
	case p.status.Resolved != nil:
		return p.Workload.Revision
	default:
		return annotations[v1alpha1.LastStableAnnotation]
	}
}

// keepForRollback keeps what runs, if a first release is to be rolled back before its workload is taken
// over: nothing else has kept it yet. It reports whether it does.
func (p *pass) keepForRollback() bool {
	before := p.before()
	if before != p.Workload.Revision || p.status.StableRevision != "" || p.stable(before) != nil {
		return false
	}
	return !p.keepBefore() || len(p.out.Actions) > 0
}

// unrecorded reports whether a pass that did not live to write its status has begun a release: the workload is
// taken over, and the status tells of the time before.
func (p *pass) unrecorded() bool {
	w, resolved := p.Workload, p.status.Resolved
	if !w.heldBy(p.Release) || !w.secured() {
		return false
	}
	return resolved == nil || p.status.Phase == v1alpha1.PhaseCompleted && w.Digest != resolved.Digest
}

// abbreviated is a commit, in full or at least as much of it as people quote.
var abbreviated = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// named finds a stable template by its revision, or else by the commit that brought it.
func (p *pass) named(asked string) (target *Kept, why string) {
	if kept := p.kept(asked); kept != nil {
		if kept.stable() {
			return kept, ""
		}
		return nil, "it was rolled back itself, and passes its gates again if it is given as spec.template"
	}
	commit := strings.ToLower(asked)
	if !abbreviated.MatchString(commit) {
		return nil, fmt.Sprintf("no template of revision %q is kept", asked)
	}
	var found []*Kept
	for i := range p.Kept {
		if k := &p.Kept[i]; k.stable() && strings.HasPrefix(k.Commit, commit) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Sprintf("no template of revision or commit %q is kept", asked)
	case 1:
		return found[0], ""
	default:
		return nil, "more than one commit begins like that"
	}
}

// mostNamed is how many templates a message names.
const mostNamed = 10

// keptWords names what can be rolled back to, the newest first.
func (p *pass) keptWords() string {
	kept := slices.DeleteFunc(slices.Clone(p.Kept), func(k Kept) bool { return !k.stable() })
	if len(kept) == 0 {
		return "none is kept"
	}
	slices.SortFunc(kept, func(a, b Kept) int { return cmp.Compare(b.Number, a.Number) })
	var words []string
	for _, k := range kept[:min(len(kept), mostNamed)] {
		word := k.Revision
		if k.Commit != "" {
			word += " (commit " + plain.Commit(k.Commit) + ")"
		}
		words = append(words, word)
	}
	if more := len(kept) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return "kept are " + strings.Join(words, ", ")
}

// rollBack makes a rollback durable before anything is done for it: from here on nothing raises the
// bad revision again, and the template that brought it is not released as long as nothing else is given.
func (p *pass) rollBack(target *Kept, why v1alpha1.RollbackRecord) {
	if why.From = p.left(); why.From == target.Revision {
		why.From = p.status.UpdateRevision
	}
	if p.unrecorded() && p.Workload.Revision != target.Revision {
		why.From = p.Workload.Revision
	}
	given := p.Given
	if current := p.status.Resolved; current != nil && !slices.Contains(p.status.Quarantined, given) {
		given = current.Given
	}
	p.quarantine(given)
	queued := p.status.Queued
	p.begin(v1alpha1.ResolvedTemplate{Given: given, Digest: target.Digest, Revision: target.Revision}, &why)
	if queued != nil && !slices.Contains(p.status.Quarantined, queued.Given) {
		p.status.Queued = queued
	}
	p.out.StatusFirst, p.out.Actions = true, nil
}

// left is the revision that a rollback leaves: the one that is, or was last, released. A rollback that is
// sent elsewhere on its way leaves what it left before. A release that has not begun, which waits for room for example, has
// nothing to leave: the version that runs is left.
func (p *pass) left() string {
	if p.rollingBack() && p.status.Rollback != nil {
		return p.status.Rollback.From
	}
	if runs := p.Release.Annotations[v1alpha1.CurrentStableAnnotation]; p.status.Phase == v1alpha1.PhaseInitial && !p.Workload.heldBy(p.Release) && runs != "" {
		return runs
	}
	return cmp.Or(p.status.UpdateRevision, p.Workload.Revision)
}

// quarantine keeps a template, as given, from being released until another one is given.
func (p *pass) quarantine(given string) {
	if given != "" && !slices.Contains(p.status.Quarantined, given) {
		p.status.Quarantined = append(p.status.Quarantined, given)
	}
}

// quarantined reports whether the template that is given was rolled back.
func (p *pass) quarantined() bool { return slices.Contains(p.status.Quarantined, p.Given) }

// rollBackFailed turns a release round that has failed, if its strategy says so. It reports whether it
// does. A rollback that fails has nowhere to go.
func (p *pass) rollBackFailed() bool {
	if p.Release.Spec.Strategy.OnFailure != v1alpha1.FailureRollback {
		return false
	}
	return p.turnRound(v1alpha1.TriggerDeadline, p.status.Message)
}

// turnRound goes back to the version before of its own accord, if this is a release and there is one.
// Only what is being released is quarantined: what was given since may be what mends it.
func (p *pass) turnRound(trigger v1alpha1.RollbackTrigger, message string) bool {
	target := p.stable(p.status.StableRevision)
	if p.status.RollbackTo != "" || target == nil || target.Revision == p.status.UpdateRevision {
		return false
	}
	p.rollBack(target, v1alpha1.RollbackRecord{Trigger: trigger, Message: message})
	return true
}

// rollBackRejected turns a release round if a gate of the step was rejected that says so.
func (p *pass) rollBackRejected() {
	if p.status.RollbackTo != "" {
		return
	}
	for _, g := range p.gatesToPass() {
		gate := p.findGate(p.gateName(g.index), p.gateSpec(g))
		switch {
		case gate == nil || gate.Status.Decision != v1alpha1.DecisionRejected || g.policy.OnReject != v1alpha1.RejectRollback:
		case !p.GatesLive: // it may wait again: a pull request can be opened once more
			p.need(Needs{Gates: true})
			return
		case p.turnRound(v1alpha1.TriggerGateRejected, p.rejection(gate)):
			return
		}
	}
}

// wasStable reports whether a template is one that can be gone back to without asking anybody. It is not if a rollback
// that is under way leaves it, or was sent past it to an earlier one.
func (p *pass) wasStable(digest string) bool {
	current := p.Release.Annotations[v1alpha1.CurrentStableAnnotation]
	return slices.ContainsFunc(p.Kept, func(k Kept) bool {
		left := p.rollingBack() && k.Revision != p.status.RollbackTo && (k.Revision == p.left() || k.Revision == current)
		return k.Digest == digest && k.stable() && !left
	})
}

// agree ends the memory of a rollback that Git did not ask for and has followed since, by the pull request of its revert for
// example: what runs is what is given, as after a revert in Git.
func (p *pass) agree() {
	back, resolved := p.status.Rollback, p.status.Resolved
	switch {
	case p.status.RollbackTo == "" || back == nil || back.Trigger == v1alpha1.TriggerGitRevert || back.Trigger == v1alpha1.TriggerDrift:
	case len(p.status.Quarantined) > 0 || p.Given == "" || resolved == nil || resolved.Given != p.Given:
	default:
		p.recordEnd()
		p.status.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerGitRevert, From: back.From, Message: p.revertMessage()}
		p.setCommit()
	}
}

func (p *pass) revertMessage() string {
	commit := p.Release.Annotations[v1alpha1.CommitAnnotation]
	if commit == "" {
		return "spec.template is one that was stable before"
	}
	return "commit " + commit + " brings back a template that was stable before"
}

// endRollback ends a rollback that is under way, because another template is released now. What
// was being rolled back to stays the version to go back to, not the bad one.
func (p *pass) endRollback() {
	to := p.status.RollbackTo
	if to == "" || p.status.Phase == v1alpha1.PhaseCompleted {
		return
	}
	p.status.StableRevision = to
	p.markRolledBack(to)
	p.markStable(to)
}
