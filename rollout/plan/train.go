package plan

import (
	"cmp"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/train"
)

// A train is a release with members. It moves no pods: it lets its members start steps
// (status.run), and reads how far they are (their status.train). Each member reads what it may do,
// and moves its own pods. Which members a run has is decided once, when it begins.

// isTrain reports whether a release is a train.
func isTrain(s *snapshot) bool { return len(s.release.Spec.Members) > 0 }

// trainRequests are answered in this order. Each reports whether there is nothing else to decide
// until that is done.
var trainRequests = []func(Decision) (Decision, bool){refuseJumps, answerTrainRollback, answerTrainRetry, chooseRun}

// decideTrain answers what is requested of a train, and then continues its run.
func decideTrain(d Decision) Decision {
	for _, request := range trainRequests {
		var ended bool
		if d, ended = request(d); ended {
			return d
		}
	}
	switch {
	case d.snap.record.idle():
		return turnAfterRun(d)
	case d.snap.record.Attempt == d.snap.release.Status.Attempt && !d.snap.obs.Begun:
		d = closeGates(d, "a new attempt voids the gates of the one before")
	}
	switch d.snap.record.Phase {
	case v1alpha1.PhaseRollingBack:
		return returnTogether(d)
	case v1alpha1.PhaseFinalizing:
		return endTogether(d)
	default:
		return runTrain(d)
	}
}

// refuseJumps removes a requested jump: all members share the steps of a train.
func refuseJumps(d Decision) (Decision, bool) {
	if d.snap.record.NextStepIndex == nil {
		return d, false
	}
	to := *d.snap.record.NextStepIndex
	return d.with(func(r *record) { r.NextStepIndex = nil }).tell(jumpRefused{to, byOperator, OfTrain, len(d.snap.steps().list())}), false
}

// chooseRun begins a run when the templates of the members are new ones.
func chooseRun(d Decision) (Decision, bool) {
	current := d.snap.record.Resolved
	switch {
	case d.snap.problem != nil, d.snap.given == "", current != nil && current.Given == d.snap.given, isQuarantined(d.snap):
		return dropQueued(d), false
	}
	next := v1alpha1.ResolvedTemplate{Given: d.snap.given, Digest: d.snap.given, Revision: runName(d.snap.given)}
	if stopCauses(d.snap).any() || runFinishesFirst(d.snap) {
		return enqueue(d, next), false
	}
	if reads := ReadMembers | ReadRelease; !d.snap.live(reads) {
		return d.read(reads), true
	}
	changed := changedMembers(d.snap)
	switch {
	case d.snap.record.completed() && d.snap.record.Queued != nil:
		return dropQueued(d).first(), true
	case undoesRun(d.snap, changed) && !d.snap.record.completed():
		return turnTrain(d, v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerGitRevert, Message: revertMessage(d.snap)}, &next, wholeRun), true
	}
	return beginRun(d, next, changed), true
}

// runName returns the revision of a train with the templates of a digest.
func runName(given string) string { return given[:min(len(given), runNameLength)] }

const runNameLength = 10

// runFinishesFirst reports whether the run in progress ends before the next one begins: it returns,
// has been through, or the strategy says so. One that can't go on by itself does not delay what may
// fix it.
func runFinishesFirst(s *snapshot) bool {
	switch {
	case s.record.idle():
		return false
	case s.record.Phase == v1alpha1.PhaseFinalizing, s.record.rollingBack():
		return failedMember(s) == nil
	default:
		gone := func(m riding) bool { return m.lacks() || m.found == nil && !m.run.Returns } // it can't begin, or go on, any more
		lacking := slices.ContainsFunc(ridingsOf(s), gone)
		return s.release.Spec.Strategy.Supersede == v1alpha1.SupersedeQueue && failedMember(s) == nil && !s.gates().rejected() && !lacking
	}
}

// beginRun begins a run of the members that a commit changes. One that changes none has completed.
func beginRun(d Decision, next v1alpha1.ResolvedTemplate, changed []v1alpha1.RunMember) Decision {
	before, done, stable := d.snap.record.UpdateRevision, d.snap.record.completed(), stableCommitOf(&d.snap.record)
	d = begin(d, next, nil).with(func(r *record) {
		r.Run, r.Quarantined = &v1alpha1.TrainRun{Members: changed, StableCommit: stable}, nil
		r.Phase, r.CurrentStepState = v1alpha1.PhaseRollingUpdate, v1alpha1.StepUpgrade
		r.StepStartedAt = d.snap.time()
		r.Attempt = max(r.Attempt, afterMembers(d.snap))
		if done {
			r.StableRevision = before
		}
		if len(changed) == 0 {
			r.Phase, r.CurrentStepState = v1alpha1.PhaseCompleted, v1alpha1.StepCompleted
		}
	})
	return d.first()
}

// afterMembers returns an attempt of which no member has anything on record, also not of a train
// that had the name before and was deleted.
func afterMembers(s *snapshot) int64 {
	var last int64
	for i := range s.obs.Members {
		if at := s.obs.Members[i].Release.Status.Train; at != nil && at.Attempt < math.MaxInt64 {
			last = max(last, at.Attempt)
		}
	}
	return last + 1
}

// stableCommitOf returns the commit of the last run that all members completed. Gates are about the
// commits after it.
func stableCommitOf(r *record) string {
	returns := func(m v1alpha1.RunMember) bool { return m.Returns }
	switch {
	case r.Run == nil:
		return ""
	case r.completed() && !r.isRollback() && !slices.ContainsFunc(r.Run.Members, returns):
		return r.Commit
	default:
		return r.Run.StableCommit
	}
}

// changedMembers returns the members that do not run the templates of the commit.
func changedMembers(s *snapshot) []v1alpha1.RunMember {
	var changed []v1alpha1.RunMember
	for _, template := range s.release.Spec.MemberTemplates {
		was, rests := ranBefore(s, template.Name)
		if rests && was == template.Template {
			continue
		}
		changed = append(changed, v1alpha1.RunMember{Name: template.Name, Group: template.Group, Template: template.Template, Was: was})
	}
	return changed
}

// ranBefore returns the template that a member ran, as given, before what it does now, and whether
// it still does: it is in no release. The template is empty if unknown.
func ranBefore(s *snapshot, name string) (given string, rests bool) {
	found, before := memberOf(s, name), runMemberOf(&s.record, name)
	switch {
	case found == nil:
		return "", false
	case found.Release.Status.Resolved == nil || found.Release.Status.Phase != v1alpha1.PhaseCompleted:
	case runsGiven(&found.Release.Status, found.Release.Status.Resolved.Given):
		return found.Release.Status.Resolved.Given, true
	default: // it was rolled back
		rests = true
	}
	if before == nil || rests && before.Revision != found.Release.Status.UpdateRevision {
		return "", rests
	}
	return before.Was, rests
}

// undoesRun reports whether all members of the run in progress are to have what they ran before it.
func undoesRun(s *snapshot, changed []v1alpha1.RunMember) bool {
	if s.record.idle() || s.record.rollingBack() {
		return false
	}
	for _, member := range s.record.Run.Members {
		at := slices.IndexFunc(s.release.Spec.MemberTemplates, func(t v1alpha1.MemberTemplate) bool { return t.Name == member.Name })
		if at < 0 || member.Was == "" || s.release.Spec.MemberTemplates[at].Template != member.Was {
			return false
		}
	}
	return !slices.ContainsFunc(changed, func(m v1alpha1.RunMember) bool { return runMemberOf(&s.record, m.Name) == nil })
}

// memberOf returns a member that was observed; nil if there is none.
func memberOf(s *snapshot, name string) *Member {
	for i := range s.obs.Members {
		if s.obs.Members[i].Release.Name == name {
			return &s.obs.Members[i]
		}
	}
	return nil
}

// runMemberOf returns a member of the recorded run; nil if it has none.
func runMemberOf(r *record, name string) *v1alpha1.RunMember {
	if r.Run == nil {
		return nil
	}
	for i := range r.Run.Members {
		if r.Run.Members[i].Name == name {
			return &r.Run.Members[i]
		}
	}
	return nil
}

// orderOf returns the order of the members of a train.
func orderOf(spec *v1alpha1.BatchReleaseSpec) train.Order {
	order, last := train.Order{}, int32(len(spec.Strategy.Steps))
	for _, member := range spec.Members {
		for _, after := range member.After {
			reached := last
			if after.Reached != nil && after.Reached.Type == intstr.Int {
				reached = after.Reached.IntVal
			}
			order[member.Name] = append(order[member.Name], train.Edge{Group: after.Member, Reached: reached})
		}
	}
	return order
}

// rulesOf returns the limits of a run.
func rulesOf(spec *v1alpha1.BatchReleaseSpec, passed int32) train.Rules {
	return train.Rules{Order: orderOf(spec), Steps: int32(len(spec.Strategy.Steps)), Passed: passed, MaxSkew: spec.Strategy.Lockstep.Steps()}
}

// nextGates returns the first step, from one on, that has gates, or is the last.
func nextGates(spec *v1alpha1.BatchReleaseSpec, step int32) int32 {
	asks := func(p v1alpha1.GatePolicy) bool { return p.None == nil }
	for ; int(step) < len(spec.Strategy.Steps)-1; step++ {
		if slices.ContainsFunc(spec.Gates(false, int(step)), asks) {
			break
		}
	}
	return step
}

// withRun changes the members of the recorded run. The stored ones stay as they are.
func (d Decision) withRun(change func(*v1alpha1.RunMember)) Decision {
	run := *d.snap.record.Run
	run.Members = slices.Clone(run.Members)
	for i := range run.Members {
		change(&run.Members[i])
	}
	return d.with(func(r *record) { r.Run = &run })
}

// answerTrainRollback records the rollback that the annotation requests, then removes the
// annotation.
func answerTrainRollback(d Decision) (Decision, bool) {
	asked, found := d.snap.release.Annotations[v1alpha1.RollbackAnnotation]
	if !found {
		return d, false
	}
	remove := answered(d.snap.release, v1alpha1.RollbackAnnotation)
	r := &d.snap.record
	switch {
	case r.rollingBack():
		return d.do(Annotate{Reason: "the rollback is recorded", Remove: remove}), false
	case asked != Previous:
		problem := noTargetError{asked: asked, why: onlyPrevious}
		return d.do(Annotate{Reason: Reason(problem.words()), Remove: remove}).tell(notFound{problem}), false
	case r.Run == nil || len(r.Run.Members) == 0 || r.completed() && r.isRollback():
		problem := noTargetError{asked: asked, why: noRun}
		return d.do(Annotate{Reason: Reason(problem.words()), Remove: remove}).tell(notFound{problem}), false
	}
	d = quarantine(d, d.snap.given)
	return turnTrain(d, v1alpha1.RollbackRecord{
		Trigger: v1alpha1.TriggerAnnotation, Message: bounded("rollback=" + asked + " was requested"), By: requestedBy(d.snap.release),
	}, nil, wholeRun), true
}

// answerTrainRetry lets the members go on that have failed, then removes the annotation.
func answerTrainRetry(d Decision) (Decision, bool) {
	if _, found := d.snap.release.Annotations[v1alpha1.RetryAnnotation]; !found {
		return d, false
	}
	for _, m := range ridingsOf(d.snap) {
		if m.failed() {
			d = d.do(RetryMember{Reason: "the train is retried", Name: m.run.Name, Version: m.found.Release.ResourceVersion})
		}
	}
	return d.do(Annotate{Reason: retryRecorded, Remove: answered(d.snap.release, v1alpha1.RetryAnnotation)}), false
}

// wholeRun selects all members of a run.
func wholeRun(*v1alpha1.RunMember) bool { return true }

// turnTrain has members of the run return to the templates that they ran before it. given has the
// templates to which Git reverts; nil if Git has not changed.
func turnTrain(d Decision, why v1alpha1.RollbackRecord, given *v1alpha1.ResolvedTemplate, scope func(*v1alpha1.RunMember) bool) Decision {
	left, stable := d.snap.record.Resolved, d.snap.record.StableRevision
	run := &v1alpha1.TrainRun{
		Members: slices.Clone(d.snap.record.Run.Members), Message: why.Message, StableCommit: d.snap.record.Run.StableCommit,
	}
	run.Members = slices.DeleteFunc(run.Members, func(m v1alpha1.RunMember) bool { return !scope(&m) })
	why.From = d.snap.record.UpdateRevision
	to := v1alpha1.ResolvedTemplate{Given: left.Given, Digest: left.Digest, Revision: cmp.Or(stable, "-")}
	if given != nil {
		to.Given, to.Digest = given.Given, given.Digest
	} else {
		d = quarantine(d, left.Given)
	}
	d = begin(d, to, &why).with(func(r *record) { r.Run = run })
	d = d.withRun(func(m *v1alpha1.RunMember) { m.Returns, m.Back, m.Steps = true, false, 0 })
	return d.with(func(r *record) { r.StepStartedAt, r.CurrentStepState = d.snap.time(), v1alpha1.StepUpgrade }).first()
}
