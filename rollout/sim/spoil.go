package sim

import "github.com/sluice-dev/sluice/api/v1alpha1"

// The ways in which somebody makes steps invalid that the API server may have: each of them reads
// as if more pods were approved than are.
const (
	fewerSteps    int32 = iota + 1 // the present step may seem to be the last one
	moreSteps                      // the last one no more
	rollbackSteps                  // those of a rollback
)

// spoil makes the steps of the release, or those of its rollback, invalid.
func spoil(w *World, way int32) bool {
	if w.Release.Purged || w.Release.Spoiled != 0 {
		return false
	}
	spec := *w.Release.Spec
	switch way {
	case fewerSteps:
		spec.Strategy.Steps = Steps("100% none", "1 none", "100%")
	case moreSteps:
		spec.Strategy.Steps = Steps("50% none", "100% none", "30% none", "100% none", "90% none", "100% none", "100%")
	default:
		spec.Rollback = &v1alpha1.RollbackStrategy{Steps: Steps("100%", "1", "100%")}
	}
	w.updateRelease(func(r *Release) { r.Spec, r.Spoiled, r.Generation = &spec, way, r.Generation+1 })
	return true
}

// repair gives the release the steps that it had.
func repair(w *World) bool {
	if w.Release.Purged || w.Release.Spoiled == 0 {
		return false
	}
	spec := *w.Release.Spec
	spec.Strategy.Steps, spec.Rollback = w.Sound.Strategy.Steps, w.Sound.Rollback
	if w.Traffic != nil && spec.Strategy.Traffic == nil {
		spec.Strategy.Steps = withoutTraffic(spec.Strategy.Steps)
	}
	w.updateRelease(func(r *Release) { r.Spec, r.Spoiled, r.Generation = &spec, 0, r.Generation+1 })
	return true
}
