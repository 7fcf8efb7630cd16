package spec

// noteUnreleased keeps the workloads without a release for the next Read, in which a release may
// come together with a change of its workload. If a file may hold a release that can't be read,
// none is kept.
func (p *pass) noteUnreleased(all workloads) {
	p.now.unreleased = map[workloadKey]located{}
	if len(p.doubts) > 0 {
		return
	}
	for key, ls := range all.by {
		if len(ls) == 1 && ls[0].template != nil && !ls[0].faulty {
			p.now.unreleased[key] = ls[0]
		}
	}
	for _, l := range p.manifests {
		if l.kind == releaseKind {
			delete(p.now.unreleased, workloadOf(l, l.in(p.opts.Namespace)))
		}
	}
}

// earlier returns a release with the template that its workload had at the Read before, without a
// release; nil if it had none, or the same.
func (p *pass) earlier(release *Release, l located) *Release {
	was, found := p.before.unreleased[workloadOf(l, release.Namespace)]
	if !found || l.template != nil || was.given == release.TemplateDigest {
		return nil
	}
	return newRelease(madeKey{release: l, namespace: release.Namespace, workload: was, train: release.Train}, nil, nil)
}
