package plan

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// answerRollback turns the rollback annotation into a recorded intent, then removes it.
func answerRollback(d Decision) (Decision, bool) {
	asked, found := d.Release.Annotations[v1alpha1.RollbackAnnotation]
	before := asked == Previous
	switch {
	case !found:
		return d, false
	case before && d.record.Resolved == nil && d.before() == "":
		return d, false // what is yet to be begun is begun first, so that there is something to turn round
	case before && d.unkept():
		return keepForRollback(d)
	}
	return answerTarget(d, asked)
}

// Previous is the value of the rollback annotation that asks for the stable template in a release, and for the one before after it.
const Previous = "true"

// answerTarget answers a rollback to what was asked for.
func answerTarget(d Decision, asked string) (Decision, bool) {
	target, problem := d.rollbackTarget(asked)
	switch {
	case d.rollingBackTo(target, asked):
		return d.do(Annotate{Reason: "the rollback is recorded", Remove: d.answered(v1alpha1.RollbackAnnotation)}), false
	case !d.Live.Has(ReadKept): // its target asks no gates, and a target that is not found is not looked up again
		return d.read(ReadKept), true
	case target == nil:
		d = d.do(Annotate{Reason: Reason(problem.words()), Remove: d.answered(v1alpha1.RollbackAnnotation)})
		return d.tell(notFound{problem}), false
	}
	// Whoever asks for it means the tip of Git, too, though it may not have been begun; but not what is known
	// to wait for its turn: it came later, may be what fixes this, and passes its gates.
	if !d.waitsItsTurn() {
		d = quarantine(d, d.Given)
	}
	return rollBack(d.look, target, v1alpha1.RollbackRecord{
		Trigger: v1alpha1.TriggerAnnotation, Message: bounded("rollback=" + asked + " was requested"), By: d.asker(),
	}), true
}

// rollingBackTo reports whether the intent asked for is recorded already.
func (l *look) rollingBackTo(target *Kept, asked string) bool {
	if !l.rollingBack() {
		return false
	}
	return asked == Previous || target != nil && target.Revision == l.record.RolledBackTo()
}

// rollbackTarget is the stable revision in a release, the last stable one after it, or the one that
// was named by its revision or commit; nil and the problem if there is none.
func (l *look) rollbackTarget(asked string) (*Kept, noTargetError) {
	target, why := l.stable(l.before()), noStable
	if asked != Previous {
		target, why = l.named(asked)
	}
	problem := noTargetError{asked: asked, why: why, kept: l.Kept}
	switch {
	case target == nil:
		return nil, problem
	case target.Revision == l.record.UpdateRevision && l.completed() && !l.unrecorded():
		problem.why, problem.revision = runsAlready, target.Revision
		return nil, problem
	case asked == Previous && l.releasing(target.Revision, target.Digest):
		problem.why, problem.revision = isReleased, target.Revision
		return nil, problem
	default:
		return target, noTargetError{}
	}
}

// releasing reports whether a revision, or another of the same template, is the one that is being released. Where the workload had its
// template already, and not all pods ran it, it is the stable one too: to go back to that would be to go on without gates.
func (l *look) releasing(revision, digest string) bool {
	if revision == "" || l.completed() || l.isRollback() || l.unrecorded() {
		return false
	}
	released := l.record.Resolved
	return revision == l.record.UpdateRevision || released != nil && digest == released.Digest
}

// before is the revision to go back to: the stable one in a release, the last stable one after it. In the
// first release the status has no stable one before the pass that takes the workload over has written it.
func (l *look) before() string {
	annotations := l.Release.Annotations
	switch {
	case l.unrecorded():
		return annotations[v1alpha1.CurrentStableAnnotation]
	case l.completed():
		return annotations[v1alpha1.LastStableAnnotation]
	case l.record.StableRevision != "":
		return l.record.StableRevision
	case l.held():
		return annotations[v1alpha1.CurrentStableAnnotation]
	case l.record.Resolved != nil:
		return l.Workload.Revision
	default:
		return annotations[v1alpha1.LastStableAnnotation]
	}
}

// unkept reports whether the target of the rollback runs, and nothing has kept it yet: a first release is to be rolled back
// before its workload is taken over.
func (l *look) unkept() bool {
	before := l.before()
	return before == l.Workload.Revision && l.record.StableRevision == "" && l.stable(before) == nil && !l.releasing(before, l.Workload.Digest)
}

// keepForRollback keeps what runs. It reports whether that is to be done first.
func keepForRollback(d Decision) (Decision, bool) {
	planned := len(d.actions)
	d, kept := keepBefore(d)
	if kept && len(d.actions) == planned {
		return answerTarget(d, Previous)
	}
	return d, true
}

// unrecorded reports whether a pass that died before it wrote its status has begun a release: the workload is
// taken over, and the status is from before that.
func (l *look) unrecorded() bool {
	w, resolved := l.Workload, l.record.Resolved
	if !l.held() || !w.secured() {
		return false
	}
	return resolved == nil || l.completed() && w.Digest != resolved.Digest
}

// abbreviated is a commit, in full or at least as much of it as people quote.
var abbreviated = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// named finds a stable template by its revision, or else by the commit that brought it.
func (l *look) named(asked string) (*Kept, targetProblem) {
	if kept := l.kept(asked); kept != nil {
		if kept.stable() {
			return kept, 0
		}
		return nil, wasRolledBack
	}
	commit := strings.ToLower(asked)
	if !abbreviated.MatchString(commit) {
		return nil, unknownRevision
	}
	var found []*Kept
	for i := range l.Kept {
		if k := &l.Kept[i]; k.stable() && strings.HasPrefix(k.Commit, commit) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return nil, unknownCommit
	case 1:
		return found[0], 0
	default:
		return nil, ambiguousCommit
	}
}

// targetProblem is why there is nothing to roll back to.
type targetProblem int

const (
	noStable targetProblem = iota + 1
	wasRolledBack
	unknownRevision
	unknownCommit
	ambiguousCommit
	runsAlready
	isReleased
)

// noTargetError is a requested target that is missing.
type noTargetError struct {
	asked    string
	why      targetProblem
	revision string
	kept     []Kept
}

// rollBack makes a rollback durable before anything is done for it: from here on nothing raises the
// bad revision again, and the template that brought it is not released as long as nothing else is given.
func rollBack(l *look, target *Kept, why v1alpha1.RollbackRecord) Decision {
	if why.From = l.leftFor(target.Revision); l.unrecorded() && l.Workload.Revision != target.Revision {
		why.From = l.Workload.Revision
	}
	why.InGit = l.gives(why.From)
	given := l.Given
	if current := l.record.Resolved; current != nil && !slices.Contains(l.record.Quarantined, given) {
		given = current.Given
	}
	d := quarantine(nothing(l), given)
	queued := d.record.Queued
	d = begin(d, v1alpha1.ResolvedTemplate{Given: given, Digest: target.Digest, Revision: target.Revision}, &why)
	if queued != nil && !slices.Contains(d.record.Quarantined, queued.Given) {
		d = d.with(func(r *record) { r.Queued = queued })
	}
	d.records = recordLeft(d).actions // nothing else has it if the status is lost
	return d.first()
}

// gives reports whether Git gives the template of a revision that a rollback leaves, and not one that waits.
func (l *look) gives(from string) bool {
	if l.rollingBack() {
		return l.record.Rollback.InGit
	}
	current := l.record.Resolved
	return current != nil && current.Given == l.Given && l.record.UpdateRevision == from
}

// left is the revision that a rollback leaves: the one that is, or was last, released. A rollback that is
// sent elsewhere on its way leaves what it left before. A release that has not begun, which waits for room for example, has
// nothing to leave: the version that runs is left.
func (l *look) left() string {
	if l.rollingBack() {
		return l.record.Rollback.From
	}
	if runs := l.Release.Annotations[v1alpha1.CurrentStableAnnotation]; l.record.Phase == v1alpha1.PhaseInitial && !l.held() && runs != "" {
		return runs
	}
	return cmp.Or(l.record.UpdateRevision, l.Workload.Revision)
}

// leftFor is the revision that a rollback to another one leaves; empty if nobody knows. Where the status was lost after the
// workload had been given the template to go back to, only the history knows: it had what is left before that.
func (l *look) leftFor(to string) string {
	if left := l.left(); left != to {
		return left
	}
	if left := l.record.UpdateRevision; left != to {
		return cmp.Or(left, l.lastKeptBeside(to))
	}
	return ""
}

// lastKeptBeside is what the workload had before a version, by the history of a release whose status was lost while it held the workload; empty
// otherwise. That is what the release names as stable, or else the last that was rolled back: what is left is not to be gone back to, and
// the other stable ones are.
func (l *look) lastKeptBeside(revision string) string {
	if !l.forgotten() || !l.held() {
		return ""
	}
	if named := l.stable(l.Release.Annotations[v1alpha1.CurrentStableAnnotation]); named != nil && named.Revision != revision {
		return named.Revision
	}
	last := Kept{}
	for _, k := range l.Kept {
		if k.Revision != revision && !k.stable() && k.Number > last.Number {
			last = k
		}
	}
	return last.Revision
}

// quarantine keeps a template, as given, from being released until another one is given.
func quarantine(d Decision, given string) Decision {
	known := d.record.Quarantined
	if given == "" || slices.Contains(known, given) {
		return d
	}
	return d.with(func(r *record) { r.Quarantined = append(slices.Clone(known), given) })
}

// rolledBackAs reports whether a template is the one that was rolled back, written in another way: a quantity, an empty list
// or the pod-template-hash label makes no other version of it. If another template waited then, Git has changed since.
func (l *look) rolledBackAs(template *v1alpha1.ResolvedTemplate) bool {
	back := l.record.Rollback
	if back == nil || !back.InGit || len(l.record.Quarantined) == 0 {
		return false
	}
	bad := l.kept(back.From)
	return bad != nil && bad.Digest == template.Digest
}

// quarantined reports whether the template that is given was rolled back.
func (l *look) quarantined() bool { return slices.Contains(l.record.Quarantined, l.Given) }

// rollBackFailed turns a release round that has failed, if its strategy says so. It reports whether it
// does. A rollback that fails has no version to go back to.
func rollBackFailed(d Decision) (Decision, bool) {
	if d.Release.Spec.Strategy.OnFailure != v1alpha1.FailureRollback {
		return d, false
	}
	return turnBack(d, v1alpha1.TriggerDeadline, d.failureWords())
}

// turnBack goes back to the version before of its own accord, if this is a release and there is one.
// Only what is being released is quarantined: what was given since may be what fixes it.
func turnBack(d Decision, trigger v1alpha1.RollbackTrigger, message string) (Decision, bool) {
	target := d.stable(d.record.StableRevision)
	if d.isRollback() || target == nil || target.Revision == d.record.UpdateRevision {
		return d, false
	}
	return rollBack(d.look, target, v1alpha1.RollbackRecord{Trigger: trigger, Message: bounded(message)}), true
}

// rollBackRejected turns a release round if a gate of the step was rejected that says so. It reports whether it does.
func rollBackRejected(d Decision) (Decision, bool) {
	if d.isRollback() {
		return d, false
	}
	for _, w := range d.waitsFor() {
		if w.gate == nil || w.gate.Status.Decision != v1alpha1.DecisionRejected || w.policy.OnReject != v1alpha1.RejectRollback {
			continue
		}
		if !d.Live.Has(ReadGates) { // it may wait again: a pull request can be opened again
			return d.read(ReadGates), false
		}
		if back, turns := turnBack(d, v1alpha1.TriggerGateRejected, d.rejectionWords(w.gate)); turns {
			return back, true
		}
	}
	return d, false
}

// wasStable reports whether a template is one that can be gone back to without asking anybody. It is not if a rollback
// in progress leaves it, or was sent past it to an earlier one.
func (l *look) wasStable(digest string) bool {
	current, k := l.Release.Annotations[v1alpha1.CurrentStableAnnotation], l.keptAs(digest)
	if k == nil || !k.stable() {
		return false
	}
	return !l.rollingBack() || k.Revision == l.record.RolledBackTo() || k.Revision != l.left() && k.Revision != current
}

// agree ends the record of a rollback that Git did not request and has followed since, by the pull request of its revert for
// example: what runs is what is given, as after a revert in Git.
func agree(d Decision) Decision {
	back, resolved := d.record.Rollback, d.record.Resolved
	switch {
	case back == nil || back.Trigger == v1alpha1.TriggerGitRevert || back.Trigger == v1alpha1.TriggerDrift:
		return d
	case len(d.record.Quarantined) > 0 || d.Given == "" || resolved == nil || resolved.Given != d.Given:
		return d
	}
	return recordEnd(d).with(func(r *record) {
		r.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerGitRevert, From: back.From, Message: d.revertMessage()}
		d.setCommit(r)
	})
}

func (l *look) revertMessage() string {
	commit := l.Release.Annotations[v1alpha1.CommitAnnotation]
	if commit == "" {
		return "spec.template is one that was stable before"
	}
	return "commit " + commit + " brings back a template that was stable before"
}

// endReplaced marks the version that a rollback leaves in the history, if the workload was created again meanwhile:
// the status will be about the new workload. It reports whether the pass ends with that.
func endReplaced(d Decision) (Decision, bool) {
	before := d.with(func(r *record) { *r = recordOf(d.Release) })
	to := before.record.RolledBackTo()
	switch {
	case !before.anotherWorkload() || !before.rollingBack() || len(before.wereStable(to)) == 0:
		return d, false
	case !d.Live.Has(ReadKept):
		return before.read(ReadKept), true
	}
	before, _ = markRolledBack(before, to)
	return before, true
}

// endRollback ends a rollback in progress, because another template is released now. What
// was being rolled back to stays the version to go back to, not the bad one.
func endRollback(d Decision) Decision {
	if !d.rollingBack() {
		return d
	}
	to := d.record.RolledBackTo()
	d = d.with(func(r *record) { r.StableRevision = to })
	d, _ = markRolledBack(d, to)
	d, _ = markStable(d, to)
	return d
}
