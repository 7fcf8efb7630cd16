package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// nowStable notes a revision that runs, or is rolled, under the native controller, for who leaves
// the workload with it.
func (p *Past) nowStable(revision string) {
	if same(p.Undone, revision) {
		p.Undone = ""
	}
	if !slices.Contains(p.Stable, revision) {
		p.Stable = append(slices.Clone(p.Stable), revision)
		slices.Sort(p.Stable)
	}
}

// wrote notes what a write of the workload makes of its revision: stable once it is handed back in
// the end, and no more once the workload is taken over to be rolled back from it.
func (p *Past) wrote(w *World, c change) {
	if _, handed := c.action.(plan.HandBack); handed && notDone(w, c) == "" {
		p.nowStable(w.Workload.Template)
	}
	if a, taken := c.action.(plan.TakeOver); taken {
		if acknowledges(c, a) {
			p.Acknowledged = true
		}
		if bad := p.Bad; bad != "" && !p.Sent && a.Template != nil && c.pass.intent.Rollback != nil {
			p.Stable = slices.DeleteFunc(slices.Clone(p.Stable), func(r string) bool { return same(r, bad) })
		}
		if asked := c.pass.intent.Rollback; asked != nil && asked.Trigger == v1alpha1.TriggerAnnotation && keptStable(w, c.pass.intent.RolledBackTo()) {
			p.nowStable(c.pass.intent.RolledBackTo()) // it may have been left by a rollback that somebody has turned round
		}
	}
}

// acknowledges reports whether a write ends what somebody has put up with since a change was put
// back.
func acknowledges(c change, a plan.TakeOver) bool {
	return c.workload.Hold != nil && c.workload.Hold.Change != (plan.ExternalChange{}) && a.Hold.Change == (plan.ExternalChange{})
}

// forgive has the laws hold again that somebody's change has suspended, once it is acknowledged and
// the pods are back that the native controller has taken away, or has added, meanwhile, and the
// template. Where the status is lost, the template that is held tells what is released.
func (p *Past) forgive(w *World, c change) {
	if !p.OutOfBand || !p.Acknowledged || w.Workload.behind() > 0 { // or the native controller may still act on it
		return
	}
	status := c.pass.intent
	released := cmp.Or(status.UpdateRevision, w.Workload.Template)
	if !same(w.Workload.Template, released) {
		return
	}
	updated, all := podsOf(w, released), byKind(&w.Workload).wanted(w)
	share, replicas := approvedPods(w, status, w.Workload.Replicas), w.Workload.Replicas
	if updated <= share && all-updated >= replicas-share {
		p.OutOfBand, p.Acknowledged = false, false
		for i := range w.Places { // lost pods come back in what somebody has brought, which is acknowledged (S1)
			p.brought(w.Places[i].Revision)
		}
	}
}

// keptStable reports whether a template is kept as one that may be gone back to.
func keptStable(w *World, revision string) bool {
	return slices.ContainsFunc(w.Kept, func(k plan.Kept) bool {
		return same(k.Revision, revision) && k.Outcome != v1alpha1.OutcomeRolledBack
	})
}

func (p *Past) isStable(revision string) bool {
	return slices.ContainsFunc(p.Stable, func(r string) bool { return same(r, revision) })
}

// leavesNamed checks I13, for a release that is deleted.
func leavesNamed(w *World, c change) string {
	if a, is := c.action.(plan.TakeOver); is && a.Template != nil && c.pass.release.Deleting {
		return "what goes takes nothing over"
	}
	if _, is := c.action.(plan.HandBack); !is || !w.Release.Deleting || notDone(w, c) == "" {
		return ""
	}
	before := c.workload.Template
	// Nobody has changed it since, and the status tells what is released.
	if c.workload.Hold.Emptied && past(w).isStable(before) && c.pass.intent.UpdateRevision != "" {
		before = c.pass.intent.UpdateRevision // it has the stable one only until it has pods
	}
	return wronglyLeft(w, before, w.Release.Spec.DeletionPolicy)
}

// wronglyLeft says what is wrong with the template that the workload was just left with, of what it
// had before.
func wronglyLeft(w *World, before string, policy v1alpha1.DeletionPolicy) string {
	left, to := w.Workload.Template, returningTo(w)
	switch {
	case to != "" && !same(left, to):
		return fmt.Sprintf("it is left with %s, and a rollback to %s is on record", left, to)
	case to != "", policy == v1alpha1.DeletionProceed && (left == before || same(left, w.Release.Status.UpdateRevision)):
		return "" // a workload of no pods has the stable template until it is let go of
	case policy == v1alpha1.DeletionProceed:
		return fmt.Sprintf("it is left with %s, it had %s", left, before)
	case !past(w).isStable(left):
		return fmt.Sprintf("it is left with %s, which nobody has approved in full", left)
	default:
		return ""
	}
}

// returningTo returns the revision that the workload is being rolled back to, by what is on record;
// empty if it is not.
func returningTo(w *World) string {
	status := w.Release.Status
	if status.Phase == v1alpha1.PhaseCompleted || status.WorkloadUID != "" && status.WorkloadUID != w.Workload.UID {
		return ""
	}
	return status.RolledBackTo()
}

// handBackByHand is what sluice handback does where no controller runs. The release may be gone with all
// that it knew. It reports whether anything changed.
func handBackByHand(w *World, gone bool) bool {
	d, status := &w.Workload, w.Release.Status
	if d.Absent || d.Hold == nil {
		return false
	}
	policy := w.Release.Spec.DeletionPolicy
	if gone {
		policy, status = v1alpha1.DeletionRevert, nil
	}
	left := plan.LetGo(observedWorkload((&pass{world: w, process: &Process{}, workload: *d, sets: w.Sets})), policy, status)
	if asked := or(left.Revision, d.Template); !same(w.API.admitted(asked), asked) {
		return false // it says so, and leaves the workload as it is
	}
	w.updateWorkload(func(d *Workload) {
		d.kind.giveBack(d, left.HeldWorkload)
		d.Hold = nil
		if left.Revision != "" {
			d.Template = left.Revision
		}
	})
	return true
}

// templateLeft: whoever deletes a release in mid-release finds no version there that nobody has
// approved.
func templateLeft(w *World) string {
	d := &w.Workload
	if !w.Release.Purged || d.Absent || d.Hold != nil || w.Release.Spec.DeletionPolicy == v1alpha1.DeletionProceed {
		return ""
	}
	if !past(w).isStable(d.Template) {
		return fmt.Sprintf("the release is gone, and the workload is left with %s, which nobody has approved in full", d.Template)
	}
	return ""
}
