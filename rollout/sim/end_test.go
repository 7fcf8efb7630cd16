package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// unfinished says what is missing from the clean end of I7; empty if nothing is.
func unfinished(w *World) string {
	if left := cmp.Or(strategyLeft(w), templateLeft(w), trafficLeft(w)); left != "" {
		return left
	}
	if w.Workload.Absent {
		return ""
	}
	checks := byKind(&w.Workload).left(w)
	if !w.Release.Purged {
		checks = append(checks, releaseLeft(w), keptLeft(w))
	}
	return strings.Join(slices.DeleteFunc(checks, func(s string) bool { return s == "" }), "; ")
}

// left says what is missing of the workload and its pods.
func (lawsOfSets) left(w *World) []string {
	switch d := &w.Workload; {
	case w.Release.Purged && (d.Paused || d.Strategy == Recreate):
		return nil // what the native controller makes of several active ReplicaSets then is its own business
	case w.Release.Purged && w.native().scalingEvent():
		return []string{workloadLeft(w)} // it was scaled to what it had: the native controller never gets over that
	default:
		return []string{workloadLeft(w), setsLeft(w)}
	}
}

func workloadLeft(w *World) string {
	d := &w.Workload
	switch {
	case d.Hold != nil:
		return "the workload is held"
	case !w.Release.Purged && w.native().scalingEvent() && !endlessScaling(w):
		return "the native controller sees a scaling event that does not end"
	default:
		return ""
	}
}

// strategyLeft: a workload that is not held has the strategy that its user gave it, and is paused
// if they paused it.
func strategyLeft(w *World) string {
	d, own := &w.Workload, past(w).Own
	if has := d.own(); d.Absent || d.Hold != nil || own.Disputed || has.Strategy == w.ownStrategy && has.Paused == own.Paused {
		return ""
	}
	return fmt.Sprintf("the workload has strategy %s, paused %t; its user wants %s, %t", d.Strategy, d.Paused, w.ownStrategy, own.Paused)
}

// keptLeft: the templates that a rollback may name are kept.
func keptLeft(w *World) string {
	if w.Release.Status.Phase != v1alpha1.PhaseCompleted {
		return ""
	}
	for _, key := range []string{v1alpha1.CurrentStableAnnotation, v1alpha1.LastStableAnnotation} {
		revision := w.Release.Annotations[key]
		if revision != "" && !slices.ContainsFunc(w.Kept, func(k plan.Kept) bool { return k.Revision == revision }) {
			return fmt.Sprintf("the template of %s, the %s, is not kept", revision, key)
		}
	}
	return ""
}

// setsLeft checks that one ReplicaSet is active, with the workload's template and every pod
// available. A workload that its own user has paused keeps its pods, whatever template a policy of
// the API server gives it.
func setsLeft(w *World) string {
	if d := &w.Workload; d.Hold == nil && d.Paused && w.API.Policied {
		return ""
	}
	for i := range w.Sets {
		s, want := &w.Sets[i], int32(0)
		if s == updatedSet(w) && !keptOut(w) || keptOut(w) && same(s.Revision, w.Release.Status.UpdateRevision) {
			want = w.Workload.Replicas
		}
		if s.Replicas != want || s.Pods.Available != want || s.Pods.total() != want {
			return fmt.Sprintf("%s has %d pods, %d available, wanted %d", s.Revision, s.Pods.total(), s.Pods.Available, want)
		}
	}
	return ""
}

// keptOut reports whether the workload's template was applied, and waits as it was rolled back.
func keptOut(w *World) bool {
	return w.Workload.Waiting && slices.Contains(w.Release.Status.Quarantined, Given(w.Release.Template)) && w.Release.Status.Resolved != nil
}

// appliedLeft reports whether the template that was applied last is neither released nor rolled back.
func appliedLeft(w *World) bool {
	status, applied := w.Release.Status, past(w).Applied
	barred := func(as string) bool { return same(as, applied) && slices.Contains(status.Quarantined, Given(as)) }
	return w.follows() && applied != "" && !same(status.UpdateRevision, applied) && !slices.ContainsFunc([]string{applied, applied + respelling, w.Release.Template}, barred)
}

func releaseLeft(w *World) string {
	status := w.Release.Status
	switch {
	case status.Resolved == nil && (w.Release.Template == "" || slices.Contains(status.Quarantined, Given(w.Release.Template))):
		return "" // there is nothing to release
	case status.Phase != v1alpha1.PhaseCompleted:
		return fmt.Sprintf("the phase is %q: %s", status.Phase, status.Message)
	case status.Held != nil:
		return "the status says that the workload is held"
	case appliedLeft(w):
		return fmt.Sprintf("%s was applied last, and %s is released", past(w).Applied, status.UpdateRevision)
	case keptOut(w) && Digest(w.Workload.Template) != w.Release.Annotations[v1alpha1.FollowedAnnotation]:
		return fmt.Sprintf("%s was applied, and is not in spec.template", w.Workload.Template)
	case !same(w.Workload.Template, status.UpdateRevision) && !saidDrifted(w) && !keptOut(w):
		return fmt.Sprintf("the workload runs %s, not %s", w.Workload.Template, status.UpdateRevision)
	case saidDrifted(w) && w.Release.Spec.Drift == v1alpha1.DriftRevert:
		return "drift is not reverted: " + status.Message
	case same(w.Workload.Template, status.UpdateRevision) && saidDrifted(w):
		return "the status says that the workload has drifted"
	case w.fleet != nil && status.Queued != nil && status.Queued.Given == Given(w.Release.Template) && w.fleet.returned(w.seat-1):
		return "" // its train has returned, and it waits for the next run
	case w.Release.Template != "" && !same(unstamped(status.UpdateRevision), w.Release.Template) && !slices.Contains(status.Quarantined, Given(w.Release.Template)):
		return fmt.Sprintf("%s is released, wanted is %s", status.UpdateRevision, w.Release.Template)
	case w.Release.Annotations[v1alpha1.CurrentStableAnnotation] != status.UpdateRevision:
		return "current-stable-revision does not name what runs"
	case w.Release.Annotations[v1alpha1.RollbackAnnotation] != "" || w.Release.Annotations[v1alpha1.RetryAnnotation] != "":
		return "a command is not answered"
	}
	for i := range w.Gates {
		if w.Gates[i].Decision != v1alpha1.DecisionPassed {
			return "gate " + w.Gates[i].Name + " waits for ever"
		}
		if w.Gates[i].Spec.Attempt < status.Attempt {
			return "gate " + w.Gates[i].Name + " of an earlier attempt is left"
		}
	}
	return ""
}

// endOf returns how a run has ended, so that two runs can be compared.
func endOf(w *World) string {
	var text strings.Builder
	d, status := &w.Workload, w.Release.Status
	fmt.Fprintf(&text, "workload template=%s replicas=%d strategy=%s paused=%t hold=%v\n",
		d.Template, d.Replicas, d.Strategy, d.Paused, d.Hold)
	byKind(d).tellEnd(w, &text)
	fmt.Fprintf(&text, "release purged=%t phase=%s reason=%s batch=%s attempt=%d update=%s stable=%s rollback=%s quarantined=%v held=%v\n",
		w.Release.Purged, status.Phase, status.Reason, status.Batch, status.Attempt,
		status.UpdateRevision, status.StableRevision, status.RolledBackTo(), status.Quarantined, status.Held)
	fmt.Fprintf(&text, "annotations %v\n", w.Release.Annotations)
	if rollback := status.Rollback; rollback != nil {
		fmt.Fprintf(&text, "rolled back from %s by %s: %s\n", rollback.From, rollback.Trigger, rollback.Message)
	}
	for _, k := range w.Kept {
		fmt.Fprintf(&text, "kept %d %s %s by attempt %d\n", k.Number, k.Revision, k.Outcome, k.Attempt)
	}
	for i := range w.Gates {
		fmt.Fprintf(&text, "gate %s %s\n", w.Gates[i].Name, w.Gates[i].Decision)
	}
	return text.String()
}
