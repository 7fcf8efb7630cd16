package plan

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// A step may be edited while it is in progress. Its gates were opened for what it said when it was
// entered, which is recorded (EnteredStep). Less takes effect at once. More, in pods, requests or
// matches, takes effect once the step's gates have passed: the step is then entered again, with its
// gates. The same holds for an earlier step that a user edits and jumps back to: it takes no more
// pods, and no higher weight, than the step before.

// steps holds the steps of a rollback in a rollback, else those of the release, and where the
// release is in them.
type steps struct {
	spec   *v1alpha1.BatchReleaseSpec
	record *record
	// workload is nil if it does not exist.
	workload *Workload
	// problem is the error in the steps; nil if they are valid.
	problem     error
	handingBack bool
	// shared marks a release whose routes share requests between versions.
	shared bool
	// final marks a workload whose updated pods stay updated (mover.Counts.Final).
	final bool
}

// list returns the steps. A release that is being handed back has passed them.
func (s steps) list() []v1alpha1.Step {
	if s.handingBack {
		return allAtOnce
	}
	return s.spec.Steps(s.record.isRollback())
}

// allAtOnce is one step of all pods without a gate.
var allAtOnce = []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}

// index returns the current step, at most the last: steps may have been removed in mid-release.
func (s steps) index() int32 { return max(min(s.record.CurrentStepIndex, int32(len(s.list()))-1), 0) }

// last reports whether the current step is the last.
func (s steps) last() bool { return s.index() == int32(len(s.list()))-1 }

// number returns the number of a step, such as "2/4".
func (s steps) number(step int32) string { return fmt.Sprintf("%d/%d", step+1, len(s.list())) }

// unreadable reports whether the steps of the attempt in progress are invalid.
func (s steps) unreadable() bool { return s.problem != nil && !s.handingBack && s.record.underWay() }

// policies returns the gate policies of a step.
func (s steps) policies(step int32) []v1alpha1.GatePolicy {
	if s.handingBack {
		return nil
	}
	return s.spec.Gates(s.record.isRollback(), int(step))
}

// shareOf returns the share of pods of a step.
func (s steps) shareOf(step int32) share {
	of, _ := parseShare(s.list()[step].Replicas)
	return of
}

// share returns the share of the current step, at most the share that it had when it was entered.
// While the steps are invalid it returns the recorded share.
func (s steps) share() share {
	if s.unreadable() {
		return s.record.enteredShare()
	}
	now := s.shareOf(s.index())
	if entered := s.record.shareAtEntry(); entered != nil && now.more(*entered, s.workload.Replicas) {
		return *entered
	}
	return now
}

// rescaled returns the target after spec.replicas has changed: the less of what the step says, and
// what it said when it was entered. When a step of 2 pods is entered 1% is 1 pod, like 1, and none
// when 1 pod becomes 2.
func (s steps) rescaled() int32 {
	r, replicas := s.record, s.workload.Replicas
	target := s.share().rescaled(r.TargetReplicas, r.Replicas, replicas)
	if entered := r.shareAtEntry(); entered != nil && !s.unreadable() {
		target = min(target, entered.rescaled(r.TargetReplicas, r.Replicas, replicas))
	}
	return target
}

// now returns what the current step says.
func (s steps) now() *v1alpha1.EnteredStep {
	list, index := s.list(), int(s.index())
	now := &v1alpha1.EnteredStep{Replicas: list[index].Replicas}
	if s.shared {
		now.Traffic, now.Matches = v1alpha1.TrafficOf(list, index), list[index].Matches
	}
	return now
}

// atMost returns a step with at most the pods and the weight of another one.
func (s steps) atMost(step, most *v1alpha1.EnteredStep) *v1alpha1.EnteredStep {
	lower := *step
	now, _ := parseShare(step.Replicas)
	if then, err := parseShare(most.Replicas); err == nil && now.more(then, s.workload.Replicas) {
		lower.Replicas = most.Replicas
	}
	lower.Traffic = min(step.Traffic, most.Traffic)
	return &lower
}

// raised reports whether the current step says more than when it was entered.
func (s steps) raised() bool {
	entered, share := s.record.EnteredStep, s.record.shareAtEntry()
	if entered == nil || share == nil || s.unreadable() {
		return false
	}
	now := s.now()
	return s.shareOf(s.index()).more(*share, s.workload.Replicas) || now.Traffic > entered.Traffic ||
		slices.ContainsFunc(now.Matches, func(m v1alpha1.RequestMatch) bool { return !among(entered.Matches, m) })
}

// traffic returns the share of requests of the current step, at most the share that it had when it
// was entered.
func (s steps) traffic() traffic.Share {
	if s.unreadable() || int(s.index()) >= len(s.list()) {
		return traffic.Share{}
	}
	now := s.now()
	share := traffic.Share{Weight: now.Traffic, Matches: now.Matches}
	if entered := s.record.EnteredStep; entered != nil {
		share.Weight = min(share.Weight, entered.Traffic)
		share.Matches = slices.DeleteFunc(slices.Clone(share.Matches), func(m v1alpha1.RequestMatch) bool { return !among(entered.Matches, m) })
	}
	return share
}

// allTraffic reports whether the current step gives the new version all requests, as without
// traffic each step does.
func (s steps) allTraffic() bool { return !s.shared || s.unreadable() || s.traffic().Weight == percent }

// steppingBack reports whether a jump went back to the current step with its pods. The surplus is
// replaced by old pods until the next step. Where updated pods stay updated, none is replaced.
func (s steps) steppingBack() bool {
	jump := s.record.lastJump()
	return jump != nil && jump.RemovePods && jump.To == s.index() && !s.final
}

// bounds returns how far the pods may differ from spec.replicas in the current step.
func (s steps) bounds() mover.Bounds { return s.boundsAt(s.index()) }

// boundsAt returns the bounds in a step.
func (s steps) boundsAt(step int32) mover.Bounds {
	w, strategy := s.workload, s.spec.Strategy
	unavailable := cmp.Or(strategy.MaxUnavailable, w.MaxUnavailable)
	if list := s.list(); int(step) < len(list) {
		unavailable = cmp.Or(list[step].MaxUnavailable, unavailable)
	}
	return w.Mover.Bounds(cmp.Or(strategy.MaxSurge, w.MaxSurge), unavailable, w.Replicas)
}

// widest returns the bounds of the step that lets most pods be unavailable.
func (s steps) widest() mover.Bounds {
	widest := s.boundsAt(0)
	for step := range s.list() {
		if b := s.boundsAt(int32(step)); b.Unavailable > widest.Unavailable {
			widest = b
		}
	}
	return widest
}
