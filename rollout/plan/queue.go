package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// mustWait reports whether a new template can't be released now. One that is kept to roll back to never
// waits, nor does one that the workload has been taken over for already, by a pass that did not live to
// record it; nor one whose predecessor is lost.
func (l *look) mustWait(template *v1alpha1.ResolvedTemplate) bool {
	if !l.stop().any() && !l.finishesFirst() || l.sameAsCurrent(template) || l.returns(template) {
		return false
	}
	held := l.held()
	return !held || l.Workload.Digest != template.Digest && !l.lost()
}

// finishesFirst reports whether a release, or rollback, is in progress that a new template does not take the
// place of. One that can't go on by itself, failed or rejected, does not delay what may fix it, and one
// that has not begun is passed by, unless it is a rollback.
func (l *look) finishesFirst() bool {
	phase := l.record.Phase
	under := phase == v1alpha1.PhaseRollingUpdate || phase == v1alpha1.PhaseRollingBack || phase == v1alpha1.PhaseFinalizing
	return l.queues() && under && (l.entered() || l.isRollback()) && !l.rejected()
}

// queues reports whether a new template waits for the end of what is in progress: the strategy says so, or pods that go by their places
// would keep the version alive that is being rolled back.
func (l *look) queues() bool {
	inPlaces := l.Workload != nil && l.rollingBack() && l.Workload.native().InPlaces
	return inPlaces || l.Release.Spec.Strategy.Supersede == v1alpha1.SupersedeQueue
}

// waitsItsTurn reports whether the template that is given is on record as the one to come after this release.
func (l *look) waitsItsTurn() bool {
	queued := l.record.Queued
	return l.queues() && queued != nil && queued.Given == l.Given
}

// unproven is what must be read live before a template counts as one to go back to: its pods need no approval,
// and a cache may show it as stable although it has been rolled back since.
func (l *look) unproven(template *v1alpha1.ResolvedTemplate) Reads {
	if l.sameAsCurrent(template) || !l.returns(template) {
		return 0
	}
	return ReadKept
}

// returns reports whether a template is one that was stable before, brought back by a revert in Git.
func (l *look) returns(template *v1alpha1.ResolvedTemplate) bool {
	known := l.wasStable(template.Digest)
	// A workload that is taken over has the template since an earlier, unfinished pass of ours.
	return known && (l.Workload.Digest != template.Digest || l.held())
}

// unsure is what is to be read live of a workload that is held with another template than what is being released:
// whether a template is lost, or the new one written already, must not rest on a cache.
func (l *look) unsure() Reads {
	current := l.record.Resolved
	if !l.stop().any() && !l.finishesFirst() || !l.held() || current != nil && l.Workload.Digest == current.Digest {
		return 0
	}
	return ReadWorkload | ReadCounts
}

// lost reports whether the template of what is being released is no longer available: somebody has changed
// that of the workload before anything ran it.
func (l *look) lost() bool {
	revision := l.record.UpdateRevision
	if l.record.Resolved == nil || l.Workload.Digest == l.record.Resolved.Digest || l.kept(revision) != nil {
		return false
	}
	return !l.Workload.Mover.Has(revision)
}

// waiting is what is known of the template that is given: since it waits, or since it was resolved in
// this pass; nil if nothing is.
func (l *look) waiting() *v1alpha1.ResolvedTemplate {
	switch queued := l.record.Queued; {
	case queued != nil && queued.Given == l.Given:
		return &queued.ResolvedTemplate
	case l.Resolved != nil && l.Resolved.Given == l.Given && l.Resolved.Refused == "":
		return &l.Resolved.ResolvedTemplate
	default:
		return nil
	}
}

// enqueue records that a template waits; only the newest does.
func enqueue(d Decision, template v1alpha1.ResolvedTemplate) Decision {
	if queued := d.record.Queued; queued != nil && queued.Given == template.Given {
		return d
	}
	return d.with(func(r *record) {
		r.Queued = &v1alpha1.QueuedTemplate{
			ResolvedTemplate: template,
			Commit:           d.Release.Annotations[v1alpha1.CommitAnnotation],
			Since:            *d.time(),
		}
	})
}
