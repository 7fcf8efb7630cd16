package plan

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// ride is a member's view of the run of its train. The zero value is that of a release without one.
type ride struct {
	train  *v1alpha1.BatchRelease
	member *v1alpha1.RunMember
	record *record
	// at has the recorded progress of the release in runs of the train; nil if it was in none.
	at *v1alpha1.TrainProgress
	// wanted marks a release that has a train, whether it exists or not.
	wanted bool
}

// ride returns what the train of the release lets it do.
func (s *snapshot) ride() ride {
	r := ride{record: &s.record, wanted: s.release.Spec.Train != "" && !isTrain(s)}
	train := s.obs.Train
	if !r.wanted || train == nil || train.DeletionTimestamp != nil || len(train.Spec.Members) == 0 || train.Status.Run == nil {
		return r
	}
	r.train = train
	if at := s.record.Train; at != nil && at.Train == train.Name {
		r.at = at
	}
	for i := range train.Status.Run.Members {
		if member := &train.Status.Run.Members[i]; member.Name == s.release.Name {
			r.member = member
			break
		}
	}
	return r
}

// starts reports whether the train lets the release of a template, as given, start.
func (r ride) starts(given string) bool {
	return !r.wanted || r.member != nil && !r.member.Returns && r.member.Template == given && r.member.Steps > 0 && !r.left()
}

// left reports whether the release has left the run: it was rolled back in it, or before it began.
func (r ride) left() bool {
	at, back := r.at, r.record.Rollback
	if at == nil || at.Attempt != r.train.Status.Attempt {
		return false
	}
	return at.Answer != "" || back != nil && back.Trigger != v1alpha1.TriggerGitRevert
}

// ends reports whether all members of the run have done all steps.
func (r ride) ends() bool {
	return r.train.Status.Phase == v1alpha1.PhaseFinalizing || r.train.Status.Phase == v1alpha1.PhaseCompleted
}

// holds reports whether the train keeps the attempt in a step that is done. A rollback goes on.
func (r ride) holds(step int32, last bool) bool {
	switch {
	case !r.wanted || r.record.isRollback():
		return false
	case r.member == nil || r.member.Returns || r.record.Resolved == nil || r.member.Template != r.record.Resolved.Given:
		return true
	case last:
		return !r.ends()
	default:
		return r.member.Steps <= step+1
	}
}

// stops reports whether the train returns, and the release has not begun to.
func (r ride) stops() bool {
	return r.member != nil && r.member.Returns && !r.record.idle() && !r.record.isRollback()
}

// reached returns how many steps the release is on record to have done, with its train or without.
func (r ride) reached() int32 {
	switch {
	case r.at != nil:
		return r.at.Done
	case r.train == nil && r.record.Train != nil:
		return r.record.Train.Done
	default:
		return 0
	}
}

// boards returns the run that an attempt belongs to; nil if it belongs to none.
func (r ride) boards() *v1alpha1.TrainProgress {
	if r.member == nil {
		return nil
	}
	return &v1alpha1.TrainProgress{Train: r.train.Name, Attempt: r.train.Status.Attempt}
}

// runsGiven reports whether a release has completed with its template as given: it was not rolled
// back to another one.
func runsGiven(status *v1alpha1.BatchReleaseStatus, given string) bool {
	kept := status.Rollback == nil || status.Rollback.Trigger == v1alpha1.TriggerGitRevert
	return status.Phase == v1alpha1.PhaseCompleted && kept && status.Resolved != nil && status.Resolved.Given == given
}

// rideOn records how many steps of the run a member has done.
func rideOn(d Decision, done int32) Decision {
	r := d.snap.ride()
	if r.member == nil || d.snap.record.isRollback() || d.snap.record.Resolved == nil || r.member.Template != d.snap.record.Resolved.Given {
		return d
	}
	now := *r.boards()
	now.Done = done
	if was := d.snap.record.Train; was != nil && *was == now {
		return d
	}
	return d.with(func(r *record) { r.Train = &now })
}

// passTrain waits until the train lets the release leave a step that is done. It reports whether it
// does, as read live.
func passTrain(d Decision) (Decision, bool) {
	r, steps := d.snap.ride(), d.snap.steps()
	if !r.wanted || d.snap.record.isRollback() {
		return d, true
	}
	if r.holds(steps.index(), steps.last()) {
		return block(d, nil), false
	}
	if !d.snap.live(ReadTrain) {
		return d.read(ReadTrain), false
	}
	return d, true
}

// heldByTrain reports whether the step of a member is done and its train holds it.
func heldByTrain(s *snapshot) bool {
	r, steps := s.ride(), s.steps()
	return r.wanted && r.reached() > steps.index() && r.holds(steps.index(), steps.last())
}

// answerTrain begins the rollback of a member whose train returns, once it is its turn.
func answerTrain(d Decision) (Decision, bool) {
	r := d.snap.ride()
	if failsInEarlierRun(d.snap) {
		return resume(d).with(func(rec *record) { rec.Train = r.boards() }).first(), true
	}
	if r.member == nil || !r.member.Back || d.snap.record.Resolved == nil {
		return d, false
	}
	at := r.at
	ofRun := at != nil && at.Attempt == r.train.Status.Attempt
	switch {
	case ofRun && at.Answer == v1alpha1.MemberCannotReturn:
		return d, false
	case d.snap.record.rollingBack(), ofRun && d.snap.record.isRollback():
		return rideBack(d, r), false
	case d.snap.record.completed() && !runsGiven(&d.snap.record.BatchReleaseStatus, r.member.Template):
		return rideBack(d, r), false // it has not begun, or was rolled back before
	case !d.snap.live(ReadTrain | ReadKept):
		return d.read(ReadTrain | ReadKept), true
	}
	target, problem := rollbackTarget(d.snap, Previous)
	if target == nil {
		now := *r.boards()
		now.Answer = v1alpha1.MemberCannotReturn
		return d.with(func(rec *record) { rec.Train = &now }).tell(notFound{problem}), false
	}
	why := v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerTrain, Message: bounded("train " + r.train.Name + " returns: " + r.train.Status.Run.Message)}
	if back := r.train.Status.Rollback; back != nil {
		why.By = back.By
	}
	return rollBack(d.snap, target, why), true
}

// releasesAgain reports whether the train lets a member release a template that it was rolled back
// from.
func releasesAgain(s *snapshot) bool {
	return s.record.completed() && startsByTrain(s) && !runsGiven(&s.record.BatchReleaseStatus, s.given)
}

// refuseRun records that a user rolls back a member that has not begun in the run of its train: the
// train returns. It reports whether that is so.
func refuseRun(d Decision) (Decision, bool) {
	r := d.snap.ride()
	idle := d.snap.record.idle() && !runsGiven(&d.snap.record.BatchReleaseStatus, d.snap.given)
	if r.member == nil || r.member.Returns || !idle || r.train.Status.Phase != v1alpha1.PhaseRollingUpdate {
		return d, false
	}
	now := *r.boards()
	now.Answer = v1alpha1.MemberRefused
	if was := d.snap.record.Train; was == nil || *was != now {
		return d.with(func(r *record) { r.Train = &now }).first(), true
	}
	return d.do(Annotate{Reason: "the train returns", Remove: answered(d.snap.release, v1alpha1.RollbackAnnotation)}), true
}

// failsInEarlierRun reports whether a member has failed in a run before the present one, in which
// it has the same template. Its deadline begins again.
func failsInEarlierRun(s *snapshot) bool {
	r := s.ride()
	at := r.at
	return s.record.failed() && !s.record.isRollback() && r.starts(s.record.Resolved.Given) && r.wanted && at != nil && at.Attempt != r.train.Status.Attempt
}

// rideBack records that a member returns, or has returned, in the run of its train.
func rideBack(d Decision, r ride) Decision {
	if now := r.boards(); r.at == nil || r.at.Attempt != now.Attempt {
		return d.with(func(rec *record) { rec.Train = now })
	}
	return d
}

// RunChanges returns the members for which a train has decided something since another status.
func RunChanges(was, is *v1alpha1.BatchReleaseStatus) []string {
	if is.Run == nil {
		return nil
	}
	before, now := map[string]v1alpha1.RunMember{}, map[string]bool{}
	if was.Run != nil && was.Attempt == is.Attempt && was.Phase == is.Phase && equality.Semantic.DeepEqual(was.Run.UpdatedPercent, is.Run.UpdatedPercent) {
		for _, m := range was.Run.Members {
			before[m.Name] = m
		}
	}
	var changed []string
	for _, m := range is.Run.Members {
		now[m.Name] = true
		if before[m.Name] != m {
			changed = append(changed, m.Name)
		}
	}
	if was.Run == nil {
		return changed
	}
	for _, m := range was.Run.Members {
		if !now[m.Name] { // it says from now on that it waits for another run, or for none
			changed = append(changed, m.Name)
		}
	}
	return changed
}
