package plan

import (
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// watchDrift looks whether the workload of a completed release still has the template that was
// released. How it differs is asked only when the digests do, so that it costs nothing otherwise.
func (p *pass) watchDrift() {
	if p.Workload.Digest == p.status.Resolved.Digest {
		p.endDrift()
		return
	}
	template := p.template()
	switch {
	case !template.Given && p.kept(template.Revision) == nil:
		p.endDrift() // nobody knows any more what was released
	case p.Drift == nil:
		p.out.Needs.Drift = &template
	case len(p.Drift.Fields) == 0:
		p.status.Resolved.Digest = p.Drift.Digest
		p.endDrift()
	default:
		p.sayDrifted()
	}
}

func (p *pass) sayDrifted() {
	message := "the Deployment was changed past the release: " + strings.Join(p.Drift.Fields, "; ")
	p.setCondition(v1alpha1.ConditionDrifted, true, message, v1alpha1.ReasonTemplateChanged)
	if p.status.Queued == nil { // or people are told first what waits
		p.say(v1alpha1.ReasonDrifted, message)
	}
}

func (p *pass) endDrift() {
	p.drop(v1alpha1.ConditionDrifted)
	if p.status.Reason == v1alpha1.ReasonDrifted {
		p.sayCompleted()
	}
}

// driftUnknown asks whether a workload that is about to be taken over runs what was last
// released, if its template is another one: what somebody else put there is no version to go back to.
func (p *pass) driftUnknown() bool {
	if stable := p.kept(p.status.StableRevision); stable == nil || stable.Digest == p.Workload.Digest || p.Drift != nil {
		return false
	}
	p.out.Needs.Drift = &Template{Revision: p.status.StableRevision}
	return true
}

// drifted reports whether the workload, which is not taken over yet, runs something else than what
// was last released.
func (p *pass) drifted() bool {
	stable := p.kept(p.status.StableRevision)
	return stable != nil && stable.Digest != p.Workload.Digest && p.Drift != nil && len(p.Drift.Fields) > 0
}
