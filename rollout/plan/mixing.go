package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// MixesVersions says why a release may not be started for a workload that is not taken over: its own strategy asks for
// never running two versions at once. Empty if nothing stands against it.
func MixesVersions(strategy *v1alpha1.ReleaseStrategy, w *Workload) string {
	if !w.Recreate || w.Replicas == 0 || strategy.AllowMixedVersions {
		return ""
	}
	return preflight.MixesVersions(w.Name)
}

// wouldMixVersions reports whether a release is not started because its workload must run one version at a time. It is
// asked before the workload is taken over: from then on it has strategy Recreate by our doing. A rollback is not asked.
func (p *pass) wouldMixVersions() bool {
	w := *p.Workload
	if w.secured() && w.Digest == p.status.Resolved.Digest {
		return false // taken over already, by a release whose annotation and status are lost
	}
	if slices.ContainsFunc(p.Sets, func(s Set) bool { return s.Replicas > 0 || s.Current > 0 }) {
		w.Replicas = max(w.Replicas, 1) // scaled to 0, and not there yet
	}
	why := MixesVersions(&p.Release.Spec.Strategy, &w)
	if why == "" || p.rollingBack() {
		if p.status.Reason == v1alpha1.ReasonWouldMixVersions {
			p.say(v1alpha1.ReasonTakingOver, "taking over the workload")
		}
		return false
	}
	p.say(v1alpha1.ReasonWouldMixVersions, "the workload is not taken over: "+why)
	p.stall(v1alpha1.ReasonWouldMixVersions, why)
	return true
}
