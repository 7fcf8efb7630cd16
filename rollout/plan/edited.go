package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A step may be edited while it is in progress. Its gates were asked for what it said when it was entered, which is on record
// (EnteredStep). Less takes effect at once. More, in pods, requests or matches, takes effect once the step's gates have passed: the step is
// then entered again, and asks them again. The same holds for an earlier step that a user edits and
// jumps back to: it takes no more pods, and no higher share of the requests, than the step before.

// saysNow returns what the current step says.
func (l *look) saysNow() *v1alpha1.EnteredStep {
	steps, index := l.steps(), int(l.stepIndex())
	said := &v1alpha1.EnteredStep{Replicas: steps[index].Replicas}
	if l.shares() {
		said.Traffic, said.Matches = v1alpha1.TrafficOf(steps, index), steps[index].Matches
	}
	return said
}

// saidShare returns the share of pods that the current step said when it was entered; nil if that is not on record.
func (l *look) saidShare() *share {
	if l.record.EnteredStep == nil {
		return nil
	}
	said, err := parseShare(l.record.EnteredStep.Replicas)
	if err != nil {
		return nil
	}
	return &said
}

// atMost returns what a step says, with at most the pods and the share of the requests that another one says.
func (l *look) atMost(said, most *v1alpha1.EnteredStep) *v1alpha1.EnteredStep {
	lower := *said
	now, _ := parseShare(said.Replicas)
	if then, err := parseShare(most.Replicas); err == nil && now.more(then, l.Workload.Replicas) {
		lower.Replicas = most.Replicas
	}
	lower.Traffic = min(said.Traffic, most.Traffic)
	return &lower
}

// raised reports whether the current step says more than it said when it was entered.
func (l *look) raised() bool {
	said, was := l.record.EnteredStep, l.saidShare()
	if said == nil || was == nil || l.standsStill() {
		return false
	}
	now := l.saysNow()
	return l.shareOf(l.stepIndex()).more(*was, l.Workload.Replicas) || now.Traffic > said.Traffic ||
		slices.ContainsFunc(now.Matches, func(m v1alpha1.RequestMatch) bool { return !among(said.Matches, m) })
}

// among reports whether a match is among others.
func among(matches []v1alpha1.RequestMatch, match v1alpha1.RequestMatch) bool {
	return slices.ContainsFunc(matches, func(m v1alpha1.RequestMatch) bool { return equality.Semantic.DeepEqual(m, match) })
}

// more reports whether a share is more than another one of so many pods.
func (s share) more(than share, replicas int32) bool {
	switch {
	case s.all() || than.all():
		return s.all() && !than.all()
	case s.of == than.of:
		return s.value > than.value
	default:
		return s.entered(replicas) > than.entered(replicas)
	}
}

// askAgain deletes the gates of the current step, which were passed for less than it says now. They are opened again when its pods are there.
func askAgain(d Decision) Decision {
	for i := range d.Gates {
		if gate := &d.Gates[i]; gate.DeletionTimestamp == nil && gate.Spec.Attempt == d.record.Attempt && gate.Spec.Step == d.stepIndex() {
			d = d.do(CloseGate{Reason: "the step says more than when they were opened", Name: gate.Name})
		}
	}
	return d
}
