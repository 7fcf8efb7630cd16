package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/train"
)

// riding is how far a member of a run is.
type riding struct {
	run *v1alpha1.RunMember
	// found is nil if the member does not exist.
	found *Member
	// train is the name of the train, and attempt its attempt.
	train   string
	attempt int64
	// done is how many steps it has done in this run, and last how many there are.
	done, last int32
}

// ridingsOf returns how far the members of the recorded run are. A step counts only if the member
// did it in this run, with the template of the run, and has seen its latest spec.
func ridingsOf(s *snapshot) []riding {
	if s.record.Run == nil {
		return nil
	}
	all := make([]riding, 0, len(s.record.Run.Members))
	found := make(map[string]*Member, len(s.obs.Members))
	for i := range s.obs.Members {
		found[s.obs.Members[i].Release.Name] = &s.obs.Members[i]
	}
	for i := range s.record.Run.Members {
		run := &s.record.Run.Members[i]
		at := riding{run: run, found: found[run.Name], train: s.release.Name, attempt: s.record.Attempt, last: int32(len(s.release.Spec.Strategy.Steps))}
		at.done = at.steps()
		all = append(all, at)
	}
	return all
}

// steps returns how many steps the member has done.
func (m riding) steps() int32 {
	switch {
	case m.found == nil:
		return 0
	case m.through():
		return m.last
	case m.ofRun() && m.found.Release.Status.Rollback == nil:
		return min(m.found.Release.Status.Train.Done, m.last)
	default:
		return 0
	}
}

// current reports whether the status of the member is about its spec.
func (m riding) current() bool {
	release := m.found.Release
	return release.Status.ObservedGeneration == release.Generation && release.DeletionTimestamp == nil
}

// through reports whether the member has completed with the template of the run.
func (m riding) through() bool {
	return m.found != nil && m.current() && runsGiven(&m.found.Release.Status, m.run.Template)
}

// lacks reports whether the member has not begun and does not have the template of the run: Git has
// another one by now, or the template is yet to be applied.
func (m riding) lacks() bool {
	return m.found != nil && m.found.Given != m.run.Template && !m.ofRun() && !m.through()
}

// inRun returns how far the member says that it is in this run; nil if it says nothing of it.
func (m riding) inRun() *v1alpha1.TrainProgress {
	if at := m.found.Release.Status.Train; at != nil && at.Train == m.train && at.Attempt == m.attempt {
		return at
	}
	return nil
}

// ofRun reports whether the member's attempt is of this run.
func (m riding) ofRun() bool {
	if m.found == nil || !m.current() {
		return false
	}
	status := &m.found.Release.Status
	return m.inRun() != nil && status.Resolved != nil && status.Resolved.Given == m.run.Template
}

// failed reports whether the member made no progress within its deadline.
func (m riding) failed() bool {
	return m.found != nil && m.found.Release.Status.Phase == v1alpha1.PhaseFailed
}

// turned reports whether the member returned in this run though the train does not.
func (m riding) turned() bool {
	if m.refused() {
		return true
	}
	if !m.ofRun() || m.run.Returns || m.found.Release.Status.Rollback == nil {
		return false
	}
	trigger := m.found.Release.Status.Rollback.Trigger
	return trigger != v1alpha1.TriggerGitRevert && trigger != v1alpha1.TriggerDrift
}

// refused reports whether a user rolled the member back before it began.
func (m riding) refused() bool {
	if m.found == nil || m.run.Returns {
		return false
	}
	at := m.inRun()
	return at != nil && at.Answer == v1alpha1.MemberRefused
}

// returned reports whether the member runs what it ran before the run: it was rolled back in it, or
// has not begun it.
func (m riding) returned() bool {
	if m.found == nil {
		return true
	}
	status := &m.found.Release.Status
	at := m.inRun()
	ofRun := at != nil
	switch {
	case status.Resolved == nil, ofRun && at.Answer == v1alpha1.MemberCannotReturn:
		return true
	case status.Phase != v1alpha1.PhaseCompleted:
		return false
	case ofRun && status.Rollback != nil:
		return true
	default:
		return !runsGiven(status, m.run.Template)
	}
}

// stopped reports whether the member does not go on.
func (m riding) stopped() bool {
	return m.found == nil || !m.through() && (!m.current() || m.lacks() || m.failed() && m.ofRun() || len(m.found.Release.Status.StoppedBy) > 0)
}

// failedMember returns a member of the run that has failed; nil if none has.
func failedMember(s *snapshot) *riding {
	for _, m := range ridingsOf(s) {
		if m.failed() && (m.ofRun() || m.run.Returns) {
			return &m
		}
	}
	return nil
}

// going returns the members that the train does not have return, as their order sees them.
func going(all []riding) ([]riding, []train.Member) {
	all = slices.DeleteFunc(slices.Clone(all), func(m riding) bool { return m.run.Returns })
	return all, inOrder(all)
}

func inOrder(all []riding) []train.Member {
	members := make([]train.Member, 0, len(all))
	for _, m := range all {
		members = append(members, train.Member{Name: m.run.Name, Group: m.run.Group, Done: m.done, Returned: m.returned()})
	}
	return members
}

// runTrain lets the members start steps, and asks for the gates once they have done as many as they
// can without.
func runTrain(d Decision) Decision {
	d = countMembers(d)
	d, turned := turnForMember(d)
	if turned || d.needs.Any() {
		return d
	}
	if d = letReturn(d); d.needs.Any() {
		return d
	}
	on, members := going(ridingsOf(d.snap))
	if stopsProgress(d.snap).any() || d.snap.problem != nil || slices.ContainsFunc(on, riding.stopped) {
		return d
	}
	for range d.snap.steps().list() {
		if d = letStart(d, on, members); d.needs.Any() {
			return d
		}
		var passed bool
		if d, passed = passBarrier(d, on, members); !passed {
			return d
		}
	}
	return d
}

// letStart lets members start the steps that their order, lockstep and the gates allow, and update
// as many pods as lockstep allows, as they were read live.
func letStart(d Decision, on []riding, members []train.Member) Decision {
	allowed := rulesOf(&d.snap.release.Spec, nextGates(&d.snap.release.Spec, d.snap.record.Run.Passed)).Allowed(members)
	more := func(m v1alpha1.RunMember) bool { return !m.Returns && allowed[m.Name] > m.Steps }
	starts, before := slices.ContainsFunc(d.snap.record.Run.Members, more), d.snap.record.Run.UpdatedPercent
	updated := updatedPercent(d.snap, on, allowed, starts)
	switch reads := ReadMembers | ReadRelease; {
	case !starts && equality.Semantic.DeepEqual(updated, before):
		return d
	case !d.snap.live(reads):
		return d.read(reads)
	}
	d = d.withRun(func(m *v1alpha1.RunMember) {
		if more(*m) {
			m.Steps = allowed[m.Name]
		}
	})
	return d.with(func(r *record) { r.Run.UpdatedPercent = updated })
}

// passBarrier passes the gates of the step that the train is in, once all members have done what
// they can without. Gates that all members are beyond are not asked for. It reports whether the
// next step follows.
func passBarrier(d Decision, on []riding, members []train.Member) (Decision, bool) {
	passed := d.snap.record.Run.Passed
	reach := rulesOf(&d.snap.release.Spec, passed).Reach(members)
	if slices.ContainsFunc(on, func(m riding) bool { return m.done < reach[m.run.Name] }) {
		return d, false
	}
	policies := d.snap.gates().toPass()
	d = dropGates(d, policies)
	waits := slices.ContainsFunc(on, func(m riding) bool { return m.done <= passed+1 && !m.through() })
	if waits && len(policies) > 0 {
		var all bool
		if d, all = passGates(d, policies); !all {
			return d, false
		}
	}
	if reads := ReadMembers | ReadRelease; !d.snap.live(reads) {
		return d.read(reads), false
	}
	if approvers := d.snap.gates().approvedBy(); approvers != d.snap.record.Run.ApprovedBy {
		d = d.withRun(func(*v1alpha1.RunMember) {}).with(func(r *record) { r.Run.ApprovedBy = approvers })
	}
	if d.snap.steps().last() {
		return d.with(func(r *record) {
			r.Phase, r.CurrentStepState, r.Gates, r.Answers = v1alpha1.PhaseFinalizing, v1alpha1.StepCompleted, nil, nil
		}).first(), false
	}
	return d.with(func(r *record) {
		run := *r.Run
		run.Passed++
		r.Run, r.CurrentStepIndex, r.StepStartedAt = &run, run.Passed, d.snap.time()
		r.CurrentStepState, r.Gates, r.Answers = v1alpha1.StepUpgrade, nil, nil
	}), true
}

// endTogether ends a run once each member has handed its workload back.
func endTogether(d Decision) Decision {
	d = letReturn(countMembers(d))
	ended := func(m riding) bool {
		return m.found == nil || m.current() && m.found.Release.Status.Phase == v1alpha1.PhaseCompleted
	}
	if slices.ContainsFunc(ridingsOf(d.snap), func(m riding) bool { return !ended(m) }) {
		return d
	}
	return endRun(d)
}

// endRun records the end of a run, and which revisions the members run that have returned.
func endRun(d Decision) Decision {
	d = d.withRun(func(m *v1alpha1.RunMember) {
		if found := memberOf(d.snap, m.Name); m.Returns && found != nil {
			m.Revision = found.Release.Status.UpdateRevision
		}
	})
	return d.with(func(r *record) { r.Phase, r.CurrentStepState = v1alpha1.PhaseCompleted, v1alpha1.StepCompleted })
}

// returnTogether has the members return, in reverse of their order, and ends the run once all have.
func returnTogether(d Decision) Decision {
	d = letReturn(countMembers(d))
	if d.needs.Any() || slices.ContainsFunc(ridingsOf(d.snap), func(m riding) bool { return !m.returned() }) {
		return d
	}
	if reads := ReadMembers | ReadRelease; !d.snap.live(reads) {
		return d.read(reads)
	}
	return endRun(d)
}

// letReturn lets the members return after which none is left that has not.
func letReturn(d Decision) Decision {
	returning := slices.DeleteFunc(ridingsOf(d.snap), func(m riding) bool { return !m.run.Returns })
	may := orderOf(&d.snap.release.Spec).MayReturn(inOrder(returning))
	more := func(m v1alpha1.RunMember) bool { return m.Returns && !m.Back && may[m.Group] }
	switch reads := ReadMembers | ReadRelease; {
	case len(returning) == 0 || !slices.ContainsFunc(d.snap.record.Run.Members, more):
		return d
	case !d.snap.live(reads):
		return d.read(reads)
	}
	return d.withRun(func(m *v1alpha1.RunMember) { m.Back = m.Back || more(*m) })
}

// turnForMember has members return because one has failed, or has returned by itself. It reports
// whether all of the run do.
func turnForMember(d Decision) (Decision, bool) {
	policy := d.snap.release.Spec.Strategy.OnFailure
	fails := func(m riding) bool {
		return !m.run.Returns && (m.turned() || m.failed() && m.ofRun() && policy != v1alpha1.FailurePause && policy != "")
	}
	all := ridingsOf(d.snap)
	at := slices.IndexFunc(all, fails)
	switch reads := ReadMembers | ReadRelease; {
	case at < 0:
		return d, false
	case !d.snap.live(reads):
		return d.read(reads), false
	}
	message, scope := bounded(all[at].failureWords()), scopeOf(d.snap, &all[at])
	if !slices.ContainsFunc(all, func(m riding) bool { return !scope(m.run) }) {
		return turnTrain(d, v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerMember, Message: message}, nil, wholeRun), true
	}
	d = d.withRun(func(m *v1alpha1.RunMember) {
		if scope(m) {
			m.Returns, m.Steps = true, 0
		}
	})
	return d.with(func(r *record) { run := *r.Run; run.Message, r.Run = message, &run }).first(), false
}

// scopeOf selects the members that return because of one: all, or those that come after it.
func scopeOf(s *snapshot, of *riding) func(*v1alpha1.RunMember) bool {
	if s.release.Spec.Strategy.OnFailure != v1alpha1.FailureRollbackDependents {
		return wholeRun
	}
	dependents := orderOf(&s.release.Spec).Dependents(of.run.Group)
	return func(m *v1alpha1.RunMember) bool {
		return m.Returns || m.Name == of.run.Name || dependents[m.Group] && m.Group != of.run.Group
	}
}

// turnAfterRun has members return because one of them was rolled back after the run.
func turnAfterRun(d Decision) Decision {
	if !d.snap.record.completed() || d.snap.record.isRollback() {
		return d
	}
	all := ridingsOf(d.snap)
	at := slices.IndexFunc(all, riding.turned)
	switch reads := ReadMembers | ReadRelease; {
	case at < 0:
		return d
	case !d.snap.live(reads):
		return d.read(reads)
	}
	why := v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerMember, Message: bounded(all[at].failureWords())}
	return turnTrain(d, why, nil, scopeOf(d.snap, &all[at]))
}

// failureWords says why other members return.
func (m riding) failureWords() string {
	status := &m.found.Release.Status
	switch {
	case m.refused():
		return fmt.Sprintf("member %s was rolled back before it began", m.run.Name)
	case m.failed() && status.Failure != nil:
		return fmt.Sprintf("member %s failed: %s", m.run.Name, status.Failure.Message)
	case m.failed():
		return fmt.Sprintf("member %s failed", m.run.Name)
	default:
		return fmt.Sprintf("member %s was rolled back: %s", m.run.Name, status.Rollback.Message)
	}
}

// countMembers adds up the pods of the run's members.
func countMembers(d Decision) Decision {
	all := ridingsOf(d.snap)
	return d.with(func(r *record) {
		r.Replicas, r.TargetReplicas, r.UpdatedReplicas, r.UpdatedReadyReplicas, r.UpdatedAvailableReplicas = 0, 0, 0, 0, 0
		for _, m := range all {
			if m.found == nil {
				continue
			}
			of := &m.found.Release.Status
			r.Replicas += of.Replicas
			if m.ofRun() || m.through() {
				r.TargetReplicas += of.TargetReplicas
				r.UpdatedReplicas += of.UpdatedReplicas
				r.UpdatedReadyReplicas += of.UpdatedReadyReplicas
				r.UpdatedAvailableReplicas += of.UpdatedAvailableReplicas
			}
		}
	})
}
