package plan

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// gates holds the Gates of a release with what binds them to its attempt.
type gates struct {
	// all includes Gates of earlier attempts.
	all     []v1alpha1.Gate
	release *v1alpha1.BatchRelease
	record  *record
	steps   steps
	history history
	// ride tells how far the train of the release lets it go.
	ride ride
}

// indexed is a gate's policy with its place in the step.
type indexed struct {
	step, index int32
	policy      v1alpha1.GatePolicy
}

// waitingGate is a gate that has not passed. Its object is nil while it is being created.
type waitingGate struct {
	policy v1alpha1.GatePolicy
	gate   *v1alpha1.Gate
}

// refused reports whether an approval has come that does not count.
func (w waitingGate) refused() bool { return w.gate != nil && w.gate.Status.Refusal != nil }

// rejectedOf returns the first gate that was rejected; nil if none was.
func rejectedOf(waiting []waitingGate) *v1alpha1.Gate {
	for _, w := range waiting {
		if w.gate != nil && w.gate.Status.Decision == v1alpha1.DecisionRejected {
			return w.gate
		}
	}
	return nil
}

// refusedOf reports whether a gate has an approval that does not count.
func refusedOf(waiting []waitingGate) bool { return slices.ContainsFunc(waiting, waitingGate.refused) }

// toPass returns the gates of the current step that need an object.
func (g gates) toPass() []indexed { return g.toPassAt(g.steps.index()) }

// toPassAt returns the gates of a step that need an object: all but those of type none and those
// that a jump skips.
func (g gates) toPassAt(step int32) []indexed {
	var wanted []indexed
	for i, policy := range g.steps.policies(step) {
		if policy.Type() != v1alpha1.GateNone && !g.record.jumpsOver(step, policy) {
			wanted = append(wanted, indexed{step, int32(i), policy})
		}
	}
	return wanted
}

// waiting returns the gates of the current step that have not passed.
func (g gates) waiting() []waitingGate { return g.waitingAt(g.steps.index()) }

// waitingAt returns the gates of a step that have not passed.
func (g gates) waitingAt(step int32) []waitingGate {
	var waiting []waitingGate
	for _, at := range g.toPassAt(step) {
		gate := g.find(g.name(at), g.spec(at))
		if gate == nil || gate.Status.Decision != v1alpha1.DecisionPassed {
			waiting = append(waiting, waitingGate{at.policy, gate})
		}
	}
	return waiting
}

// passed reports whether all gates of the current step have passed.
func (g gates) passed() bool { return g.passedAt(g.steps.index()) }

// passedAt reports whether all gates of a step have passed.
func (g gates) passedAt(step int32) bool {
	return len(g.waitingAt(step)) == 0 && !g.ride.holds(step, int(step) == len(g.steps.list())-1)
}

// askedFor reports whether a gate of this attempt belongs to the step, with the same policy.
func (g gates) askedFor(gate *v1alpha1.Gate, policies []indexed) bool {
	return slices.ContainsFunc(policies, func(at indexed) bool {
		return gate.Name == g.name(at) && equality.Semantic.DeepEqual(gate.Spec.Policy, at.policy)
	})
}

// name returns the name of a gate of this attempt.
func (g gates) name(at indexed) string {
	return fmt.Sprintf("%s-%s-%d-%d-%d", g.release.Name, g.record.UpdateRevision, g.record.Attempt, at.step, at.index)
}

// spec returns the spec of a gate of this attempt. The commit of a followed workload is a claim of
// its applier, by which no gate decides, also once the release gets its template from Git.
func (g gates) spec(at indexed) v1alpha1.GateSpec {
	spec := v1alpha1.GateSpec{
		ReleaseRef: v1alpha1.ReleaseReference{Name: g.release.Name, UID: g.release.UID},
		Revision:   g.record.UpdateRevision,
		Attempt:    g.record.Attempt,
		Step:       at.step,
		Index:      at.index,
		Type:       at.policy.Type(),
		Policy:     at.policy,
	}
	if g.release.Spec.Follow == "" {
		spec.Commit, spec.StableCommit = g.record.Commit, g.history.stableCommit(g.record.StableRevision, g.record.UpdateRevision)
		if run := g.record.Run; run != nil {
			spec.StableCommit = run.StableCommit
		}
		if copiedBefore(g.release, g.record) && spec.Commit != g.release.Annotations[v1alpha1.CommitAnnotation] {
			spec.Commit = ""
		}
	}
	return spec
}

// find returns the gate of a name if it is bound as the spec says; nil otherwise. A gate that has
// passed stays passed when its policy is edited.
func (g gates) find(name string, want v1alpha1.GateSpec) *v1alpha1.Gate {
	for i := range g.all {
		gate := &g.all[i]
		if gate.Name == name && gate.DeletionTimestamp == nil && boundTo(&gate.Spec, &want) &&
			(gate.Status.Decision == v1alpha1.DecisionPassed || equality.Semantic.DeepEqual(gate.Spec.Policy, want.Policy)) {
			return gate
		}
	}
	return nil
}

// boundTo reports whether two specs are of the same gate of the same attempt, with any policy.
func boundTo(have, want *v1alpha1.GateSpec) bool {
	return have.ReleaseRef == want.ReleaseRef && have.Revision == want.Revision &&
		have.Attempt == want.Attempt && have.Step == want.Step && have.Index == want.Index
}

// leaving reports whether a gate of this name is being deleted, or is about to be.
func (g gates) leaving(name string, want v1alpha1.GateSpec) bool {
	return slices.ContainsFunc(g.all, func(gate v1alpha1.Gate) bool {
		return gate.Name == name && (gate.DeletionTimestamp != nil || boundTo(&gate.Spec, &want))
	})
}

// undecided returns the gates of this attempt that have not passed, guards aside.
func (g gates) undecided() []v1alpha1.Gate {
	return slices.DeleteFunc(slices.Clone(g.all), func(gate v1alpha1.Gate) bool {
		return gate.DeletionTimestamp != nil || gate.IsGuard() || gate.Spec.Attempt != g.record.Attempt ||
			gate.Status.Decision == v1alpha1.DecisionPassed
	})
}

// awaited reports whether a recorded gate of the step has not passed. While the steps are invalid
// it goes by the record alone.
func (g gates) awaited() bool {
	if !g.steps.unreadable() {
		return len(g.record.Gates) > 0 && !g.passed()
	}
	return slices.ContainsFunc(g.record.Gates, func(open v1alpha1.GateReference) bool {
		return !g.decided(open, v1alpha1.DecisionPassed)
	})
}

// rejected reports whether a recorded gate of the step was rejected, even if the steps have been
// edited since. The record gets a decision only once requests and pods are as the step says.
func (g gates) rejected() bool {
	return slices.ContainsFunc(g.record.Gates, func(open v1alpha1.GateReference) bool {
		return open.Decision == v1alpha1.DecisionRejected || g.decided(open, v1alpha1.DecisionRejected)
	})
}

// decided reports whether a gate of this attempt has a decision.
func (g gates) decided(open v1alpha1.GateReference, decision v1alpha1.Decision) bool {
	return slices.ContainsFunc(g.all, func(gate v1alpha1.Gate) bool {
		return gate.Name == open.Name && gate.Spec.Attempt == g.record.Attempt && gate.Status.Decision == decision
	})
}

// sameAs reports whether references name the recorded gates of the step.
func (g gates) sameAs(before []v1alpha1.GateReference) bool {
	return len(before) > 0 && slices.EqualFunc(before, g.record.Gates, func(a, b v1alpha1.GateReference) bool { return a.Name == b.Name })
}

// NotAsInGitIndex is the index of the gate of NotAsInGit in the first step: no gate of a step has
// it.
const NotAsInGitIndex = 1000

// notAsInGitGate returns the gate that a person passes where the workload runs a template that Git
// never had.
func notAsInGitGate() indexed {
	return indexed{0, NotAsInGitIndex, v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}}
}

// notAsInGit reports whether the workload runs a template that Git is not known to have had, and no
// person has allowed the one in Git to replace it. It counts before the first release of a
// workload: the template may come from outside the repository, such as variables of Flux, and no
// commit has changed it.
func (g gates) notAsInGit() waitingGate {
	at := notAsInGitGate()
	gate := g.find(g.name(at), g.spec(at))
	if gate != nil && gate.Status.Decision == v1alpha1.DecisionPassed {
		return waitingGate{}
	}
	return waitingGate{at.policy, gate}
}

// nextAttempt returns an attempt that no gate belongs to, even if the status was lost.
func (g gates) nextAttempt() int64 {
	last := g.record.Attempt
	for i := range g.all {
		last = max(last, g.all[i].Spec.Attempt)
	}
	return last + 1
}

// missing returns how many gates of a step have not passed.
func (g gates) missing(step int32) int {
	missing := 0
	for _, policy := range g.steps.policies(step) {
		if policy.None == nil {
			missing++
		}
	}
	for i := range g.all {
		gate := &g.all[i]
		if gate.Spec.Attempt == g.record.Attempt && gate.Spec.Step == step && gate.Spec.Revision == g.record.UpdateRevision &&
			!gate.IsGuard() && gate.Status.Decision == v1alpha1.DecisionPassed {
			missing--
		}
	}
	return max(missing, 0)
}

// maxApprovers limits the list of users who passed gates, in bytes.
const maxApprovers = 256

// approvedBy lists the actors of the evidence on which this attempt's gates have passed, in the
// order of the gates.
func (g gates) approvedBy() string {
	all := slices.Clone(g.all)
	slices.SortFunc(all, func(a, b v1alpha1.Gate) int {
		return cmp.Or(cmp.Compare(a.Spec.Step, b.Spec.Step), cmp.Compare(a.Spec.Index, b.Spec.Index))
	})
	var actors []string
	for _, gate := range all {
		if gate.Spec.Attempt != g.record.Attempt || gate.Status.Decision != v1alpha1.DecisionPassed {
			continue
		}
		for _, evidence := range gate.Status.Evidence {
			actor := evidence.Actor
			if actor != "" && evidence.Kind == v1alpha1.EvidenceForced {
				actor += " (forced)"
			}
			if actor != "" && approves(&gate, &evidence) && !slices.Contains(actors, actor) {
				actors = append(actors, actor)
			}
		}
	}
	return within(actors, maxApprovers)
}

// approves reports whether evidence is an approval: a gate that asks for reviews does not count the
// merge alone.
func approves(gate *v1alpha1.Gate, fact *v1alpha1.Evidence) bool {
	policy := gate.Spec.Policy.PullRequest
	return policy == nil || policy.MinApprovals == 0 || fact.Kind != v1alpha1.EvidencePullRequestMerged
}
