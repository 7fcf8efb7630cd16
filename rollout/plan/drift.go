package plan

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// watchDrift checks whether the workload of a completed release still has the template that was
// released. It asks how the two differ only when the digests do, so that it costs nothing otherwise.
func watchDrift(d Decision) Decision {
	if d.Workload.Digest == d.record.Resolved.Digest {
		return endDrift(d)
	}
	template := d.template()
	switch {
	case !template.Given && d.kept(template.Revision) == nil:
		return endDrift(d) // nobody knows any more what was released
	case d.Drift == nil:
		return d.need(Needs{Drift: &template})
	case d.rewritten():
		return countReleased(d)
	case len(d.Drift.Fields) == 0:
		return endDrift(d.with(func(r *record) { r.Resolved = withDigest(r.Resolved, d.Drift.Digest) }))
	case d.driftIsOurs():
		return revertDrift(d)
	default:
		return countReleased(d)
	}
}

// drifts reports whether somebody gave the workload of a completed release another template.
func (l *look) drifts() bool {
	return l.Workload != nil && l.completed() && !l.held() && l.Workload.Digest != l.record.Resolved.Digest && l.Drift != nil &&
		(len(l.Drift.Fields) > 0 || l.rewritten())
}

// rewritten reports whether the workload has what the API server makes of the released template by now, and the native controller takes that for
// another version: admission has changed, and somebody has written the workload since. To write the template again would change nothing.
func (l *look) rewritten() bool {
	return l.Drift.Digest == l.Workload.Digest && l.Workload.Revision != l.record.UpdateRevision
}

// driftFields name what somebody, or admission, has changed.
func (l *look) driftFields() []string {
	if len(l.Drift.Fields) == 0 {
		return []string{"spec.template, by a mutating admission webhook or policy"}
	}
	return l.Drift.Fields
}

// driftPause is how long a template stays reverted before it is reverted again: somebody, or something, that
// changes it over and over must not have all pods replaced over and over.
const driftPause = 10 * time.Minute

// driftIsOurs reports whether this release has to bring the released template back. It can't if the API server would
// no longer accept that template, or if its steps can't be read.
func (l *look) driftIsOurs() bool {
	return l.Release.Spec.Drift == v1alpha1.DriftRevert && l.Drift.Digest != "" && l.unreadable == nil && !l.stop().any() && l.decider() == ""
}

// decider names the sibling that alone reverts drift of a workload that is not held; empty if it is this release. The
// release created first decides, in the same second the first by name. Without the rule, each release would revert
// the other's, for ever.
func (l *look) decider() string {
	first := Sibling{Name: l.Release.Name, Created: l.Release.CreationTimestamp.Time}
	for _, s := range l.Siblings {
		if before := s.Created.Compare(first.Created); before < 0 || before == 0 && s.Name < first.Name {
			first = s
		}
	}
	if first.Name == l.Release.Name {
		return ""
	}
	return first.Name
}

// driftAgain is the earliest time at which drift is reverted.
func (l *look) driftAgain() time.Time {
	if ended := l.record.LastUpdateTime; l.revertingDrift() && ended != nil {
		return ended.Add(driftPause)
	}
	return time.Time{}
}

// revertDrift goes back to what was released, as soon as that may be. That Git gave it, and gives it still, is why nothing is
// quarantined.
func revertDrift(d Decision) Decision {
	if again := d.driftAgain(); d.Now.Before(again) {
		return countReleased(d.wakeAt(again))
	}
	if reads := ReadWorkload | ReadRelease; !d.Live.Has(reads) {
		return d.read(reads)
	}
	return begin(nothing(d.look), *d.record.Resolved, &v1alpha1.RollbackRecord{
		Trigger: v1alpha1.TriggerDrift, From: d.Workload.Revision, Message: bounded(d.driftWords(d.Drift.Fields)),
	}).first()
}

// revertingDrift reports whether the rollback in progress, or the last one, is from a template that somebody gave the workload by hand.
func (l *look) revertingDrift() bool {
	return l.record.Rollback != nil && l.record.Rollback.Trigger == v1alpha1.TriggerDrift
}

// countReleased counts the pods that still run what was released, and not what somebody has put in its place.
func countReleased(d Decision) Decision {
	released := d.Workload.Mover.Count(d.record.Resolved.Digest).Updated
	return countAll(d.with(func(r *record) {
		r.UpdatedReplicas = released.Current
		r.UpdatedReadyReplicas, r.UpdatedAvailableReplicas = released.Ready, released.Available
	}))
}

// endDrift counts the pods again that drift has taken away, until it has brought them back, and those that were not available when the
// release was completed, once all are: a first release does not wait for them.
func endDrift(d Decision) Decision {
	r := &d.record
	if r.UpdatedReplicas >= r.Replicas && r.UpdatedAvailableReplicas >= r.Replicas {
		return d
	}
	counted := countReleased(d)
	if r.UpdatedReplicas >= r.Replicas && counted.record.UpdatedAvailableReplicas < r.Replicas {
		return d // what only comes and goes costs no write
	}
	return counted
}

// knowDrift asks whether a workload that is about to be taken over runs what was last
// released, if its template differs: what somebody else put there is no version to go back to. It reports whether the answer
// is known.
func knowDrift(d Decision) (Decision, bool) {
	if stable := d.kept(d.record.StableRevision); stable == nil || stable.Digest == d.Workload.Digest || d.Drift != nil {
		return d, true
	}
	return d.need(Needs{Drift: &Template{Revision: d.record.StableRevision}}), false
}

// drifted reports whether the workload, which is not taken over yet, runs something other than what
// was last released.
func (l *look) drifted() bool {
	stable := l.kept(l.record.StableRevision)
	return stable != nil && stable.Digest != l.Workload.Digest && l.Drift != nil && len(l.Drift.Fields) > 0
}
