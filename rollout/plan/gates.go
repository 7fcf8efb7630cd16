package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// passStep goes on from a step that is done: to its gates, to the next step, to the end.
func (p *pass) passStep() {
	policies := p.gatesToPass()
	p.dropGates(policies)
	switch {
	case p.LastScale.IsZero() && !p.SetsLive: // what an earlier process wrote may be in no cache yet
		p.need(Needs{Sets: true})
	case len(policies) > 0 && len(p.status.Gates) == 0 && (p.rescaling() || !p.settled()):
		return
	case len(policies) > 0 && !p.gatesPassed(policies):
		return
	case p.lastStep():
		p.finish()
	case p.exceeds():
		return
	default:
		// Whoever finds the pods of the next step in one that was jumped back to would take them away again.
		p.out.StatusFirst = p.stepsBack()
		p.enterStep(p.stepIndex() + 1)
	}
}

// exceeds reports whether more pods run the revision than this step or the next says, because spec.replicas changed:
// a step that is entered keeps the pods that it finds, so that what is too many goes first. Those that shrinkUpdate
// leaves are not waited for.
func (p *pass) exceeds() bool {
	next := *p
	next.status.CurrentStepIndex = p.stepIndex() + 1
	most := max(p.target, next.share().entered(p.Workload.Replicas))
	if p.grown() && !p.stepsBack() {
		most = max(most, p.reach())
	}
	return p.rescaling() && p.updateSet().Replicas > most
}

// indexed is a gate's policy with its place in the step.
type indexed struct {
	index  int32
	policy v1alpha1.GatePolicy
}

// gatesToPass are the current step's but for those of type none, which cost no object.
func (p *pass) gatesToPass() []indexed {
	var wanted []indexed
	for i, policy := range p.gates() {
		if policy.Type() != v1alpha1.GateNone && !p.jumpsOver(policy) {
			wanted = append(wanted, indexed{int32(i), policy})
		}
	}
	return wanted
}

// gatesPassed opens the gates of a step that is done and reports whether all have passed.
// A decision counts only for this attempt at this revision, and only when it was read live.
func (p *pass) gatesPassed(policies []indexed) bool {
	waiting := p.openGates(policies)
	if p.blocked = len(waiting) > 0; p.blocked {
		if p.refused != nil { // nobody can pass a gate that there is not: the deadline runs on
			p.status.Gates = nil
			return false
		}
		p.block(waiting)
		p.rollBackRejected()
		return false
	}
	p.out.Needs = Needs{Gates: !p.GatesLive, Release: !p.ReleaseLive, Sets: !p.SetsLive}
	if p.out.Needs.Any() {
		return false
	}
	p.noteForced()
	return true
}

// noteForced puts on record which gates of the step were passed past their policies. The record outlives them.
func (p *pass) noteForced() {
	for _, gate := range p.Gates {
		force := gate.Forced()
		if gate.Spec.Attempt != p.status.Attempt || gate.Spec.Step != p.stepIndex() || force == nil {
			continue
		}
		forced := v1alpha1.ForcedGate{Step: gate.Spec.Step, Type: gate.Spec.Type, Force: *force}
		if !slices.Contains(p.status.Forced, forced) {
			p.status.Forced = append(p.status.Forced, forced)
		}
	}
}

// reach is how many updated pods the steps allow whose predecessors' gates have passed. There may be as many
// though the status speaks of an earlier step: the one that began the later step was lost.
func (p *pass) reach() int32 {
	ahead, most := *p, p.target
	for p.invalid == nil && !ahead.lastStep() && ahead.letThrough() {
		ahead.status.CurrentStepIndex = ahead.stepIndex() + 1
		most = max(most, ahead.share().entered(p.Workload.Replicas))
	}
	return most
}

// letThrough reports whether all gates of the current step have passed.
func (p *pass) letThrough() bool {
	return !slices.ContainsFunc(p.gatesToPass(), func(g indexed) bool {
		gate := p.findGate(p.gateName(g.index), p.gateSpec(g))
		return gate == nil || gate.Status.Decision != v1alpha1.DecisionPassed
	})
}

// dropGates deletes the gates of this attempt that have not passed and that the step does not ask for,
// or no longer in these words, because the steps were edited. A cache may show one as it was before it
// passed, so that they are read live first.
func (p *pass) dropGates(policies []indexed) {
	for _, gate := range p.undecided() {
		switch {
		case p.asksFor(&gate, policies):
		case !p.GatesLive:
			p.need(Needs{Gates: true})
			return
		default:
			p.do(CloseGate{Reason: "the steps were edited", Name: gate.Name})
		}
	}
}

// asksFor reports whether a gate of this attempt is one of the step's, with the same policy.
func (p *pass) asksFor(gate *v1alpha1.Gate, policies []indexed) bool {
	return slices.ContainsFunc(policies, func(g indexed) bool {
		return gate.Name == p.gateName(g.index) && equality.Semantic.DeepEqual(gate.Spec.Policy, g.policy)
	})
}

// openGates makes sure that the step's gates exist and returns those that have not passed.
// None is opened before the pods are exactly as the step says, nor before one of the same name is gone:
// what was opened for it on a forge is closed first.
func (p *pass) openGates(policies []indexed) []waitingGate {
	var waiting []waitingGate
	p.status.Gates = nil
	for _, g := range policies {
		spec := p.gateSpec(g)
		name := p.gateName(g.index)
		p.status.Gates = append(p.status.Gates, v1alpha1.GateReference{Name: name, Type: spec.Type})
		gate := p.findGate(name, spec)
		if gate == nil && !p.leaving(name, spec) {
			p.do(OpenGate{Reason: Reason("batch " + p.status.Batch + " is done"), Name: name, Spec: spec})
		}
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

// rejection says that a gate was rejected, and why.
func (p *pass) rejection(gate *v1alpha1.Gate) string {
	return fmt.Sprintf("batch %s: gate %s was rejected: %s", p.status.Batch, gate.Name, gate.Status.Message)
}

func (p *pass) gateName(index int32) string {
	return fmt.Sprintf("%s-%s-%d-%d-%d", p.Release.Name, p.status.UpdateRevision, p.status.Attempt, p.stepIndex(), index)
}

func (p *pass) gateSpec(g indexed) v1alpha1.GateSpec {
	return v1alpha1.GateSpec{
		ReleaseRef: v1alpha1.ReleaseReference{Name: p.Release.Name, UID: p.Release.UID},
		Revision:   p.status.UpdateRevision,
		Attempt:    p.status.Attempt,
		Commit:     p.status.Commit,

		StableCommit: p.stableCommit(),

		Step:   p.stepIndex(),
		Index:  g.index,
		Type:   g.policy.Type(),
		Policy: g.policy,
	}
}

// stableCommit is the commit that ran before the release: the stable revision's or, where somebody has rolled that
// out past Git, the one that was released last.
func (p *pass) stableCommit() string {
	if stable := p.kept(p.status.StableRevision); stable != nil && stable.Commit != "" {
		return stable.Commit
	}
	var last Kept
	for _, k := range p.Kept {
		if k.stable() && k.Commit != "" && k.Revision != p.status.UpdateRevision && k.Number > last.Number {
			last = k
		}
	}
	return last.Commit
}

// findGate returns the gate of this name if it is bound to what the spec says. One that has passed
// stays so, whatever its policy would be today.
func (p *pass) findGate(name string, want v1alpha1.GateSpec) *v1alpha1.Gate {
	for i := range p.Gates {
		gate := &p.Gates[i]
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

// leaving reports whether a gate has this name that is being deleted, or is about to be.
func (p *pass) leaving(name string, want v1alpha1.GateSpec) bool {
	return slices.ContainsFunc(p.Gates, func(g v1alpha1.Gate) bool {
		return g.Name == name && (g.DeletionTimestamp != nil || boundTo(&g.Spec, &want))
	})
}

// block says what the step waits for. A user's confirmation stays until it is judged.
func (p *pass) block(waiting []waitingGate) {
	confirmed := p.Release.Status.CurrentStepState == v1alpha1.StepCompleted && p.sameGates()
	p.status.CurrentStepState = v1alpha1.StepBlocking
	for _, w := range waiting {
		if w.gate != nil && w.gate.Status.Decision == v1alpha1.DecisionRejected {
			p.say(v1alpha1.ReasonGateRejected, p.rejection(w.gate))
			return
		}
		if w.policy.Manual != nil && confirmed {
			p.status.CurrentStepState = v1alpha1.StepCompleted
		}
	}
	reason := v1alpha1.ReasonBlocking
	if slices.ContainsFunc(waiting, waitingGate.refused) {
		reason = v1alpha1.ReasonApprovalRefused
	}
	p.say(reason, fmt.Sprintf("batch %s done with %s of %d, waiting for %s",
		p.status.Batch, pods(p.status.TargetReplicas), p.status.Replicas, awaitedWords(waiting)))
}

// awaitedWords names what is waited for: what people find on the forge by the name that it has there,
// and then the types of the other gates.
func awaitedWords(waiting []waitingGate) string {
	var words, types []string
	for _, w := range waiting {
		if name := w.onForge(); name != "" {
			words = append(words, name)
		} else {
			types = append(types, string(w.policy.Type()))
		}
	}
	if len(types) > 0 {
		words = append(words, "gate: "+strings.Join(types, ", "))
	}
	return strings.Join(words, ", ")
}

// onForge names what is waited for on the forge, and says so if it has come in vain.
func (w waitingGate) onForge() string {
	if w.gate == nil {
		return w.policy.AwaitedOnForge(0)
	}
	words := w.policy.AwaitedOnForge(w.gate.PullRequestNumber())
	if w.refused() {
		words += ", which was merged and refused: " + w.gate.Status.Refusal.Message
	}
	return words
}

// refused reports whether what was waited for has come, and does not count.
func (w waitingGate) refused() bool { return w.gate != nil && w.gate.Status.Refusal != nil }

// sameGates reports whether the status that a user may have patched names the gates of this step.
func (p *pass) sameGates() bool {
	before := p.Release.Status.Gates
	if len(before) == 0 || len(before) != len(p.status.Gates) {
		return false
	}
	for i := range before {
		if before[i].Name != p.status.Gates[i].Name {
			return false
		}
	}
	return true
}

// closeGates deletes the gates of earlier attempts, which count no more.
func (p *pass) closeGates(why Reason) {
	for _, gate := range p.Gates {
		if gate.DeletionTimestamp == nil && gate.Spec.Attempt < p.status.Attempt {
			p.do(CloseGate{Reason: why, Name: gate.Name})
		}
	}
}

// closeUndecided deletes the gates of this attempt that nobody decides any more, because the
// steps were edited for example. Those that have passed stay as the record.
func (p *pass) closeUndecided(why Reason) {
	for _, gate := range p.undecided() {
		p.do(CloseGate{Reason: why, Name: gate.Name})
	}
}

func (p *pass) undecided() []v1alpha1.Gate {
	return slices.DeleteFunc(slices.Clone(p.Gates), func(g v1alpha1.Gate) bool {
		return g.DeletionTimestamp != nil || g.Spec.Attempt != p.status.Attempt ||
			g.Status.Decision == v1alpha1.DecisionPassed
	})
}

// finish hands the workload back: every pod runs the new revision.
func (p *pass) finish() {
	p.status.Phase = v1alpha1.PhaseFinalizing
	p.status.CurrentStepState, p.status.Gates, p.status.Answers = v1alpha1.StepCompleted, nil, nil
	p.say(v1alpha1.ReasonHandingBack, "handing the workload back")
	if update := p.updateSet(); update.Noted {
		p.do(unnote(update, "or the native controller may take it for unfinished scaling, for ever"))
	}
	p.do(HandBack{
		Reason: Reason("all pods run revision " + p.status.UpdateRevision),
		Hold:   *p.Workload.Hold,
	})
}
