package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// defaultHistory is how many templates are kept unless the release says otherwise.
const defaultHistory = 10

// kept returns the kept template of a revision, nil if there is none.
func (p *pass) kept(revision string) *Kept {
	for i := range p.Kept {
		if revision != "" && p.Kept[i].Revision == revision {
			return &p.Kept[i]
		}
	}
	return nil
}

// keptDigest returns the kept template of a digest, nil if there is none.
func (p *pass) keptDigest(digest string) *Kept {
	for i := range p.Kept {
		if p.Kept[i].Digest == digest {
			return &p.Kept[i]
		}
	}
	return nil
}

// keepWorkloadTemplate records the workload's template, unless it is kept already.
func (p *pass) keepWorkloadTemplate(why Reason) {
	w := p.Workload
	if kept := p.kept(w.Revision); kept != nil && kept.Digest == w.Digest {
		return
	}
	number := int64(1)
	for _, k := range p.Kept {
		number = max(number, k.Number+1)
	}
	p.do(Keep{Reason: why, Revision: w.Revision, Digest: w.Digest, Number: number})
}

// forgetRolledBack deletes the template that was stable until it was rolled back to another. It
// is none to go back to any more: given again it is a release like any other, with all its gates.
func (p *pass) forgetRolledBack(to string) {
	bad := p.kept(p.Release.Annotations[v1alpha1.CurrentStableAnnotation])
	if p.status.RollbackTo == "" || bad == nil || bad.Revision == to {
		return
	}
	p.do(Forget{Reason: "it was rolled back", Name: bad.Name})
}

// forgetOldTemplates deletes the oldest beyond the limit, but none that a rollback may name.
func (p *pass) forgetOldTemplates() {
	limit := defaultHistory
	if p.Release.Spec.RevisionHistoryLimit != nil {
		limit = int(*p.Release.Spec.RevisionHistoryLimit)
	}
	annotations := p.Release.Annotations
	needed := []string{
		p.Workload.Revision, p.status.StableRevision,
		annotations[v1alpha1.CurrentStableAnnotation], annotations[v1alpha1.LastStableAnnotation],
	}
	oldest := slices.Clone(p.Kept)
	slices.SortFunc(oldest, func(a, b Kept) int { return int(a.Number - b.Number) })
	excess := len(oldest) - limit
	for _, k := range oldest {
		if excess > 0 && !slices.Contains(needed, k.Revision) {
			p.do(Forget{Reason: "beyond revisionHistoryLimit", Name: k.Name})
			excess--
		}
	}
}
