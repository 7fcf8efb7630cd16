package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// Writes are those that the API server refuses, or changes to something else.
type Writes string

// What may be refused: by a policy, a webhook, a quota, or because a right is missing.
const (
	TakeOvers   Writes = "take-overs"
	HandBacks   Writes = "hand-backs"
	NewSets     Writes = "new sets"
	Growth      Writes = "growth"
	Shrinkage   Writes = "shrinkage"
	OpenedGates Writes = "gates"
	Templates   Writes = "kept templates"
	Annotations Writes = "annotations"
	// Notes are what takes the native controller's note off a ReplicaSet.
	Notes Writes = "notes"
)

// What may be refused of the writes of a release with traffic: routes that share requests, or get
// back what they had, and the Services of the sides.
const (
	Shares       Writes = "shares"
	Restores     Writes = "restored routes"
	SideServices Writes = "Services of sides"
	// NewPods are more pods of v2.
	NewPods Writes = "pods of v2"
)

// TrafficWrites are all of them.
var TrafficWrites = []Writes{Shares, Restores, SideServices}

// What may be changed to something else when a workload is taken over: each write gets another
// stamp in its template, it is not paused, or our annotation is taken off. Late is what no dry run
// shows, as of a stamp that is another one by then.
const (
	Stamped     Writes = "stamped"
	StampedLate Writes = "stamped, late"
	Resumed     Writes = "resumed"
	Stripped    Writes = "stripped"
)

// AllWrites are all that may go wrong with a write, but for Notes, which only routes depend on.
var AllWrites = []Writes{
	TakeOvers, HandBacks, NewSets, Growth, Shrinkage, OpenedGates, Templates, Annotations,
	Stamped, StampedLate, Resumed, Stripped,
}

// unanswered ends the name of writes that the API server can't decide on, as it asks a webhook that
// does not answer.
const unanswered = ", unanswered"

// AllUnanswered are all writes that may not be answered.
var AllUnanswered = []Writes{
	TakeOvers + unanswered, HandBacks + unanswered, NewSets + unanswered, Growth + unanswered, Shrinkage + unanswered, OpenedGates + unanswered,
	Templates + unanswered, Annotations + unanswered,
}

// refusing returns the writes that the API server refuses, or does not answer.
func (w *World) refusing() (writes Writes, answered bool) {
	bare, cut := strings.CutSuffix(string(w.Refusing), unanswered)
	return Writes(bare), !cut
}

// Refuse makes the API server refuse some writes from now on, until it is cured.
func (w *World) Refuse(writes Writes) bool {
	changed := w.Refusing != writes
	w.Refusing = writes
	return changed
}

// takesOver reports whether the API server takes a write that puts a workload back, and does not
// change it.
func (w *World) takesOver() bool {
	refusing, _ := w.refusing()
	return !slices.Contains([]Writes{TakeOvers, Stamped, StampedLate, Resumed, Stripped}, refusing)
}

// refuses reports whether the API server refuses an action.
func (w *World) refuses(action plan.Action) bool {
	var kind Writes
	switch a := action.(type) {
	case plan.TakeOver:
		kind = TakeOvers
	case plan.HandBack:
		kind = HandBacks
	case plan.MovePods:
		kind = w.Workload.kind.refused(a.Write)
	case plan.OpenGate:
		kind = OpenedGates
	case plan.RecordRevision, plan.UpdateRevision:
		kind = Templates
	case plan.Annotate:
		kind = Annotations
	case plan.Traffic:
		kind = refusedTraffic(a.Write)
	case plan.CloseGate, plan.PruneRevision: // taken always
	}
	refusing, _ := w.refusing()
	if refusing == NewPods {
		move, is := action.(plan.MovePods)
		scale, scales := move.Write.(deployment.Scale)
		return is && scales && scale.To > scale.From && scale.Set.Revision == "v2"
	}
	return kind != "" && refusing == kind
}

// refusedTraffic returns the kind of a write of a release's traffic.
func refusedTraffic(write traffic.Write) Writes {
	switch write.(type) {
	case traffic.ShareRoute:
		return Shares
	case traffic.RestoreRoute:
		return Restores
	case traffic.PointSide, traffic.DropSides:
		return SideServices
	}
	return ""
}

// refused returns the kind of a write that moves pods; empty if it is always taken.
func (deployments) refused(write mover.Write) Writes {
	scale, is := write.(deployment.Scale)
	switch {
	case is && scale.To > scale.From:
		return Growth
	case is && scale.To < scale.From:
		return Shrinkage
	case is:
		return Notes
	}
	if _, creates := write.(deployment.Create); creates {
		return NewSets
	}
	return ""
}

// rewrites changes what a take-over has made of a workload. It reports whether it does.
func (w *World) rewrites(d *Workload, dryRun bool) bool {
	kind, late := strings.CutSuffix(string(w.Refusing), ", late")
	if late && dryRun {
		return false
	}
	switch Writes(kind) {
	case Stamped:
		bare, _, _ := strings.Cut(d.Template, "+")
		d.Template = fmt.Sprintf("%s+%d", bare, w.next())
	case Resumed:
		d.kind.loosen(d)
	case Stripped:
		d.Hold = nil
	default:
		return false
	}
	return true
}

// refuse records that a write is refused: the plan is asked again, and knows of it.
func (x *pass) refuse(action plan.Action, rewritten, written bool) {
	x.refused, x.refusedIn = true, x.intent.Attempt
	x.report.Refused++
	_, answered := x.world.refusing()
	x.unasked = !answered
	x.process.refusals = x.process.refusals.With(plan.Refusal{
		Why: "a policy says so", Rewritten: rewritten, Written: written, Unanswered: !answered,
	}.To(action, x.release.Generation), x.world.Now, 0)
	if written {
		x.world.Past.changedOutOfBand()
		x.wrote(Write{Action: action})
	}
}

// cantTry records that a dry run of a take-over is not answered. It reports whether it is not.
func (x *pass) cantTry(needs plan.Needs) bool {
	refusing, answered := x.world.refusing()
	if trying := needs.Trying(); answered || refusing != TakeOvers || trying.Key == "" {
		return false
	}
	x.unasked = true
	x.report.Refused++
	x.process.refusals = x.process.refusals.With(
		plan.Refusal{Why: "no answer", Unanswered: true}.ToTry(needs.Trying(), x.release.Generation), x.world.Now, 0)
	return true
}

// passUnasked runs a pass, and another a moment later for as long as one ends because a write is
// not answered, as the process does.
func (p *Process) passUnasked(w *World, mishaps Mishaps) Report {
	const most = 4
	report := p.Pass(w, mishaps)
	for range most {
		if !report.Unasked {
			break
		}
		w.Now = w.Now.Add(plan.AgainSoon)
		p.recall(w)
		next := p.Pass(w, mishaps)
		next.Done = append(report.Done, next.Done...)
		next.Events = append(report.Events, next.Events...)
		next.Parts, next.Requests, next.Refused = next.Parts+report.Parts, next.Requests+report.Requests, next.Refused+report.Refused
		report = next
	}
	return report
}

// judgeTold: where the process knows at the end of a pass that the write it would send is refused,
// the status says so; and the progress deadline runs.
func (x *pass) judgeTold(next plan.Plan) {
	w, status := x.world, x.world.Release.Status
	switch arrived := w.Workload.Hold == nil && w.Workload.Template == status.UpdateRevision; {
	case !x.refusedEver, status.Attempt != x.refusedIn: // it was turned round since
		return
	case w.Workload.behind() > 0: // the native controller is waited for first
		return
	case arrived && status.RefusedWrite != nil: // nothing is left to fail
		return
	case x.partly && !w.settled(): // the pods of what was done are waited for first
		return
	}
	told := status.RefusedWrite != nil
	stalled := meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled) &&
		meta.IsStatusConditionFalse(status.Conditions, v1alpha1.ConditionReady)
	if !told || !stalled {
		w.breach("a refusal is told", fmt.Sprintf("refused %t, stalled %t: %s", told, stalled, status.Message))
		return
	}
	if x.heldUp(status) && next.Needs == (plan.Needs{}) && x.process.watched > w.deadline()+time.Second {
		w.breach("the deadline runs though a write is refused", fmt.Sprintf("%s for %s", status.Phase, x.process.watched))
	}
}

// heldUp reports whether a refused write keeps a release from making progress that could make some.
// One that holds its workload enters its first step only once the pods are counted, though it puts
// back at once what somebody has changed.
func (x *pass) heldUp(status *v1alpha1.BatchReleaseStatus) bool {
	uncounted := slices.ContainsFunc(x.world.Sets, func(s Set) bool { return !s.Observed })
	back := x.process.heldBack(x.release.Generation, x.world.Now)
	if uncounted && !status.Entered() && x.world.Workload.Hold != nil && !back.takeOver {
		return false
	}
	moving := slices.Contains([]v1alpha1.Phase{v1alpha1.PhaseInitial, v1alpha1.PhaseRollingUpdate, v1alpha1.PhaseRollingBack}, status.Phase)
	return moving && !x.stands() && !x.release.Deleting && status.CurrentStepState != v1alpha1.StepBlocking && status.CurrentStepState != v1alpha1.StepCompleted
}

// awaitsRetry reports whether the process waits for the time to send a write again that was
// refused.
func (s *State) awaitsRetry() bool {
	return slices.ContainsFunc(s.Process.refusals, func(r plan.Refusal) bool {
		return !r.Until.IsZero() && s.Now.Before(r.Until) && r.Generation == s.Release.Generation
	})
}

// heldBack says which writes a process does not send now, as they were refused and their time has
// not come.
type heldBack struct {
	takeOver bool
	// grow is of more pods, or what they are in, and shrink of fewer. Where pods have places a write
	// may be both.
	grow, shrink bool
	// forwards says that pods of both sides stay, as routes may send requests to them.
	forwards bool
}

func (p *Process) heldBack(generation int64, now time.Time) heldBack {
	var back heldBack
	for _, r := range p.refusals {
		if r.Generation != generation || !r.Until.IsZero() && !now.Before(r.Until) {
			continue
		}
		switch kind, _, _ := strings.Cut(r.Write.Key, "/"); {
		case strings.HasPrefix(kind, "TakeOver"):
			back.takeOver = true
		case kind == "TryTemplate", strings.HasPrefix(kind, "TryTemplate:"): // nothing moves before it is known
			back.takeOver, back.grow, back.shrink = true, true, true
		case kind == "TakePods":
			back.shrink = true
		case kind == "AddPods", kind == "CreateReplicaSet":
			back.grow = true
		case kind == "DeletePods", kind == "SetUpdateStrategy", kind == "SetPartition":
			back.grow, back.shrink = true, true
		}
	}
	return back
}

// waitsForRetry reports whether the process sends a write that was refused no more before somebody
// asks for it.
func (s *State) waitsForRetry() bool {
	return s.Refusing == "" && s.Release.Status.RefusedWrite != nil && slices.ContainsFunc(s.Process.refusals, func(r plan.Refusal) bool {
		return r.Until.IsZero() && r.Generation == s.Release.Generation
	})
}
