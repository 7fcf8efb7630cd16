package sim

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// judgeNative checks the native controller against I3, when it adds pods to a workload that is
// held: it must never find a ReplicaSet alone, or none with pods, and give it all pods without
// approval (T1), with or without Sluice running. It may add stable pods at any time. A step's share
// counts from the size that it sees, which may be an earlier one.
func judgeNative(n native, s *Set, replicas int32) {
	w, d, status := n.World, &n.Workload, n.Release.Status
	if d.Hold == nil || past(w).OutOfBand || same(s.Revision, w.Release.stable()) || status.Rollback != nil || past(w).Turned {
		return
	}
	if past(w).isStable(s.Revision) {
		return // it was approved in full once
	}
	if past(w).Emptied || past(w).Exposed {
		past(w).OutOfBand, past(w).Acknowledged = true, true // scaled to 0 and up again, at a step that has no pod yet (T1): they are taken back
		return
	}
	limit := int32(0)
	switch {
	case same(s.Revision, status.UpdateRevision):
		limit = max(most(allowedSteps(w, status), d.Replicas), most(allowedSteps(w, status), n.Replicas))
	case past(w).isFull(s.Revision):
		return // it was, and has been superseded
	}
	if replicas > limit {
		w.breach("I3 the native controller finds no lone ReplicaSet", fmt.Sprintf("%s %d -> %d", s.Revision, s.Replicas, replicas))
	}
}

// judgeSaturated checks the native controller against T2: while a step leaves pods to the version
// before, it must never find the new ReplicaSet complete beside them, for then it takes them all.
func judgeSaturated(n native) {
	w, d, status := n.World, &n.Workload, n.Release.Status
	emptied := total(n.Sets) > n.current().Replicas
	if !emptied || d.Hold == nil || past(w).OutOfBand || !same(n.Template, d.Template) || !same(status.UpdateRevision, d.Template) || status.Rollback != nil {
		return
	}
	if w.follows() && status.Phase == v1alpha1.PhaseCompleted && past(w).isStable(d.Template) {
		return // whoever applies it has gone back from a release that is not on record
	}
	if most(allowedSteps(w, status), d.Replicas) < d.Replicas {
		w.breach("I2 the native controller finds no complete ReplicaSet beside others", d.Template)
	}
}

// judgeServing checks it where routes share requests: it takes no pods of a version that gets some,
// or has just got some, in a rollback, at the end, and whoever gives the workload a template. An
// unpaused workload belongs to its users, as does one that has another template since it was handed
// back, until it is taken over to revert that, and one version alone follows spec.replicas.
func judgeServing(n native, s *Set) {
	w, status := n.World, n.Release.Status
	free := n.Workload.Hold == nil && status.Held == nil && (status.Phase == v1alpha1.PhaseCompleted || status.Rollback != nil && status.Rollback.Trigger == v1alpha1.TriggerDrift)
	theirs := past(w).OutOfBand || free && !same(n.Template, status.UpdateRevision)
	if w.Traffic == nil || !n.Paused && theirs || len(n.active()) < 2 || s.Pods.Warming+s.Pods.Available == 0 {
		return // of a version without ready pods it takes none that serve
	}
	gets := viewOfAll(w).of(s.Revision)
	// While a step moves pods, no request is spent on the note of an old set that gives up some as soon
	// as it may, and so loses it, if no more than half of the requests go to another. People who give
	// the workload its template just then, or scale to 0, have that controller take the new pods.
	byPeople, spec := past(w).OutOfBand || !past(w).Sizes.unscaled(), w.Release.Spec.Strategy.Traffic
	if byPeople && w.Release.Status.CurrentStepState != v1alpha1.StepBlocking && spec != nil && !spec.KeepOldPods && gets.Percent <= 50 {
		return
	}
	if gets.Percent > 0 || gets.Matched {
		w.breach("I2 the native controller takes no pods that get requests", fmt.Sprintf("%d of %s, which gets %d%%", s.Replicas, s.Revision, gets.Percent))
	}
}

// updatedSet returns the ReplicaSet of the workload's template.
func updatedSet(w *World) *Set { return w.setOf(w.Workload.Template) }
