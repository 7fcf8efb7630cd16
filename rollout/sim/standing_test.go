package sim

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// stopped reports whether a process knows of a reason to stop the release.
func stopped(x *pass) bool {
	hold := x.workload.Hold
	return x.release.Spec.Suspend || x.release.unreadable(x.intent) || hold != nil && hold.Change != (plan.ExternalChange{}) ||
		slices.ContainsFunc(x.gates, func(g Gate) bool { return rejectsRelease(x, g) })
}

// rejectsRelease reports whether a gate is a guard that stops the attempt.
func rejectsRelease(x *pass, g Gate) bool {
	return g.Spec.Index >= v1alpha1.GuardIndex && g.Spec.Attempt == x.intent.Attempt && g.Spec.Revision == x.intent.UpdateRevision &&
		g.Decision == v1alpha1.DecisionRejected
}

// standsStill reports whether a process that knows of a suspension, of steps that can't be read, of a
// guard that was rejected, or of a change that was put back, adds no updated pods beyond the share
// of their requests, and takes no workload over, unless in a rollback.
func standsStill(_ *World, c change) string {
	intent := c.pass.intent
	switch {
	case intent.Rollback != nil && c.pass.release.unreadable(intent):
		return onlyFollows(c)
	case !stopped(c.pass) || intent.Rollback != nil:
		return ""
	}
	if s := c.grown(); s != nil && same(s.Revision, intent.UpdateRevision) && !same(s.Revision, c.pass.release.stable()) && s.Replicas > c.asked(s.Revision) {
		return fmt.Sprintf("%s is raised to %d", s.Revision, s.Replicas)
	}
	if a, is := c.action.(plan.TakeOver); is && a.Template != nil && c.workload.Hold == nil && c.pass.stored.Held == nil {
		return "the workload is taken over"
	}
	return ""
}

// asked returns the most pods a version needs for its requests, by the routes as the process read
// them last.
func (c change) asked(revision string) int32 {
	w := c.pass.world
	if w.Traffic == nil {
		return 0
	}
	gets := viewOfAll(w).of(revision).Percent
	if told := c.pass.stored.Traffic; w.Traffic.Off && told != nil {
		gets = max(gets, told.Weight)
	}
	return percentOf(checkerOf(c.pass.world).window.extreme(w, func(d *Workload) int32 { return d.Replicas }), gets)
}

// onlyFollows: a rollback whose own steps can't be read adds no pods but for those that
// spec.replicas asks for, and for the first one where there is no other.
func onlyFollows(c change) string {
	w, intent := c.pass.world, c.pass.intent
	s := c.grown()
	if s == nil || !same(s.Revision, intent.UpdateRevision) || past(w).OutOfBand {
		return ""
	}
	if limit := checkerOf(c.pass.world).window.extreme(w, func(d *Workload) int32 { return d.Replicas }) - (total(w.Sets) - s.Replicas); s.Replicas > max(limit, 1) {
		return fmt.Sprintf("%s is raised to %d, at most %d", s.Revision, s.Replicas, limit)
	}
	return ""
}

func (r *Release) stable() string { return r.Annotations[v1alpha1.CurrentStableAnnotation] }

// judgeStep: no step is entered by a process that knows of a suspension, or of steps that can't be
// read, unless in a rollback.
func judgeStep(x *pass, status *v1alpha1.BatchReleaseStatus) {
	w, release, was := x.world, &x.release, x.world.Release.Status
	if begun := checkerOf(w).begun; begun.Attempt == was.Attempt && begun.CurrentStepIndex > was.CurrentStepIndex { // and not written yet
		was = begun
	}
	stands := release.Spec.Suspend && status.Rollback == nil || release.unreadable(status)
	if stands && status.Phase != v1alpha1.PhaseCompleted &&
		status.Attempt == was.Attempt && status.CurrentStepIndex > was.CurrentStepIndex {
		w.breach("what is stopped stands", fmt.Sprintf("step %d is entered", status.CurrentStepIndex))
	}
}

// waitsItsTurn: with supersede: Queue no other template takes the place of a release that has begun
// and can go on, unless it is one to roll back to. A release that fails in the very pass has done
// so by the plan before.
func waitsItsTurn(w *World, c change) string {
	was, intent := c.pass.release.Status, c.pass.intent
	if c.pass.release.Spec.Strategy.Supersede != v1alpha1.SupersedeQueue || past(w).OutOfBand || intent.Rollback != nil {
		return ""
	}
	began := was.Entered() && was.Phase != v1alpha1.PhaseCompleted && was.Phase != v1alpha1.PhaseFailed
	rejected := was.State == v1alpha1.StateRejected || slices.ContainsFunc(c.pass.gates, func(g Gate) bool { return g.Decision == v1alpha1.DecisionRejected })
	if began && !rejected && intent.Attempt > was.Attempt && intent.WorkloadUID == was.WorkloadUID {
		return intent.UpdateRevision + " takes the place of " + was.UpdateRevision
	}
	return ""
}

// unreadable reports whether the steps that count now are invalid.
func (r *Release) unreadable(status *v1alpha1.BatchReleaseStatus) bool {
	return r.Spoiled == rollbackSteps || r.Spoiled != 0 && status.Rollback == nil
}

// proportion returns how many updated pods there are to be when somebody scales the workload while
// nobody can read whether the step said a number or a percentage: the one updated pod of a small
// share stays while there is another.
func proportion(target, of, replicas int32) int32 {
	if of == 0 || replicas >= of {
		return max(min(target, replicas-1), 0)
	}
	return max(min(max(int32(int64(target)*int64(replicas)/int64(of)), min(target, 1)), replicas-1), 0)
}
