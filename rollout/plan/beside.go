package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

const besideReason Reason = "a pod of the stable version, so that no other stands alone"

// standsBeside reports whether the release of a template may begin on a workload that is held: no ReplicaSet that nobody
// has approved in full is alone, or complete, to the native controller. It would give a lone one every pod that
// somebody scales the workload to (T1), and would empty all others for a new one that it has given all its pods itself
// (T2). So the stable version gets a pod, and the new one loses that controller's note, before anything tells of the release.
func (p *pass) standsBeside(template *v1alpha1.ResolvedTemplate) bool {
	if w := p.Workload; !w.heldBy(p.Release) || !w.secured() || w.Replicas == 0 || p.returns(template) {
		return true
	}
	lone, revision := deployment.Lone(p.Sets), p.staysStable()
	stable := p.setOf(revision)
	alone := lone != nil && lone != stable && p.unapproved(lone, template)
	var writes []Action
	for i := range p.Sets {
		set := &p.Sets[i]
		isNew := set.Digest == template.Digest || alone && set == lone && set.Digest == p.Workload.Digest
		if isNew && set.Noted && set.Replicas > 0 && !set.Deleting {
			writes = append(writes, unnote(set, "or the native controller takes it for complete, and empties the others"))
		}
	}
	switch {
	case !alone:
	case stable != nil:
		writes = append(writes, ScaleSet{Reason: besideReason, Set: *stable, To: 1})
	case p.Workload.Revision == revision: // the template is at hand
		writes = append(writes, CreateSet{Reason: besideReason, Revision: revision, Replicas: 1})
	}
	switch {
	case len(writes) == 0:
		return true
	case p.nativeMayAct():
		return false
	}
	if needs := (Needs{Workload: !p.Workload.Live, Sets: !p.SetsLive, Release: !p.ReleaseLive}); needs.Any() {
		p.need(needs)
		return false
	}
	p.do(writes...)
	p.checkRefused()
	return false
}

// unapproved reports whether nobody has approved all pods of a ReplicaSet for the release of a template: it is what is
// being rolled back, or the very version that asks for its gates now.
func (p *pass) unapproved(set *Set, template *v1alpha1.ResolvedTemplate) bool {
	return set.Digest == template.Digest || p.rollingBack() && set.Revision == p.left()
}

// staysStable is the revision that is the one to go back to when another release begins.
func (p *pass) staysStable() string {
	if p.rollingBack() {
		return p.status.RollbackTo
	}
	return p.stableRevision()
}

// setOf is the ReplicaSet of a revision, nil if there is none.
func (p *pass) setOf(revision string) *Set {
	i := slices.IndexFunc(p.Sets, func(s Set) bool { return s.Revision == revision && !s.Deleting })
	if i < 0 {
		return nil
	}
	return &p.Sets[i]
}
