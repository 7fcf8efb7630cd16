package sim

import (
	"slices"

	"github.com/sluice-dev/sluice/rollout/plan"
)

// allowMixedVersions sets spec.strategy.allowMixedVersions. It reports whether it was not set.
func (w *World) allowMixedVersions() bool {
	if w.Release.Purged || w.Release.Spec.Strategy.AllowMixedVersions {
		return false
	}
	spec := *w.Release.Spec
	spec.Strategy.AllowMixedVersions = true
	w.updateRelease(func(r *Release) { r.Spec, r.Generation = &spec, r.Generation+1 })
	return true
}

// keepsOneVersion: a workload whose user gave it strategy Recreate, and that has pods, is taken
// over for a rollback only, unless the release says that versions may be mixed.
func keepsOneVersion(w *World, c change) string {
	own := w.Past.Own
	_, takes := c.action.(plan.TakeOver)
	started := c.workload.Hold != nil || c.pass.stored.Held != nil || c.pass.intent.Rollback != nil
	if !takes || started || own.Strategy != Recreate || own.Disputed || w.Past.OutOfBand || c.pass.release.Spec.Strategy.AllowMixedVersions {
		return ""
	}
	if slices.ContainsFunc(c.sets, func(s Set) bool { return s.Replicas > 0 }) {
		return "the workload is taken over, and its strategy is Recreate"
	}
	return ""
}
