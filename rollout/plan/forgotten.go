package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// forgotten reports whether the status was lost: there is none, but the history has templates of earlier releases.
func (l *look) forgotten() bool {
	return l.record.Resolved == nil && l.record.Attempt == 0 && len(l.Kept) > 0
}

// recallRollback continues a rollback that only the history knows of because the status was lost, or records that it
// completed: what was rolled back is not released again. It reports whether there was one.
func recallRollback(d Decision, template *v1alpha1.ResolvedTemplate) (Decision, bool) {
	bad := d.keptAs(template.Digest)
	if !d.forgotten() || bad == nil || bad.stable() {
		return d, false
	}
	if !d.Live.Has(ReadKept) { // the cache may be from before it was released again
		return d.read(ReadKept), true
	}
	target := d.lastGood()
	if target == nil {
		return d, false
	}
	d = rollBack(d.look, target, v1alpha1.RollbackRecord{
		Trigger: v1alpha1.TriggerHistory, Message: "the status was lost, and the history says that this was rolled back",
	})
	return d.with(func(r *record) {
		why := *r.Rollback
		why.From, why.InGit = bad.Revision, true
		r.Rollback = &why
	}), true
}

// keptAs returns what was kept last of a template, which has another revision in another version of Kubernetes; nil if nothing is.
func (l *look) keptAs(digest string) *Kept {
	var last *Kept
	for i := range l.Kept {
		if k := &l.Kept[i]; k.Digest == digest && (last == nil || k.Number > last.Number) {
			last = k
		}
	}
	return last
}

// lastGood is what to go back to where only the history knows: what the workload has, if that was stable, else the last that was.
func (l *look) lastGood() *Kept {
	if kept := l.keptWorkload(); kept != nil && kept.stable() {
		return kept
	}
	if kept := l.stable(l.Release.Annotations[v1alpha1.CurrentStableAnnotation]); kept != nil {
		return kept
	}
	var last *Kept
	for i := range l.Kept {
		if k := &l.Kept[i]; k.stable() && (last == nil || k.Number > last.Number) {
			last = k
		}
	}
	return last
}
