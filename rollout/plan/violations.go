package plan

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// Violation is an invariant of docs/develop/architecture.md that a plan would break.
type Violation struct {
	// Invariant is its number, one of Invariants.
	Invariant string
	// How describes it.
	How string
}

// Invariants are the ones that Violations and Exposed check.
var Invariants = []string{"I1", "I2", "I3", "I5", "I6", "I8"}

// Violations checks a plan against the invariants that the process can check by what it has
// observed, with other arithmetic than the planner's: it finds none unless the planner has a bug.
// It sees less than the laws of rollout/sim. Where it can't tell, it reports nothing.
func Violations(o Observation, next Plan) []Violation {
	before := &o.Release.Status
	if len(next.Actions) == 0 && before.CurrentStepIndex == next.Status.CurrentStepIndex && before.Phase == next.Status.Phase {
		return nil
	}
	s := snapshotOf(o)
	if s.workload == nil || s.workload.Deleting {
		return nil
	}
	s.record = record{next.Status}
	all := skippedGates(s, before)
	pods, can := s.workload.Mover.(mover.Foresees)
	for _, action := range next.Actions {
		switch a := action.(type) {
		case TakeOver, HandBack: // what is updated is another version from here on
			return all
		case MovePods:
			if !can {
				return all
			}
			var effect mover.Effect
			effect, pods = pods.Foresee(a.Write, s.workload.Digest)
			for _, how := range breaks(s, effect, before) {
				how.How = a.String() + ": " + how.How
				all = append(all, how)
			}
		case Annotate, RecordRevision, UpdateRevision, PruneRevision, OpenGate, CloseGate, Traffic, Follow, CopyTemplate, RetryMember: // they move no pods
		}
	}
	return all
}

// Exposed reports whether the native controller could roll a workload that is held: right after a
// write of ours that breaks I8.
func Exposed(w *Workload) bool { return w != nil && !w.Deleting && w.Hold != nil && !w.secured() }

// breaks returns the invariants that an effect on pods would break.
func breaks(s *snapshot, e mover.Effect, before *v1alpha1.BatchReleaseStatus) []Violation {
	var all []Violation
	breaks := func(invariant, how string, args ...any) {
		all = append(all, Violation{invariant, fmt.Sprintf(how, args...)})
	}
	replicas, bounds := s.workload.Replicas, s.steps().widest()
	if most := replicas + max(bounds.Surge, 1); e.Grows && e.Most.After > most && s.record.Traffic == nil { // T1 takes one more without surge
		breaks("I1", "%d pods, at most %d", e.Most.After, most)
	}
	if least := replicas - bounds.Unavailable; e.Available.After < min(e.Available.Before, least) {
		breaks("I2", "%d -> %d pods available, at least %d", e.Available.Before, e.Available.After, least)
	}
	if back := s.record.Rollback; back != nil && e.Grows && e.Revision == back.From && e.Revision != s.record.UpdateRevision {
		breaks("I6", "revision %s grows, and is rolled back", e.Revision)
	}
	if goesThroughSteps(s) {
		if most := mostUpdated(s); e.Updated.After > max(e.Updated.Before, most) {
			breaks("I3", "%d -> %d updated pods, at most %d", e.Updated.Before, e.Updated.After, most)
		}
		if least := leastUpdated(s, before); e.Updated.After < min(e.Updated.Before, least) {
			breaks("I5", "%d -> %d updated pods, at least %d", e.Updated.Before, e.Updated.After, least)
		}
	}
	return all
}

// goesThroughSteps reports whether the updated pods belong to a release that goes through its
// steps.
func goesThroughSteps(s *snapshot) bool {
	current := s.record.Resolved
	return s.record.Rollback == nil && s.release.DeletionTimestamp.IsZero() && !s.empty && s.problem == nil &&
		current != nil && current.Digest == s.workload.Digest
}

// mostUpdated returns the largest target of the steps up to the current one, of any number of
// replicas since it was entered.
func mostUpdated(s *snapshot) int32 {
	most, steps := s.record.TargetReplicas, s.steps().list()
	for i := range steps[:min(int(s.steps().index())+1, len(steps))] {
		if share, err := parseShare(steps[i].Replicas); err == nil {
			most = max(most, share.entered(s.workload.Replicas))
		}
	}
	return most
}

// leastUpdated returns how many updated pods stay in the current step: its target, or one less
// where there is no other pod. It returns 0 if spec.replicas has changed, or a jump removes pods.
func leastUpdated(s *snapshot, before *v1alpha1.BatchReleaseStatus) int32 {
	replicas := s.workload.Replicas
	if before.Replicas != replicas || s.record.Replicas != replicas {
		return 0
	}
	for _, jump := range s.record.Jumps() {
		if jump.RemovePods {
			return 0
		}
	}
	return min(s.record.TargetReplicas, replicas-1)
}

// skippedGates returns a violation for each step that the plan leaves before its gates have passed.
func skippedGates(s *snapshot, before *v1alpha1.BatchReleaseStatus) []Violation {
	after := &s.record
	switch {
	case s.problem != nil, s.handingBack, !before.Entered(), before.Attempt != after.Attempt, len(after.Jumps()) > 0:
		return nil
	case !s.release.DeletionTimestamp.IsZero():
		return nil
	}
	last := after.CurrentStepIndex
	if before.Phase != v1alpha1.PhaseFinalizing && after.Phase == v1alpha1.PhaseFinalizing {
		last++
	}
	var all []Violation
	for step := before.CurrentStepIndex; step < min(last, int32(len(s.steps().list()))); step++ {
		if missing := s.gates().missing(step); missing > 0 {
			all = append(all, Violation{"I3", fmt.Sprintf("batch %d is left, and %d of its gates have not passed", step+1, missing)})
		}
	}
	return all
}
