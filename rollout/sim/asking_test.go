package sim

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// asksFirst says that a release from Git neither takes over a workload that runs a template which
// Git did not have, nor moves its pods, before a person allows it. By a rollback, a person keeps
// what runs, and the next template is released like any other.
func asksFirst(w *World, c change) string {
	asked := slices.ContainsFunc(w.Gates, func(g Gate) bool {
		return g.Spec.Index == plan.NotAsInGitIndex && g.Decision == v1alpha1.DecisionPassed
	})
	status := w.Release.Status
	past(w).Allowed = past(w).Allowed || asked || status.Phase == v1alpha1.PhaseCompleted || status.Rollback != nil
	if !w.Release.FromGit || past(w).Allowed {
		return ""
	}
	_, takesOver := c.action.(plan.TakeOver)
	if _, moves := c.action.(plan.MovePods); takesOver || moves {
		return "no person has allowed it"
	}
	return ""
}
