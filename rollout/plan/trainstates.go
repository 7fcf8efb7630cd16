package plan

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// trains are the states of a train. It has no workload, and acts in all of them by decideTrain.
var trains = group{when: isTrain, rows: []*state{
	{
		when: func(s *snapshot) bool { return s.record.idle() && s.record.Queued != nil && stopCauses(s).any() }, value: v1alpha1.StateWaiting,
		reason: stopReason, message: waitingWords, traits: stops | gone,
	},
	{
		when: func(s *snapshot) bool { return s.record.idle() && s.pastGit }, value: v1alpha1.StateChangedPastGit,
		reason: just(v1alpha1.ReasonChangedPastGit), message: just(pastGitWords), event: notice{onEntry, true}, traits: gone,
	},
	{
		when: func(s *snapshot) bool { return s.record.completed() && s.record.isRollback() }, value: v1alpha1.StateCompleted, reason: just(v1alpha1.ReasonRolledBack),
		message: returnedWords, event: notice{onEntry, false}, traits: ready | gone,
	},
	{
		when: func(s *snapshot) bool { return s.record.completed() }, value: v1alpha1.StateCompleted, reason: just(v1alpha1.ReasonCompleted),
		message: runDoneWords, event: notice{onEntry, false}, traits: ready | gone,
	},
	{
		when: func(s *snapshot) bool { return s.record.idle() }, value: v1alpha1.StateIdle,
		reason: just(v1alpha1.ReasonNoTemplate), message: just(noRunText), stall: stalls{cause: v1alpha1.StallNoTemplate}, traits: gone,
	},
	{
		when: func(s *snapshot) bool { return failedMember(s) != nil }, value: v1alpha1.StateFailed, reason: just(v1alpha1.ReasonMemberFailed),
		message: memberFailedWords, event: notice{onEntry, true}, stall: stalls{cause: v1alpha1.StallDeadlineExceeded, told: true}, traits: gone,
	},
	{
		when: func(s *snapshot) bool { return stopsProgress(s).any() }, value: v1alpha1.StateStopped,
		reason: stopReason, message: stoppedInBatchWords, traits: stops | gone,
	},
	{
		when: func(s *snapshot) bool { return s.record.Phase == v1alpha1.PhaseFinalizing }, value: v1alpha1.StateFinishing,
		reason: just(v1alpha1.ReasonHandingBack), message: membersWords("handing back"), traits: gone,
	},
	{
		when: func(s *snapshot) bool { return rejectedOf(openGatesOf(s)) != nil }, value: v1alpha1.StateRejected, reason: just(v1alpha1.ReasonGateRejected),
		message: rejectedWords, event: notice{onEntry, true}, stall: stalls{cause: v1alpha1.StallGateRejected, told: true, last: true}, traits: gone,
	},
	{
		when: func(s *snapshot) bool { return refusedOf(openGatesOf(s)) }, value: v1alpha1.StateApprovalRefused,
		reason: just(v1alpha1.ReasonApprovalRefused), message: blockedWords, event: notice{onEntry, true}, traits: gone,
	},
	{
		when: func(s *snapshot) bool { return len(openGatesOf(s)) > 0 }, value: v1alpha1.StateBlocked,
		reason: just(v1alpha1.ReasonBlocking), message: blockedTrainWords, event: notice{onEntry, false}, traits: gone,
	},
	{when: func(s *snapshot) bool { return s.record.rollingBack() }, value: v1alpha1.StateRolling, reason: just(v1alpha1.ReasonRollingBack), message: membersWords("returning")},
	{when: always, value: v1alpha1.StateRolling, reason: upgradeReason, message: membersWords("")},
}}

const noRunText = "spec.memberTemplates is missing: the ReleaseSource of the train writes it; a train that is applied by hand releases nothing"

func runDoneWords(r *report) string {
	run := r.s.record.Run
	if run == nil || len(run.Members) == 0 {
		return "all members run their templates"
	}
	var back int
	for _, m := range run.Members {
		if m.Returns {
			back++
		}
	}
	words := fmt.Sprintf("%s released", membersCount(len(run.Members)-back))
	if back > 0 {
		words += fmt.Sprintf(", %s returned: %s", membersCount(back), run.Message)
	}
	return words
}

func returnedWords(r *report) string {
	return fmt.Sprintf("%s returned: %s", membersCount(len(r.s.record.Run.Members)), r.s.record.Rollback.Message)
}

func membersCount(n int) string {
	if n == 1 {
		return "1 member"
	}
	return fmt.Sprintf("%d members", n)
}

func memberFailedWords(r *report) string {
	m := failedMember(r.s)
	return m.failureWords() + fmt.Sprintf("; to continue: sluice retry %s -n %s", r.s.release.Name, r.s.release.Namespace)
}

// membersWords says how many members are through, and for which one the train waits.
func membersWords(what string) func(*report) string {
	return func(r *report) string {
		all := ridingsOf(r.s)
		passed := r.s.record.Run.Passed
		done := func(m riding) bool {
			if m.run.Returns {
				return m.returned()
			}
			return m.through() || r.s.record.Phase != v1alpha1.PhaseFinalizing && m.done > passed
		}
		n := 0
		for _, m := range all {
			if done(m) {
				n++
			}
		}
		words := fmt.Sprintf("%d of %s done", n, membersCount(len(all)))
		switch {
		case what == "":
			words = "batch " + r.status.Batch + ": " + words
		default:
			words = what + ": " + words
		}
		if m := holderOf(all, done); m != nil {
			words += ", waiting for " + m.waitWords()
		}
		return words
	}
}

// blockedTrainWords names the gates that a train waits for, and a member that has fallen ill since
// they were asked: they pass once it is well.
func blockedTrainWords(r *report) string {
	words := blockedWords(r)
	on, members := going(ridingsOf(r.s))
	reach := rulesOf(&r.s.release.Spec, r.s.record.Run.Passed).Reach(members)
	if m := holderOf(on, func(m riding) bool { return m.done >= reach[m.run.Name] }); m != nil {
		words += ", and for " + m.waitWords()
	}
	return words
}

// holderOf returns the member that a train waits for: one that does not go on by itself first.
func holderOf(all []riding, done func(riding) bool) *riding {
	waits := func(m riding) bool { return !done(m) }
	at := slices.IndexFunc(all, func(m riding) bool { return waits(m) && m.stopped() })
	if at < 0 {
		at = slices.IndexFunc(all, func(m riding) bool { return waits(m) && (m.run.Steps > m.done || m.run.Back) })
	}
	if at < 0 {
		return nil
	}
	return &all[at]
}

// waitWords names a member, and says what it waits for.
func (m riding) waitWords() string {
	switch {
	case m.found == nil:
		return m.run.Name + ", which does not exist"
	case m.lacks():
		return m.run.Name + ", which does not have the template of the commit"
	case !m.ofRun() && len(m.found.Release.Status.StoppedBy) == 0:
		return m.run.Name + ", which has not begun"
	case m.found.Release.WaitsForTrain(): // it is yet to read that it may go on
		return m.run.Name
	default:
		return fmt.Sprintf("%s (%s)", m.run.Name, m.found.Release.Status.Message)
	}
}

// returningWords says that a member waits for its turn to return.
func returningWords(s *snapshot) string {
	r := s.ride()
	return fmt.Sprintf("train %s returns (%s), and members that come after this one return first", r.train.Name, r.train.Status.Run.Message)
}

// trainWaitWords says that a member waits for its train.
func trainWaitWords(s *snapshot) string {
	r := s.ride()
	switch {
	case r.train == nil:
		return fmt.Sprintf("waiting for train %s, which has not begun or does not exist", s.release.Spec.Train)
	case r.member == nil && !slices.ContainsFunc(r.train.Spec.MemberTemplates, func(t v1alpha1.MemberTemplate) bool { return t.Name == s.release.Name }):
		return fmt.Sprintf("train %s does not have this release as a member any more: delete the release, or roll it back", r.train.Name)
	case r.member == nil:
		return fmt.Sprintf("waiting for the next run of train %s", r.train.Name)
	default:
		return "waiting for train " + r.train.Name
	}
}

// lockstepWords says that a member waits within a step until the others have as many updated pods.
func lockstepWords(r *report) string {
	words := fmt.Sprintf("batch %s: %d of %s updated, %s", r.status.Batch, r.s.pods.available(), podsWord(r.s.record.TargetReplicas), trainWaitWords(r.s))
	if share := r.s.ride().train.Status.Run.UpdatedPercent; share != nil {
		words += fmt.Sprintf(": all members are to have %d%% of their pods updated first", *share)
	}
	return words
}

// tooManyMembers reports whether a commit changes more members of a train than its limit.
func tooManyMembers(s *snapshot) bool {
	most := s.release.Spec.Strategy.MaxMembers
	if !isTrain(s) || most == nil || s.given == "" || s.record.Resolved != nil && s.record.Resolved.Given == s.given {
		return false
	}
	return int32(changes(s)) > *most
}

// changes returns how many members a commit changes that were released before.
func changes(s *snapshot) int {
	n := 0
	for _, m := range changedMembers(s) {
		if found := memberOf(s, m.Name); found != nil && found.Release.Status.Resolved != nil {
			n++
		}
	}
	return n
}

func tooManyWords(s *snapshot) string {
	return fmt.Sprintf("the commit changes %d members, and strategy.maxMembers is %d: raise it in Git to release them together",
		changes(s), *s.release.Spec.Strategy.MaxMembers)
}

// queuedByTrain reports whether a template waits for the train of the release.
func queuedByTrain(s *snapshot) bool {
	return s.record.Queued != nil && !s.ride().starts(s.record.Queued.Given)
}

func queuedByTrainWords(r *report) string {
	return "revision " + r.s.record.Queued.Revision + " waits: " + trainWaitWords(r.s)
}
