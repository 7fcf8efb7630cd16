package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

const besideReason Reason = "a pod of the stable version, so that the new version is never alone"

// standBeside makes sure that the release of a template may begin on a workload that is held: no ReplicaSet that nobody
// has approved in full is alone, or complete, to the native controller. It would give a lone one every pod that
// somebody scales the workload to (T1), and would empty all others for a new one that it has given all its pods itself
// (T2). So the stable version gets a pod, and the new one loses that controller's note, before anything shows the release.
// It reports whether that is so.
func standBeside(d Decision, template *v1alpha1.ResolvedTemplate) (Decision, bool) {
	if w := d.Workload; !d.held() || !w.secured() || w.Replicas == 0 || d.returns(template) {
		return d, true
	}
	writes := d.besideWrites(template)
	switch needs := (Needs{Workload: !d.Workload.Live, Sets: !d.SetsLive, Release: !d.ReleaseLive}); {
	case len(writes) == 0:
		return d, true
	case d.nativeMayAct():
		return d, false
	case needs.Any():
		return d.need(needs), false
	}
	return failIfRefused(d.do(writes...)), false
}

// besideWrites are the writes that this takes.
func (l *look) besideWrites(template *v1alpha1.ResolvedTemplate) []Action {
	lone, revision := deployment.Lone(l.Sets), l.staysStable()
	stable := l.setOf(revision)
	alone := lone != nil && lone != stable && l.unapproved(lone, template)
	var writes []Action
	for i := range l.Sets {
		set := &l.Sets[i]
		isNew := set.Digest == template.Digest || alone && set == lone && set.Digest == l.Workload.Digest
		if isNew && set.Noted && set.Replicas > 0 && !set.Deleting {
			writes = append(writes, unnote(set, "or the native controller takes it for complete, and empties the others"))
		}
	}
	switch {
	case !alone:
	case stable != nil:
		writes = append(writes, ScaleSet{Reason: besideReason, Set: *stable, To: 1})
	case l.Workload.Revision == revision: // the template is at hand
		writes = append(writes, CreateSet{Reason: besideReason, Revision: revision, Replicas: 1})
	}
	return writes
}

// unapproved reports whether nobody has approved all pods of a ReplicaSet for the release of a template: it is what is
// being rolled back, or the very version that asks for its gates now.
func (l *look) unapproved(set *Set, template *v1alpha1.ResolvedTemplate) bool {
	return set.Digest == template.Digest || l.rollingBack() && set.Revision == l.left()
}

// staysStable is the revision to go back to when another release begins.
func (l *look) staysStable() string {
	if l.rollingBack() {
		return l.record.RollbackTo
	}
	return l.stableRevision()
}
