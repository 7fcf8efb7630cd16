package sim

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// The laws about a version that was rolled back while another one is released: its pods go first,
// they never grow, and people read that they serve.

// fixed notes whether a release begins while the rollback before it can't go on, and forgets what
// was rolled back once that is released again.
func (p *Past) fixed(w *World, status *v1alpha1.BatchReleaseStatus) {
	was := w.Release.Status
	refused, _ := w.API.refusing()
	p.Unkept = (p.Unkept || refused == Templates) && p.Undone != "" && !isKept(w, p.Undone)
	if status.Attempt == was.Attempt {
		return
	}
	rejected := slices.ContainsFunc(was.Gates, func(g v1alpha1.GateReference) bool { return g.Decision == v1alpha1.DecisionRejected })
	p.Stuck = p.Turned || was.Rollback != nil && (was.Phase == v1alpha1.PhaseFailed || rejected) || p.Stuck && was.Rollback == nil
	if p.Unkept || status.Rollback == nil && same(p.Undone, status.UpdateRevision) { // nothing has the name of what is not kept
		p.Undone = ""
	}
}

// isKept reports whether the history has a revision.
func isKept(w *World, revision string) bool {
	return slices.ContainsFunc(w.Kept, func(k plan.Kept) bool { return same(k.Revision, revision) })
}

// fixedRevision returns the revision that was rolled back, where another one is released; empty if none
// was, or nobody can say what there is.
func fixedRevision(w *World, status *v1alpha1.BatchReleaseStatus) string {
	undone := past(w).Undone
	if undone == "" || past(w).OutOfBand || status.Rollback != nil || !status.Entered() || same(undone, status.UpdateRevision) {
		return ""
	}
	return undone
}

// undoneGoesFirst refuses that a serving pod of a stable version goes before the pods that were
// rolled back.
func undoneGoesFirst(w *World, c change) string {
	undone := fixedRevision(w, c.pass.intent)
	if _, moves := c.moved(); undone == "" || !moves || past(w).Stuck && w.Workload.places().goesBack() {
		return ""
	}
	for i := range w.Places {
		p := &w.Places[i]
		if !same(p.Revision, undone) || !staysAlone(w, p) || !p.belongs() || !findPlace(c.pass.places, p.UID).stands() {
			continue
		}
		for j := range c.places {
			good := &c.places[j]
			if w.follows() && w.Workload.places().goesBack() && good.Index > p.Index {
				continue // appliers can have pods made above it, and a partition updates the highest first
			}
			if good.available() && past(w).isStable(good.Revision) && !same(good.Revision, undone) && !same(good.Revision, c.pass.intent.UpdateRevision) && !staysAlone(w, findPlace(w.Places, good.UID)) {
				return fmt.Sprintf("%s goes, and %s is %s", good.Name, p.Name, p)
			}
		}
	}
	return ""
}

// staysAlone reports whether a pod is left alone, by its native controller too.
func staysAlone(w *World, p *Place) bool {
	d := &w.Workload
	return p.stands() && p.inside(d.Replicas) && (d.Strategy == OnDelete || p.Index < d.Partition || same(p.Revision, d.Template))
}

// judgeUndone: the native controller of a held workload makes no pod of a version that was rolled
// back while another one is released.
func judgeUndone(w *World, revision string) {
	undone := fixedRevision(w, w.Release.Status)
	if undone == "" || !same(revision, undone) || past(w).Stuck || w.Workload.Hold == nil {
		return
	}
	if w.follows() && !w.Workload.Hold.Emptied && w.Workload.Status.Current == revision {
		return // all pods ran it after a scale-up from 0, and come back in it
	}
	w.breach("I6 what was rolled back never grows", revision+" gets a pod")
}

// untoldUndone says that people don't read of pods of a version that was rolled back; empty if they
// do, or there are none.
func untoldUndone(w *World) string {
	status := w.Release.Status
	undone := fixedRevision(w, status)
	lost := (past(w).Exposed || w.follows() && w.Kind() == DaemonSet) && !isKept(w, undone)
	if undone == "" || lost || status.Held == nil || w.Workload.Hold == nil || status.Phase == v1alpha1.PhaseCompleted {
		return ""
	}
	ofSet := func(s Set) bool { return same(s.Revision, undone) && s.Status.Current > 0 }
	stands := func(p Place) bool { return same(p.Revision, undone) && p.stands() }
	serves := slices.ContainsFunc(w.Sets, ofSet) || slices.ContainsFunc(w.Places, stands)
	if serves && !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionRolledBackServes) {
		return undone + " was rolled back, and nobody reads that it serves"
	}
	return ""
}
