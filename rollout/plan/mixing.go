package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// MixesVersions reports whether a release must not be started for a workload that is not taken over: its own strategy says
// that two versions never run at once.
func MixesVersions(strategy *v1alpha1.ReleaseStrategy, w *Workload) bool {
	return w.native().OneVersion && w.Replicas > 0 && !strategy.AllowMixedVersions
}

// mixesVersions reports whether a release is not started because its workload must run one version at a time. It is
// asked before the workload is taken over: from then on it may have such a strategy by our doing. A rollback is not asked.
func (l *look) mixesVersions() bool {
	w := *l.Workload
	if w.secured() && w.Digest == l.record.Resolved.Digest {
		return false // taken over already, by a release whose annotation and status are lost
	}
	if l.pods.All.Most > 0 {
		w.Replicas = max(w.Replicas, 1) // scaled to 0, and not there yet
	}
	return !l.rollingBack() && MixesVersions(&l.Release.Spec.Strategy, &w)
}
