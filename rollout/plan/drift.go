package plan

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// watchDrift checks whether the workload of a completed release still has the released template. It
// asks how the two differ only when the digests do.
func watchDrift(d Decision) Decision {
	if d.snap.workload.Digest == d.snap.record.Resolved.Digest || follows(d.snap) && d.snap.workload.native().Contained {
		return endDrift(d)
	}
	template := templateToWrite(d.snap)
	switch {
	case !template.Given && d.snap.history.of(template.Revision) == nil:
		return endDrift(d) // nobody knows any more what was released
	case d.snap.obs.Drift == nil:
		return d.need(Needs{Drift: &template})
	case rewritten(d.snap):
		return countReleased(d)
	case len(d.snap.obs.Drift.Fields) == 0:
		return endDrift(d.with(func(r *record) { r.Resolved = withDigest(r.Resolved, d.snap.obs.Drift.Digest) }))
	case mayRevertDrift(d.snap):
		return revertDrift(d)
	default:
		return countReleased(d)
	}
}

// drifts reports whether another writer gave the workload of a completed release another template.
func drifts(s *snapshot) bool {
	return s.workload != nil && s.record.completed() && !s.hold().held() && s.workload.Digest != s.record.Resolved.Digest && s.obs.Drift != nil &&
		(len(s.obs.Drift.Fields) > 0 || rewritten(s))
}

// rewritten reports whether the workload has what the API server makes of the released template by
// now, and the native controller takes that for another version: admission has changed, and the
// workload was written since. Writing the template again would change nothing.
func rewritten(s *snapshot) bool {
	return s.obs.Drift.Digest == s.workload.Digest && s.workload.Revision != s.record.UpdateRevision
}

// driftFields names what another writer, or admission, has changed.
func driftFields(s *snapshot) []string {
	if len(s.obs.Drift.Fields) == 0 {
		return []string{"spec.template, by a mutating admission webhook or policy"}
	}
	return s.obs.Drift.Fields
}

// driftPause is how long a template stays reverted before it is reverted again: a writer that
// changes it over and over must not have all pods replaced over and over.
const driftPause = 10 * time.Minute

// mayRevertDrift reports whether this release has to restore the released template. It can't if the
// API server would no longer accept that, or if its steps are invalid.
func mayRevertDrift(s *snapshot) bool {
	return s.release.Spec.Drift == v1alpha1.DriftRevert && s.obs.Drift.Digest != "" && s.problem == nil && !stopCauses(s).any() && driftOwner(s) == ""
}

// driftOwner names the sibling that alone reverts drift of a workload that is not held; empty if it
// is this release. That is the release created first, in the same second the first by name.
// Otherwise each release would revert the other's template.
func driftOwner(snap *snapshot) string {
	first := Sibling{Name: snap.release.Name, Created: snap.release.CreationTimestamp.Time}
	for _, s := range snap.obs.Siblings {
		if before := s.Created.Compare(first.Created); before < 0 || before == 0 && s.Name < first.Name {
			first = s
		}
	}
	if first.Name == snap.release.Name {
		return ""
	}
	return first.Name
}

// nextRevert returns the earliest time at which drift is reverted.
func nextRevert(s *snapshot) time.Time {
	if ended := s.record.LastUpdateTime; s.record.revertsDrift() && ended != nil {
		return ended.Add(driftPause)
	}
	return time.Time{}
}

// revertDrift rolls back to what was released, as soon as it may. Git gave that and still gives it,
// so nothing is quarantined.
func revertDrift(d Decision) Decision {
	if again := nextRevert(d.snap); d.snap.now.Before(again) {
		return countReleased(d.wakeAt(again, WakeDrift))
	}
	if reads := ReadWorkload | ReadRelease; !d.snap.live(reads) {
		return d.read(reads)
	}
	return begin(nothing(d.snap), *d.snap.record.Resolved, &v1alpha1.RollbackRecord{
		Trigger: v1alpha1.TriggerDrift, From: d.snap.workload.Revision, Message: bounded(driftWords(d.snap, d.snap.obs.Drift.Fields)),
	}).first()
}

// countReleased counts the pods that still run what was released, and not what another writer put
// in its place.
func countReleased(d Decision) Decision {
	released := d.snap.workload.Mover.Count(d.snap.record.Resolved.Digest).Updated
	return countAll(d.with(func(r *record) {
		r.UpdatedReplicas = released.Current
		r.UpdatedReadyReplicas, r.UpdatedAvailableReplicas = released.Ready, released.Available
	}))
}

// endDrift counts the pods again that drift took away, until they are back, and once all are
// available those that were not when the release completed: a first release does not wait for them.
func endDrift(d Decision) Decision {
	r := &d.snap.record
	if r.UpdatedReplicas >= r.Replicas && r.UpdatedAvailableReplicas >= r.Replicas {
		return d
	}
	counted := countReleased(d)
	if r.UpdatedReplicas >= r.Replicas && counted.snap.record.UpdatedAvailableReplicas < r.Replicas {
		return d // what only comes and goes costs no write
	}
	return counted
}

// askDrift asks whether a workload that is about to be taken over runs the last released template,
// if its template differs: one that a person put there is no version to roll back to. It reports
// whether the answer is known.
func askDrift(d Decision) (Decision, bool) {
	stable := d.snap.history.of(d.snap.record.StableRevision)
	if !fresh(d.snap) || stable == nil || stable.Digest == d.snap.workload.Digest || d.snap.obs.Drift != nil || appliedWaits(d.snap) {
		return d, true
	}
	return d.need(Needs{Drift: &Template{Revision: d.snap.record.StableRevision}}), false
}

// drifted reports whether the workload, which is not taken over yet, runs something else than what
// was last released.
func drifted(s *snapshot) bool {
	if appliedWaits(s) {
		return true
	}
	stable := s.history.of(s.record.StableRevision)
	return stable != nil && stable.Digest != s.workload.Digest && s.obs.Drift != nil && len(s.obs.Drift.Fields) > 0
}
