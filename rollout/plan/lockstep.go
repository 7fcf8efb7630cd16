package plan

import (
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/train"
)

// In lockstep by percent, the members of a train do a step together: the train lets each update a
// percentage of its pods, and more once all have that many.

// updatedPercent returns the percentage of its pods that each member may update in the steps that
// it is allowed; nil if lockstep does not limit it. It grows once all members have reached it, and
// begins anew when steps start.
func updatedPercent(s *snapshot, on []riding, allowed map[string]int32, starts bool) *int32 {
	skew, before := s.release.Spec.Strategy.Lockstep.Percent(), s.record.Run.UpdatedPercent
	if skew == 0 {
		return nil
	}
	var pods []train.Pods
	for _, m := range on {
		switch {
		case m.done >= allowed[m.run.Name]:
		case m.ofRun():
			of := &m.found.Release.Status
			pods = append(pods, train.Pods{Replicas: max(of.Replicas, 1), Updated: of.UpdatedAvailableReplicas})
		default: // it has not begun
			pods = append(pods, train.Pods{Replicas: 1})
		}
	}
	next, alone := train.Share(pods, skew), len(pods) == 1
	if alone { // it can't be ahead of another one
		next = percent
	}
	if before != nil && !starts && (len(pods) == 0 || next < *before || !alone && !train.Reached(pods, *before)) {
		return before
	}
	return &next
}

// most returns how many updated pods the train lets the release have now, of its replicas. It
// reports whether the train limits them within a step: the others are to have as many first.
func (r ride) most(step, replicas int32) (int32, bool) {
	if r.member == nil || r.record.isRollback() || r.ends() {
		return 0, false
	}
	share := r.train.Status.Run.UpdatedPercent
	limited := share != nil || r.train.Spec.Strategy.Lockstep.Percent() > 0
	at := r.at
	seen := share != nil && at != nil && at.Attempt == r.train.Status.Attempt && r.member.Steps > step // the cache is not behind
	switch {
	case !limited:
		return 0, false
	case !seen:
		return 0, true
	default:
		return train.Most(*share, replicas), true
	}
}

// inLockstep limits the updated pods of a task to those that the train lets the release have now.
// Updated pods that it has stay.
func inLockstep(s *snapshot, t mover.Task) mover.Task {
	if most, limited := s.ride().most(s.steps().index(), s.workload.Replicas); limited {
		t.Target = min(t.Target, max(most, s.pods.Updated.Wanted))
	}
	return t
}

// heldInLockstep reports whether a member has as many updated pods as its train allows now, and its
// step says more.
func heldInLockstep(s *snapshot) bool {
	if s.workload == nil {
		return false
	}
	most, limited := s.ride().most(s.steps().index(), s.workload.Replicas)
	return limited && most < s.record.TargetReplicas && s.pods.available() >= most
}
