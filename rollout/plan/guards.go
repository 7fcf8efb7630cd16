package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// guards returns the guards that the attempt is to have.
func (g gates) guards() []indexed {
	if g.record.isRollback() || !g.record.entered() {
		return nil
	}
	guards := make([]indexed, len(g.steps.spec.Strategy.Guards))
	for i, policy := range g.steps.spec.Strategy.Guards {
		guards[i] = indexed{0, int32(v1alpha1.GuardIndex + i), policy}
	}
	return guards
}

// rejectedGuard returns the first rejected guard of the attempt that turns the release round, or
// else the first rejected one; nil if none is.
func (g gates) rejectedGuard() (first *v1alpha1.Gate) {
	if g.record.idle() {
		return nil
	}
	for _, at := range g.guards() {
		gate := g.find(g.name(at), g.spec(at))
		switch {
		case gate == nil || gate.Status.Decision != v1alpha1.DecisionRejected:
		case gate.Spec.Policy.OnReject == v1alpha1.RejectRollback:
			return gate
		case first == nil:
			first = gate
		}
	}
	return first
}

// guard creates the missing guards of a release, deletes those that it does not ask for any more,
// and records them. They decide nothing before they have measured something, so no pod waits for
// them.
func guard(d Decision) Decision {
	wanted := d.snap.gates().guards()
	for i := range d.snap.obs.Gates {
		if gate := &d.snap.obs.Gates[i]; gate.IsGuard() && gate.DeletionTimestamp == nil && gate.Spec.Attempt == d.snap.record.Attempt &&
			!d.snap.gates().askedFor(gate, wanted) {
			d = d.do(CloseGate{Reason: "the guards were edited", Name: gate.Name})
		}
	}
	var open []v1alpha1.GateReference
	for _, at := range wanted {
		spec, name := d.snap.gates().spec(at), d.snap.gates().name(at)
		gate, ref := d.snap.gates().find(name, spec), v1alpha1.GateReference{Name: name, Type: spec.Type}
		if gate != nil {
			ref.Decision, ref.Undecided = gate.Status.Decision, gate.Status.Undecided
		}
		open = append(open, ref)
		if gate == nil && !d.snap.gates().leaving(name, spec) {
			d = d.do(OpenGate{Reason: "the release begins", Name: name, Spec: spec})
		}
	}
	if slices.Equal(open, d.snap.record.Guards) {
		return d
	}
	return d.with(func(r *record) { r.Guards = open })
}

// rollBackGuarded begins the rollback of a release if its rejected guard, or else a rejected gate
// of its step, says so. It reports whether it does, or needs to read first.
func rollBackGuarded(d Decision, blocked bool) (Decision, bool) {
	rejected := d.snap.gates().rejectedGuard()
	switch {
	case rejected.Spec.Policy.OnReject != v1alpha1.RejectRollback && blocked:
		return rollBackRejected(d)
	case rejected.Spec.Policy.OnReject != v1alpha1.RejectRollback:
		return d, false
	case !d.snap.live(ReadGates): // a cache may show a guard that was opened again
		return d.read(ReadGates), true
	}
	return turnBack(d, v1alpha1.TriggerGateRejected, rejectionWords(d.snap, rejected))
}
