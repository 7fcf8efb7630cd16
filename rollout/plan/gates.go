package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// passStep goes on from a step that is done: to its gates, to the next step, to the end. It returns the target for the pods
// then.
func passStep(d Decision, t mover.Task, st traffic.Standing) (Decision, mover.Task) {
	policies := d.gatesToPass()
	d = dropGates(d, policies)
	if d.LastScale.IsZero() && !d.Live.Has(ReadCounts) { // what an earlier process wrote may be in no cache yet
		return d.read(ReadCounts), t
	}
	if len(policies) > 0 {
		if len(d.record.Gates) == 0 && (d.rescaling() || !d.pods.Settled) {
			return d, t
		}
		var passed bool
		if d, passed = passGates(d, policies); !passed {
			t.Blocked = len(d.waitsFor()) > 0
			return d, t
		}
	}
	next := d.stepIndex() + 1
	switch {
	case d.raised():
		d, next = askAgain(d), d.stepIndex()
	case d.lastStep():
		return finish(d, st), t
	case d.exceeds(t.Target):
		return d, t
	}
	// Whoever finds the pods of the next step in one that was jumped back to would take them away again.
	d.statusFirst = d.stepsBack()
	d = enterStep(d, next)
	entered := d.task(d.record.TargetReplicas)
	entered.Keep, entered.KeepAll, entered.Grow, entered.Most = t.Keep, t.KeepAll, t.Grow, t.Most // requests go where they went before
	return d, entered
}

// exceeds reports whether more pods run the revision than this step or the next says, because spec.replicas changed:
// a step that is entered keeps the pods that it finds, so that what is too many goes first. Those that may be there because of
// later steps whose gates have passed are not waited for.
func (l *look) exceeds(target int32) bool {
	most := max(target, l.shareOf(l.stepIndex()+1).entered(l.Workload.Replicas))
	if l.grown() && !l.stepsBack() {
		most = max(most, l.reach(target))
	}
	return l.rescaling() && l.pods.Updated.Wanted > most
}

// indexed is a gate's policy with its place in the step.
type indexed struct {
	step, index int32
	policy      v1alpha1.GatePolicy
}

// gatesToPass are those of the current step except those of type none, which need no object.
func (l *look) gatesToPass() []indexed { return l.gatesToPassAt(l.stepIndex()) }

func (l *look) gatesToPassAt(step int32) []indexed {
	var wanted []indexed
	for i, policy := range l.gatesAt(step) {
		if policy.Type() != v1alpha1.GateNone && !l.jumpsOver(step, policy) {
			wanted = append(wanted, indexed{step, int32(i), policy})
		}
	}
	return wanted
}

// passGates opens the gates of a step that is done and reports whether all have passed.
// A decision counts only for this attempt at this revision, and only when it was read live.
func passGates(d Decision, policies []indexed) (Decision, bool) {
	d = openGates(d, policies)
	waiting := d.waitsFor()
	switch {
	case len(waiting) > 0 && d.refused != nil: // nobody can pass a gate that there is not: the deadline runs on
		return d.with(func(r *record) { r.Gates = nil }), false
	case len(waiting) > 0:
		d, _ = rollBackRejected(block(d, waiting))
		return d, false
	}
	if reads := ReadGates | ReadRelease | ReadCounts; !d.Live.Has(reads) {
		return d.read(reads), false
	}
	return noteForced(d), true
}

// noteForced records which gates of the step were passed despite their policies. The record outlives them.
func noteForced(d Decision) Decision {
	forced := slices.Clone(d.record.Forced)
	for _, gate := range d.Gates {
		force := gate.Forced()
		if gate.Spec.Attempt != d.record.Attempt || gate.Spec.Step != d.stepIndex() || force == nil {
			continue
		}
		f := v1alpha1.ForcedGate{Step: gate.Spec.Step, Type: gate.Spec.Type, Force: *force}
		if !slices.Contains(forced, f) {
			forced = append(forced, f)
		}
	}
	return d.with(func(r *record) { r.Forced = forced })
}

// reach is how many updated pods the steps allow whose predecessors' gates have passed. There may be as many
// though the record is about an earlier step: the status that began the later step was lost. While the steps can't be read nobody
// knows which they were, and those that are there stay.
func (l *look) reach(target int32) int32 {
	if l.standsStill() {
		return max(target, min(l.updated(), l.share().most(l.Workload.Replicas)))
	}
	most, replicas := target, l.Workload.Replicas
	for step := l.stepIndex(); int(step) < len(l.steps())-1 && l.letsThrough(step); step++ {
		most = max(most, l.shareOf(step+1).entered(replicas))
	}
	return most
}

// letThrough reports whether all gates of the current step have passed.
func (l *look) letThrough() bool { return l.letsThrough(l.stepIndex()) }

// letsThrough reports whether all gates of a step have passed.
func (l *look) letsThrough(step int32) bool {
	return len(l.waitsForAt(step)) == 0
}

// dropGates deletes the gates of this attempt that have not passed and that the step does not ask for,
// or no longer in these words, because the steps were edited. A cache may show one as it was before it
// passed, so that they are read live first.
func dropGates(d Decision, policies []indexed) Decision {
	for _, gate := range d.undecided() {
		switch {
		case d.asksFor(&gate, policies):
		case !d.Live.Has(ReadGates):
			return d.read(ReadGates)
		default:
			d = d.do(CloseGate{Reason: "the steps were edited", Name: gate.Name})
		}
	}
	return d
}

// asksFor reports whether a gate of this attempt belongs to the step, with the same policy.
func (l *look) asksFor(gate *v1alpha1.Gate, policies []indexed) bool {
	return slices.ContainsFunc(policies, func(g indexed) bool {
		return gate.Name == l.gateName(g) && equality.Semantic.DeepEqual(gate.Spec.Policy, g.policy)
	})
}

// openGates makes sure that the step's gates exist, and puts them on record.
// None is opened before the pods are exactly as the step says, nor before one of the same name is gone:
// what was opened for it on a forge is closed first.
func openGates(d Decision, policies []indexed) Decision {
	var open []v1alpha1.GateReference
	for _, g := range policies {
		spec, name := d.gateSpec(g), d.gateName(g)
		gate, ref := d.findGate(name, spec), v1alpha1.GateReference{Name: name, Type: spec.Type}
		if gate != nil {
			ref.Decision = gate.Status.Decision
		}
		open = append(open, ref)
		if gate == nil && !d.leaving(name, spec) {
			d = d.do(OpenGate{Reason: Reason("batch " + d.batch(d.stepIndex()) + " is done"), Name: name, Spec: spec})
		}
	}
	return d.with(func(r *record) { r.Gates = open })
}

// waitsFor are the gates of the current step that have not passed.
func (l *look) waitsFor() []waitingGate { return l.waitsForAt(l.stepIndex()) }

func (l *look) waitsForAt(step int32) []waitingGate {
	var waiting []waitingGate
	for _, g := range l.gatesToPassAt(step) {
		gate := l.findGate(l.gateName(g), l.gateSpec(g))
		if gate == nil || gate.Status.Decision != v1alpha1.DecisionPassed {
			waiting = append(waiting, waitingGate{g.policy, gate})
		}
	}
	return waiting
}

// waitingGate is a gate that has not passed; its object is nil while it is being made.
type waitingGate struct {
	policy v1alpha1.GatePolicy
	gate   *v1alpha1.Gate
}

func (l *look) gateName(g indexed) string {
	return fmt.Sprintf("%s-%s-%d-%d-%d", l.Release.Name, l.record.UpdateRevision, l.record.Attempt, g.step, g.index)
}

func (l *look) gateSpec(g indexed) v1alpha1.GateSpec {
	return v1alpha1.GateSpec{
		ReleaseRef: v1alpha1.ReleaseReference{Name: l.Release.Name, UID: l.Release.UID},
		Revision:   l.record.UpdateRevision,
		Attempt:    l.record.Attempt,
		Commit:     l.record.Commit,

		StableCommit: l.stableCommit(),

		Step:   g.step,
		Index:  g.index,
		Type:   g.policy.Type(),
		Policy: g.policy,
	}
}

// stableCommit is the commit that ran before the release: the stable revision's or, where somebody has rolled that
// out without Git, the one that was released last.
func (l *look) stableCommit() string {
	if stable := l.kept(l.record.StableRevision); stable != nil && stable.Commit != "" {
		return stable.Commit
	}
	var last Kept
	for _, k := range l.Kept {
		if k.stable() && k.Commit != "" && k.Revision != l.record.UpdateRevision && k.Number > last.Number {
			last = k
		}
	}
	return last.Commit
}

// findGate returns the gate of this name if it is bound to what the spec says. One that has passed
// stays so, whatever its policy would be today.
func (l *look) findGate(name string, want v1alpha1.GateSpec) *v1alpha1.Gate {
	for i := range l.Gates {
		gate := &l.Gates[i]
		if gate.Name == name && gate.DeletionTimestamp == nil && boundTo(&gate.Spec, &want) &&
			(gate.Status.Decision == v1alpha1.DecisionPassed || equality.Semantic.DeepEqual(gate.Spec.Policy, want.Policy)) {
			return gate
		}
	}
	return nil
}

// boundTo reports whether a gate lets through what another would, whatever it asks for.
func boundTo(have, want *v1alpha1.GateSpec) bool {
	return have.ReleaseRef == want.ReleaseRef && have.Revision == want.Revision &&
		have.Attempt == want.Attempt && have.Step == want.Step && have.Index == want.Index
}

// leaving reports whether a gate of this name is being deleted, or is about to be.
func (l *look) leaving(name string, want v1alpha1.GateSpec) bool {
	return slices.ContainsFunc(l.Gates, func(g v1alpha1.Gate) bool {
		return g.Name == name && (g.DeletionTimestamp != nil || boundTo(&g.Spec, &want))
	})
}

// block makes the step wait. A user's confirmation stays until it is judged, unless a gate was rejected.
func block(d Decision, waiting []waitingGate) Decision {
	state := v1alpha1.StepBlocking
	confirmed := d.Release.Status.CurrentStepState == v1alpha1.StepCompleted && d.sameGates()
	manual := slices.ContainsFunc(waiting, func(w waitingGate) bool { return w.policy.Manual != nil })
	if confirmed && manual && rejectedOf(waiting) == nil {
		state = v1alpha1.StepCompleted
	}
	return d.with(func(r *record) { r.CurrentStepState = state })
}

// rejectedOf is the first of the gates that was rejected, nil if none was.
func rejectedOf(waiting []waitingGate) *v1alpha1.Gate {
	for _, w := range waiting {
		if w.gate != nil && w.gate.Status.Decision == v1alpha1.DecisionRejected {
			return w.gate
		}
	}
	return nil
}

// rejected reports whether a gate of the current step is on record as rejected.
func (l *look) rejected() bool {
	return slices.ContainsFunc(l.record.Gates, func(g v1alpha1.GateReference) bool { return g.Decision == v1alpha1.DecisionRejected })
}

// refusedOf reports whether an approval has come that does not count.
func refusedOf(waiting []waitingGate) bool { return slices.ContainsFunc(waiting, waitingGate.refused) }

// refused reports whether what was waited for has come, and does not count.
func (w waitingGate) refused() bool { return w.gate != nil && w.gate.Status.Refusal != nil }

// sameGates reports whether the status that a user may have patched names the gates of this step.
func (l *look) sameGates() bool {
	before := l.Release.Status.Gates
	return len(before) > 0 && slices.EqualFunc(before, l.record.Gates, func(a, b v1alpha1.GateReference) bool { return a.Name == b.Name })
}

// closeGates deletes the gates of earlier attempts, which no longer count.
func closeGates(d Decision, why Reason) Decision {
	for _, gate := range d.Gates {
		if gate.DeletionTimestamp == nil && gate.Spec.Attempt < d.record.Attempt {
			d = d.do(CloseGate{Reason: why, Name: gate.Name})
		}
	}
	return d
}

// closeUndecided deletes the gates of this attempt that nobody decides any more, because the
// steps were edited for example. Those that have passed stay as the record.
func closeUndecided(d Decision, why Reason) Decision {
	for _, gate := range d.undecided() {
		d = d.do(CloseGate{Reason: why, Name: gate.Name})
	}
	return d
}

func (l *look) undecided() []v1alpha1.Gate {
	return slices.DeleteFunc(slices.Clone(l.Gates), func(g v1alpha1.Gate) bool {
		return g.DeletionTimestamp != nil || g.Spec.Attempt != l.record.Attempt ||
			g.Status.Decision == v1alpha1.DecisionPassed
	})
}

// finish hands the workload back: every pod runs the new revision.
func finish(d Decision, st traffic.Standing) Decision {
	d, ended := endTraffic(d, st)
	if !ended {
		return d
	}
	d = d.with(func(r *record) {
		r.Phase, r.CurrentStepState, r.Gates, r.Answers = v1alpha1.PhaseFinalizing, v1alpha1.StepCompleted, nil, nil
	})
	d = d.do(d.moves(d.Workload.Mover.Finish(d.Workload.Digest))...)
	return d.do(HandBack{
		Reason: Reason("all pods run revision " + d.record.UpdateRevision),
		Hold:   *d.Workload.Hold,
	})
}
