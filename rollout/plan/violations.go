package plan

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// Violation is an invariant of docs/architecture.md that a plan would break.
type Violation struct {
	// Invariant is its number, one of Invariants.
	Invariant string
	// How says it to people.
	How string
}

// Invariants are those that Violations and Exposed check.
var Invariants = []string{"I1", "I2", "I3", "I5", "I6", "I8"}

// Violations holds a plan against invariants that the process can check by what it has observed, by other arithmetic than that of the
// planner: there are none, unless the planner has a bug. It sees less than the laws of rollout/sim, and knows no exception that it can't
// see; where it can't tell it says nothing.
func Violations(o Observation, next Plan) []Violation {
	before := &o.Release.Status
	if len(next.Actions) == 0 && before.CurrentStepIndex == next.Status.CurrentStepIndex && before.Phase == next.Status.Phase {
		return nil
	}
	l := lookAt(o)
	if l.Workload == nil || l.Workload.Deleting {
		return nil
	}
	l.record = next.Status
	all := l.skippedGates(before)
	pods, can := l.Workload.Mover.(mover.Foresees)
	for _, action := range next.Actions {
		switch a := action.(type) {
		case TakeOver, HandBack: // what is updated is another version from here on
			return all
		case MovePods:
			if !can {
				return all
			}
			var effect mover.Effect
			effect, pods = pods.Foresee(a.Write, l.Workload.Digest)
			for _, how := range l.breaks(effect, before) {
				how.How = a.String() + ": " + how.How
				all = append(all, how)
			}
		case Annotate, RecordRevision, UpdateRevision, PruneRevision, OpenGate, CloseGate, Traffic: // they move no pods
		}
	}
	return all
}

// Exposed reports whether a workload that is held could be rolled by its native controller: right after a write of ours that is I8.
func Exposed(w *Workload) bool { return w != nil && !w.Deleting && w.Hold != nil && !w.secured() }

func (l *look) breaks(e mover.Effect, before *v1alpha1.BatchReleaseStatus) []Violation {
	var all []Violation
	breaks := func(invariant, how string, args ...any) {
		all = append(all, Violation{invariant, fmt.Sprintf(how, args...)})
	}
	replicas, bounds := l.Workload.Replicas, l.widest()
	if most := replicas + max(bounds.Surge, 1); e.Grows && e.Most.After > most && l.record.Traffic == nil { // T1 takes one more without surge
		breaks("I1", "%d pods, at most %d", e.Most.After, most)
	}
	if least := replicas - bounds.Unavailable; e.Available.After < min(e.Available.Before, least) {
		breaks("I2", "%d -> %d pods available, at least %d", e.Available.Before, e.Available.After, least)
	}
	if back := l.record.Rollback; back != nil && e.Grows && e.Revision == back.From && e.Revision != l.record.UpdateRevision {
		breaks("I6", "revision %s grows, and is rolled back", e.Revision)
	}
	if l.releases() {
		if most := l.mostUpdated(); e.Updated.After > max(e.Updated.Before, most) {
			breaks("I3", "%d -> %d updated pods, at most %d", e.Updated.Before, e.Updated.After, most)
		}
		if least := l.leastUpdated(before); e.Updated.After < min(e.Updated.Before, least) {
			breaks("I5", "%d -> %d updated pods, at least %d", e.Updated.Before, e.Updated.After, least)
		}
	}
	return all
}

// releases reports whether the updated pods are those of a release that goes through its steps.
func (l *look) releases() bool {
	current := l.record.Resolved
	return l.record.Rollback == nil && l.Release.DeletionTimestamp.IsZero() && !l.empty && l.unreadable == nil &&
		current != nil && current.Digest == l.Workload.Digest
}

// mostUpdated is the largest target of the steps up to the current one, of any number of replicas since it was entered.
func (l *look) mostUpdated() int32 {
	most, steps := l.record.TargetReplicas, l.steps()
	for i := range steps[:min(int(l.stepIndex())+1, len(steps))] {
		if share, err := parseShare(steps[i].Replicas); err == nil {
			most = max(most, share.entered(l.Workload.Replicas))
		}
	}
	return most
}

// leastUpdated is how many updated pods stay in the current step: all that there are to be, or one less where there is no other pod. Where
// spec.replicas has changed, or somebody has asked for fewer, nobody can tell.
func (l *look) leastUpdated(before *v1alpha1.BatchReleaseStatus) int32 {
	replicas := l.Workload.Replicas
	if before.Replicas != replicas || l.record.Replicas != replicas {
		return 0
	}
	for _, jump := range l.record.Jumps() {
		if jump.RemovePods {
			return 0
		}
	}
	return min(l.record.TargetReplicas, replicas-1)
}

// skippedGates are steps that the plan leaves though gates of theirs have not passed.
func (l *look) skippedGates(before *v1alpha1.BatchReleaseStatus) []Violation {
	after := &l.record
	switch {
	case l.unreadable != nil, l.handingBack, !before.Entered(), before.Attempt != after.Attempt, len(after.Jumps()) > 0:
		return nil
	case !l.Release.DeletionTimestamp.IsZero():
		return nil
	}
	last := after.CurrentStepIndex
	if before.Phase != v1alpha1.PhaseFinalizing && after.Phase == v1alpha1.PhaseFinalizing {
		last++
	}
	var all []Violation
	for step := before.CurrentStepIndex; step < min(last, int32(len(l.steps()))); step++ {
		if missing := l.missing(step); missing > 0 {
			all = append(all, Violation{"I3", fmt.Sprintf("batch %d is left, and %d of its gates have not passed", step+1, missing)})
		}
	}
	return all
}

// missing is how many gates of a step have not passed.
func (l *look) missing(step int32) int {
	missing := 0
	for _, policy := range l.gatesAt(step) {
		if policy.None == nil {
			missing++
		}
	}
	for i := range l.Gates {
		gate := &l.Gates[i]
		if gate.Spec.Attempt == l.record.Attempt && gate.Spec.Step == step && gate.Spec.Revision == l.record.UpdateRevision &&
			gate.Status.Decision == v1alpha1.DecisionPassed {
			missing--
		}
	}
	return max(missing, 0)
}
