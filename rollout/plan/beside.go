package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// prepareToBegin makes sure that the release of a template may begin on a workload that is held: what its mover asks for is
// written before anything shows the release. It reports whether that is so.
func prepareToBegin(d Decision, template *v1alpha1.ResolvedTemplate) (Decision, bool) {
	if w := d.Workload; !d.held() || !w.secured() || w.Replicas == 0 || d.returns(template) {
		return d, true
	}
	writes, waits := d.Workload.Mover.Prepare(d.beginning(template))
	switch reads := ReadWorkload | ReadCounts | ReadRelease; {
	case waits:
		return d, false
	case len(writes) == 0:
		return d, true
	case d.nativeMayAct():
		return d, false
	case !d.Live.Has(reads):
		return d.read(reads), false
	}
	return failIfRefused(d.do(d.moves(writes)...)), false
}

// beginning is the start of the release of a template.
func (l *look) beginning(template *v1alpha1.ResolvedTemplate) mover.Beginning {
	b := mover.Beginning{
		Template: template.Digest, Digest: l.Workload.Digest, Stable: l.stableRevision(),
		Replicas: l.Workload.Replicas, Bounds: l.bounds(), Mode: mover.Mode{AwaitTermination: l.awaitsTermination()},
	}
	if l.rollingBack() {
		b.Stable, b.Left = l.record.RolledBackTo(), l.left()
	}
	b.AtHand = l.empty || l.Workload.Revision == b.Stable
	return b
}
