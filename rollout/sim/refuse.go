package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// Writes names some writes, which the API server refuses or changes.
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
	// Notes take the native controller's note off a ReplicaSet.
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

// What may be changed to something else when a workload is taken over: each write gets another
// stamp in its template, it is not paused, or our annotation is taken off. Late is what no dry run
// shows, as of a stamp that is another one by then.
const (
	Stamped     Writes = "stamped"
	StampedLate Writes = "stamped, late"
	Resumed     Writes = "resumed"
	Stripped    Writes = "stripped"
)

// unanswered ends the name of writes that the API server can't decide on, as it asks a webhook that
// does not answer.
const unanswered = ", unanswered"

// refusing returns the writes that the API server refuses, or does not answer.
func (a *Admission) refusing() (writes Writes, answered bool) {
	bare, cut := strings.CutSuffix(string(a.Refusing), unanswered)
	return Writes(bare), !cut
}

// refuse has some writes refused from now on. It reports whether they were not.
func (a *Admission) refuse(writes Writes) bool {
	changed := a.Refusing != writes
	a.Refusing = writes
	return changed
}

// refuses reports whether the API server refuses an action.
func refuses(w *World, action plan.Action) bool {
	var kind Writes
	switch a := action.(type) {
	case plan.TakeOver, plan.Follow:
		kind = TakeOvers
	case plan.HandBack:
		kind = HandBacks
	case plan.MovePods:
		kind = w.Workload.kind.refused(a.Write)
	case plan.OpenGate:
		kind = OpenedGates
	case plan.RecordRevision, plan.UpdateRevision:
		kind = Templates
	case plan.Annotate, plan.CopyTemplate, plan.RetryMember:
		kind = Annotations
	case plan.Traffic:
		kind = refusedTraffic(a.Write)
	case plan.CloseGate, plan.PruneRevision: // taken always
	}
	refusing, _ := w.API.refusing()
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
func rewrites(w *World, d *Workload, dryRun bool) bool {
	kind, late := strings.CutSuffix(string(w.API.Refusing), ", late")
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

// refuseAction records that a write is refused: the plan is asked again, and knows of it.
func refuseAction(x *pass, action plan.Action, rewritten, written bool) {
	x.refused, x.refusedIn = true, x.intent.Attempt
	x.report.Refused++
	_, answered := x.world.API.refusing()
	x.unasked = !answered
	x.process.refusals = x.process.refusals.With(plan.Refusal{
		Why: "a policy says so", Rewritten: rewritten, Written: written, Unanswered: !answered,
	}.To(action, x.release.Generation), x.world.Now, 0)
	if written {
		x.world.see(templateRewritten{})
		x.wrote(Write{Action: action})
	}
}

// cantTry records that a dry run of a take-over is not answered. It reports whether it is not.
func cantTry(x *pass, needs plan.Needs) bool {
	refusing, answered := x.world.API.refusing()
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

// awaitsRetry reports whether the process waits for the time to send a write again that was
// refused.
func (s *State) awaitsRetry() bool {
	return slices.ContainsFunc(s.Process.refusals, func(r plan.Refusal) bool {
		return !r.Until.IsZero() && s.Now.Before(r.Until) && r.Generation == s.Release.Generation
	})
}

// waitsForRetry reports whether the process sends a write that was refused no more before somebody
// asks for it.
func (s *State) waitsForRetry() bool {
	return s.API.Refusing == "" && s.Release.Status.RefusedWrite != nil && slices.ContainsFunc(s.Process.refusals, func(r plan.Refusal) bool {
		return r.Until.IsZero() && r.Generation == s.Release.Generation
	})
}
