package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// NotAsInGitIndex is the place of the gate of NotAsInGit in the first step: no gate of a step has it.
const NotAsInGitIndex = 1000

// notAsInGit reports whether the workload runs a template that Git is not known to have had, and no person has said yet that
// the one in Git may replace it. It is so before the first release of a workload: what runs may come from what is not in the
// repository, such as variables of Flux, and no commit has changed it. What somebody has applied by hand is that person's wish.
func (l *look) notAsInGit() bool {
	known := l.record.StableRevision != "" || l.Release.Annotations[v1alpha1.CurrentStableAnnotation] != ""
	return l.Release.Labels[v1alpha1.SourceLabel] != "" && !known && !l.isRollback() && !l.failed() && l.waitsForUnseen().policy.Manual != nil
}

func unseenGate() indexed {
	return indexed{0, NotAsInGitIndex, v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}}
}

// waitsForUnseen is the gate of NotAsInGit; without a policy if it has passed.
func (l *look) waitsForUnseen() waitingGate {
	g := unseenGate()
	gate := l.findGate(l.gateName(g), l.gateSpec(g))
	if gate != nil && gate.Status.Decision == v1alpha1.DecisionPassed {
		return waitingGate{}
	}
	return waitingGate{g.policy, gate}
}

// askFirst opens the gate of NotAsInGit, and touches nothing.
func askFirst(d Decision) Decision {
	d = openGates(d, []indexed{unseenGate()})
	if d.refused != nil {
		return failIfRefused(d.with(func(r *record) { r.Gates = nil }))
	}
	return block(d, []waitingGate{d.waitsForUnseen()})
}

// asked is the decision without the gate of NotAsInGit, which has passed.
func asked(d Decision) Decision {
	if d.entered() || !slices.ContainsFunc(d.record.Gates, func(g v1alpha1.GateReference) bool { return g.Name == d.gateName(unseenGate()) }) {
		return d
	}
	return d.with(func(r *record) { r.Gates, r.Answers, r.CurrentStepState = nil, nil, v1alpha1.StepInitial })
}

// notAsInGitWords say what is waited for.
func (t *telling) notAsInGitWords() (reason, message string) {
	if gate := t.waitsForUnseen(); rejectedOf([]waitingGate{gate}) != nil {
		return v1alpha1.ReasonNotAsInGit, "the workload keeps a template that is not in Git: a person has rejected the one in Git (" +
			gate.gate.Status.Message + "); bring Git to what runs, or commit another template"
	}
	return v1alpha1.ReasonNotAsInGit, "the workload runs another template than the one in Git, and no commit has brought the difference: " +
		"compare them ('sluice plan --cluster'), then commit what runs, or let Git replace it: 'sluice approve " +
		t.Release.Name + " -n " + t.Release.Namespace + "'"
}
