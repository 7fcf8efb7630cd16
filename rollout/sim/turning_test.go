package sim

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// leavesBad checks I6.
func leavesBad(w *World, c change) string {
	s := c.grown()
	if s == nil || past(w).Bad == "" || !same(s.Revision, past(w).Bad) {
		return ""
	}
	return s.Revision + " was rolled back"
}

// keepsOut checks I6 for what is given: whatever happens, it is not what the workload is to run.
func keepsOut(w *World, c change) string {
	if takeOver, is := c.action.(plan.TakeOver); !is || takeOver.Template == nil || past(w).Barred == "" || !same(w.Workload.Template, past(w).Barred) {
		return ""
	}
	return past(w).Barred + " was rolled back and is still what is given"
}

// turnsRound holds each rollback that nobody asks for against what the release says of it.
func turnsRound(w *World, c change) string {
	rollback, strategy := c.pass.intent.Rollback, w.Release.Spec.Strategy
	switch {
	case rollback == nil:
		return ""
	case rollback.Trigger == v1alpha1.TriggerDeadline && strategy.OnFailure != v1alpha1.FailureRollback:
		return "onFailure is not Rollback"
	case rollback.Trigger == v1alpha1.TriggerGateRejected && !slices.ContainsFunc(w.Sound.Strategy.Steps, turning) && !turning(v1alpha1.Step{Gates: w.Sound.Strategy.Guards}):
		return "no gate says so"
	case rollback.Trigger == v1alpha1.TriggerDrift && w.Release.Spec.Drift != v1alpha1.DriftRevert:
		return "drift is not Revert"
	default:
		return ""
	}
}

// turning reports whether a gate of the step turns the release round when it is rejected.
func turning(step v1alpha1.Step) bool {
	return slices.ContainsFunc(step.Gates, func(g v1alpha1.GatePolicy) bool { return g.OnReject == v1alpha1.RejectRollback })
}

// judgeTurned: no version is ever rolled back to itself.
func judgeTurned(w *World, status *v1alpha1.BatchReleaseStatus) {
	if back := status.Rollback; back != nil && back.From != "" && same(back.From, status.RolledBackTo()) {
		w.breach("no version is rolled back to itself", back.From+": "+back.Message)
	}
}

// recorded notes what a status that is about to be written means for I6.
func (p *Past) recorded(w *World, status *v1alpha1.BatchReleaseStatus) {
	was := w.Release.Status
	p.approved(w, was)
	p.fixed(w, status)
	p.Turned, p.Entered = false, p.Entered || status.Entered()
	if again := status.Rollback == nil && status.Attempt > was.Attempt && same(status.UpdateRevision, p.Bad); again && !same(p.Bad, p.Barred) {
		p.Bad = "" // it was given, and goes through its gates again
	}
	if status.Rollback == nil || status.Phase == v1alpha1.PhaseCompleted {
		return
	}
	if was.RolledBackTo() != status.RolledBackTo() || was.Attempt != status.Attempt {
		p.Bad, p.Barred = ranBefore(w, was), barred(w, status.Rollback)
		p.Sent = was.Rollback != nil && was.Phase != v1alpha1.PhaseCompleted
		if waits := status.Queued; w.fleet != nil && waits != nil && waits.Given == Given(w.Release.Template) {
			p.Barred = was.UpdateRevision // what waits for the next run of its train
		}
		if status.Rollback != nil && status.Rollback.Trigger == v1alpha1.TriggerDrift {
			p.Bad = status.Rollback.From
		}
	}
	if same(p.Barred, status.RolledBackTo()) {
		p.Barred = "" // it is what Git brings back
	}
	if same(p.Bad, status.RolledBackTo()) {
		p.Bad = ""
	}
	if p.Bad != "" && !p.Sent {
		p.Undone = p.Bad
	}
	if bad := p.Bad; p.isFull(bad) {
		p.Full = slices.DeleteFunc(slices.Clone(p.Full), func(r string) bool { return same(r, bad) })
	}
}

// approved notes a revision whose steps are approved up to that of all pods, before another status
// takes its place.
func (p *Past) approved(w *World, status *v1alpha1.BatchReleaseStatus) {
	all := func(step v1alpha1.Step) bool { return step.Replicas.StrVal == "100%" }
	if !status.Entered() || status.Rollback != nil || p.isFull(status.UpdateRevision) || !slices.ContainsFunc(allowedSteps(w, status), all) {
		return
	}
	p.Full = append(slices.Clone(p.Full), status.UpdateRevision)
	slices.Sort(p.Full)
}

func (p *Past) isFull(revision string) bool {
	return slices.ContainsFunc(p.Full, func(r string) bool { return same(r, revision) })
}

// ranBefore returns the version that pods have got by the release that a rollback puts an end to: one
// that has not begun has given none any, nor has that of another workload of the name.
func ranBefore(w *World, was *v1alpha1.BatchReleaseStatus) string {
	d := &w.Workload
	if another := was.WorkloadUID != "" && was.WorkloadUID != d.UID; another && !d.Absent || was.Phase == v1alpha1.PhaseInitial && was.Held == nil && d.Hold == nil && !d.Absent {
		return d.Template
	}
	return was.UpdateRevision
}

// barred returns what is not released again after a rollback: what is given, if people ask for it;
// if it comes by itself, or what is given is known to wait, only what is being released.
func barred(w *World, rollback *v1alpha1.RollbackRecord) string {
	if rollback == nil {
		return w.Release.Template
	}
	switch rollback.Trigger {
	case v1alpha1.TriggerDrift:
		return ""
	case v1alpha1.TriggerDeadline, v1alpha1.TriggerGateRejected:
		return w.Release.Status.UpdateRevision
	default:
		was := w.Release.Status
		inPlaces := w.Workload.kind.name() == StatefulSet && was.Rollback != nil && was.Phase != v1alpha1.PhaseCompleted // its rollback ends first
		queued, inTurn := was.Queued, inPlaces || w.Release.Spec.Strategy.Supersede == v1alpha1.SupersedeQueue
		if inTurn && queued != nil && queued.Given == Given(w.Release.Template) {
			return w.Release.Status.UpdateRevision
		}
		return w.Release.Template
	}
}

// goesBackToStable: what is taken for a revert asks for no gates, so that it must really be stable.
func goesBackToStable(w *World, c change) string {
	takeOver, is := c.action.(plan.TakeOver)
	rollback := c.pass.intent.Rollback
	if !is || takeOver.Template == nil || rollback == nil || rollback.Trigger != v1alpha1.TriggerGitRevert || w.Workload.Hold.Emptied {
		return ""
	}
	if !past(w).isStable(w.Workload.Template) {
		return w.Workload.Template + " was never stable, or has been rolled back"
	}
	return ""
}

// namesStable: what a rollback goes back to after a release was really stable, and is not what has
// been rolled back.
func namesStable(w *World, c change) string {
	a, is := c.action.(plan.Annotate)
	if last := a.Set[v1alpha1.LastStableAnnotation]; is && last != "" && !past(w).isStable(last) {
		return last + " is named as the last stable revision"
	}
	return ""
}
