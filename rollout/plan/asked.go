package plan

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// What a release makes of a request can be known before anybody makes it. The functions of this file go by the record of the release
// alone, and by the same rules as Next.

// asRecorded is a release of which only the record is known. What its workload runs is known once that is taken over, or the
// release has completed. Nothing is known of its pods.
func asRecorded(release *v1alpha1.BatchRelease, kept []Kept) *look {
	r := recordOf(release)
	w := &Workload{Name: release.Spec.WorkloadRef.Name, UID: r.WorkloadUID}
	if r.Held != nil || r.Phase == v1alpha1.PhaseCompleted {
		w.Revision = r.UpdateRevision
	}
	o := Observation{Release: release, Workload: w}
	o.Kept = kept
	return &look{Observation: o, record: r}
}

// RollsBackTo is the revision that a rollback in progress goes to; empty if none is in progress.
func RollsBackTo(release *v1alpha1.BatchRelease) string {
	if l := asRecorded(release, nil); l.rollingBack() {
		return l.record.UpdateRevision
	}
	return ""
}

// Before is the revision that rollback=true goes back to, as far as the status tells; empty if there is none.
func Before(release *v1alpha1.BatchRelease) string { return asRecorded(release, nil).before() }

// Target is the template that a rollback to a revision or commit goes to. The error says why there is none.
func Target(release *v1alpha1.BatchRelease, kept []Kept, asked string) (*Kept, error) {
	target, problem := asRecorded(release, kept).rollbackTarget(asked)
	if target == nil {
		return nil, problem
	}
	return target, nil
}

// JumpProblemOf is why a release can't go to a step, counted from 0; 0 if it can.
func JumpProblemOf(release *v1alpha1.BatchRelease, to int32) JumpProblem {
	return asRecorded(release, nil).jumpProblem(to)
}

// Stable are the templates that a release can be rolled back to, the newest first.
func Stable(all []Kept) []Kept {
	stable := slices.DeleteFunc(slices.Clone(all), func(k Kept) bool { return !k.stable() })
	slices.SortFunc(stable, func(a, b Kept) int { return cmp.Compare(b.Number, a.Number) })
	return stable
}

// String names a template for people.
func (k *Kept) String() string {
	if k.Commit == "" {
		return k.Revision
	}
	return k.Revision + " (commit " + plain.Commit(k.Commit) + ")"
}
