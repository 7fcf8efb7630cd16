package sim

import (
	"slices"

	"github.com/sluice-dev/sluice/rollout/plan"
)

// keepsOneVersion: a workload whose user gave it strategy Recreate, and that has pods, is taken
// over for a rollback only, unless the release says that versions may be mixed.
func keepsOneVersion(w *World, c change) string {
	own := past(w).Own
	_, takes := c.action.(plan.TakeOver)
	started := c.workload.Hold != nil || c.pass.stored.Held != nil || c.pass.intent.Rollback != nil
	if !takes || started || w.ownStrategy != Recreate || own.Disputed || past(w).OutOfBand || c.pass.release.Spec.Strategy.AllowMixedVersions {
		return ""
	}
	if slices.ContainsFunc(c.sets, func(s Set) bool { return s.Replicas > 0 }) {
		return "the workload is taken over, and its strategy is Recreate"
	}
	return ""
}
