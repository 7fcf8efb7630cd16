package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// passStep goes on from a step that is done: to its gates, the next step, or the end. It returns
// the task that follows.
func passStep(d Decision, t mover.Task, st traffic.Standing) (Decision, mover.Task) {
	policies := d.snap.gates().toPass()
	d = dropGates(rideOn(d, d.snap.steps().index()+1), policies)
	if d.snap.obs.LastScale.IsZero() && !d.snap.live(ReadCounts) { // what an earlier process wrote may be in no cache yet
		return d.read(ReadCounts), t
	}
	if len(policies) > 0 {
		if len(d.snap.record.Gates) == 0 && (!followsReplicas(d.snap, t) || !d.snap.pods.Settled) {
			return d, t
		}
		var passed bool
		if d, passed = passGates(d, policies); !passed {
			t.Blocked = len(d.snap.gates().waiting()) > 0
			return d, t
		}
	}
	d, passed := passTrain(d)
	if !passed {
		t.Blocked = heldByTrain(d.snap)
		return d, t
	}
	next := d.snap.steps().index() + 1
	switch {
	case d.snap.steps().raised():
		d, next = askAgain(d), d.snap.steps().index()
	case d.snap.steps().last():
		return finish(d, st), t
	case exceeds(d.snap, t.Target) && d.snap.pods.Updated.Wanted > t.Keep[t.Revision]:
		return d, t
	}
	// Whoever finds the pods of the next step in one that was jumped back to would take them away
	// again.
	d.statusFirst = d.snap.steps().steppingBack()
	d = enterNext(d, next, t.Target)
	entered := taskOf(d.snap, d.snap.record.TargetReplicas)
	entered.Keep, entered.KeepAll, entered.Grow, entered.Most = t.Keep, t.KeepAll, t.Grow, t.Most // requests go where they went before
	return d, entered
}

// exceeds reports whether more pods run the revision than this step or the next says, because
// spec.replicas changed. A step that is entered keeps the pods that it finds, so the excess goes
// first, unless requests keep it.
func exceeds(s *snapshot, target int32) bool {
	return rescaling(s) && !s.steps().raised() && s.pods.Updated.Wanted > mostAtEntry(s, target)
}

// mostAtEntry returns how many updated pods the next step may find. Pods that later steps allow
// whose gates have passed may stay.
func mostAtEntry(s *snapshot, target int32) int32 {
	most := max(target, s.steps().shareOf(s.steps().index()+1).entered(s.workload.Replicas))
	if hasGrown(s) && !s.steps().steppingBack() {
		most = max(most, reach(s, target))
	}
	return most
}

// enterNext starts a step after another one. Pods beyond the steps, which requests keep, are not of
// it: the release follows spec.replicas until they have gone.
func enterNext(d Decision, index, target int32) Decision {
	if !exceeds(d.snap, target) {
		return enterStep(d, index)
	}
	most, replicas := mostAtEntry(d.snap, target), d.snap.record.Replicas
	return enterStep(d, index).with(func(r *record) { r.TargetReplicas, r.Replicas = min(r.TargetReplicas, most), replicas })
}

// passGates opens the gates of a step that is done, and reports whether all have passed. A decision
// counts only for this attempt at this revision, and only if it was read live.
func passGates(d Decision, policies []indexed) (Decision, bool) {
	d = openGates(d, policies)
	waiting := d.snap.gates().waiting()
	switch {
	case len(waiting) > 0 && d.refused != nil: // nobody can pass a gate that there is not: the deadline runs on
		d, _ = rollBackRejected(d.with(func(r *record) { r.Gates = nil }))
		return d, false
	case len(waiting) > 0:
		d, _ = rollBackRejected(block(d, waiting))
		return d, false
	}
	reads := ReadGates | ReadRelease | ReadCounts
	if isTrain(d.snap) {
		reads = ReadGates | ReadRelease | ReadMembers
	}
	if !d.snap.live(reads) {
		return d.read(reads), false
	}
	return noteForced(d), true
}

// noteForced records which gates of the step were passed despite their policies. The record
// outlives the gates.
func noteForced(d Decision) Decision {
	forced := slices.Clone(d.snap.record.Forced)
	for _, gate := range d.snap.obs.Gates {
		force := gate.Forced()
		if gate.Spec.Attempt != d.snap.record.Attempt || gate.Spec.Step != d.snap.steps().index() || force == nil {
			continue
		}
		f := v1alpha1.ForcedGate{Step: gate.Spec.Step, Type: gate.Spec.Type, Force: *force}
		if !slices.Contains(forced, f) {
			forced = append(forced, f)
		}
	}
	return d.with(func(r *record) { r.Forced = forced })
}

// reach returns how many updated pods the steps allow whose predecessors' gates have passed. There
// may be as many though the record is about an earlier step, if the status was lost that began the
// later one. While the steps are invalid, the pods that there are stay.
func reach(s *snapshot, target int32) int32 {
	if s.steps().unreadable() {
		return max(target, min(s.pods.updated(), s.steps().share().most(s.workload.Replicas)))
	}
	most, replicas := target, s.workload.Replicas
	for step := s.steps().index(); int(step) < len(s.steps().list())-1 && s.gates().passedAt(step); step++ {
		most = max(most, s.steps().shareOf(step+1).entered(replicas))
	}
	return most
}

// dropGates deletes the gates of this attempt that have not passed and that the edited step does
// not ask for, or not with this policy. It reads them live first, as a cache may show a gate as it
// was before it passed. A process that died may have opened a gate before it recorded the step.
func dropGates(d Decision, policies []indexed) Decision {
	for _, gate := range d.snap.gates().undecided() {
		switch {
		case d.snap.gates().askedFor(&gate, policies), laterStep(d.snap, &gate):
		case !d.snap.live(ReadGates):
			return d.read(ReadGates)
		default:
			d = d.do(CloseGate{Reason: "the steps were edited", Name: gate.Name})
		}
	}
	return d
}

// laterStep reports whether a gate is of a step after the recorded one: a process that died opened
// it. A jump back begins another attempt, with gates of its own.
func laterStep(s *snapshot, gate *v1alpha1.Gate) bool {
	return s.record.entered() && gate.Spec.Step > s.steps().index() && int(gate.Spec.Step) < len(s.steps().list())
}

// openGates creates the missing gates of the step, and records all of them. No gate is opened
// before the pods are exactly as the step says, nor before an old one of the same name is gone: its
// pull request is closed first.
func openGates(d Decision, policies []indexed) Decision {
	var open []v1alpha1.GateReference
	for _, g := range policies {
		spec, name := d.snap.gates().spec(g), d.snap.gates().name(g)
		gate, ref := d.snap.gates().find(name, spec), v1alpha1.GateReference{Name: name, Type: spec.Type}
		if gate != nil {
			ref.Decision, ref.Undecided = gate.Status.Decision, gate.Status.Undecided
		}
		open = append(open, ref)
		if gate == nil && !d.snap.gates().leaving(name, spec) {
			d = d.do(OpenGate{Reason: Reason("batch " + d.snap.steps().number(d.snap.steps().index()) + " is done"), Name: name, Spec: spec})
		}
	}
	return d.with(func(r *record) { r.Gates = open })
}

// block makes the step wait. A user's confirmation stays until it is judged, unless a gate was
// rejected.
func block(d Decision, waiting []waitingGate) Decision {
	state := v1alpha1.StepBlocking
	confirmed := d.snap.release.Status.CurrentStepState == v1alpha1.StepCompleted && d.snap.gates().sameAs(d.snap.release.Status.Gates)
	manual := slices.ContainsFunc(waiting, func(w waitingGate) bool { return w.policy.Manual != nil })
	if confirmed && manual && rejectedOf(waiting) == nil {
		state = v1alpha1.StepCompleted
	}
	return d.with(func(r *record) {
		r.CurrentStepState = state
		if r.paused() { // the pod stays in this step
			r.PausePoint = nil
		}
	})
}

// closeGates deletes the gates of earlier attempts, which no longer count.
func closeGates(d Decision, why Reason) Decision {
	for _, gate := range d.snap.obs.Gates {
		if gate.DeletionTimestamp == nil && gate.Spec.Attempt < d.snap.record.Attempt {
			d = d.do(CloseGate{Reason: why, Name: gate.Name})
		}
	}
	return d
}

// closeUndecided deletes the gates of this attempt that have not passed, for example because the
// steps were edited. The others stay as evidence.
func closeUndecided(d Decision, why Reason) Decision {
	for _, gate := range d.snap.gates().undecided() {
		d = d.do(CloseGate{Reason: why, Name: gate.Name})
	}
	return d
}

// finish hands the workload back: every pod runs the new revision.
func finish(d Decision, st traffic.Standing) Decision {
	d, ended := endTraffic(d, st)
	if !ended {
		return d
	}
	d = d.with(func(r *record) {
		r.Phase, r.CurrentStepState, r.Gates, r.Answers = v1alpha1.PhaseFinalizing, v1alpha1.StepCompleted, nil, nil
	})
	d = d.do(moveActions(d.snap, d.snap.workload.Mover.Finish(d.snap.workload.Digest))...)
	return d.do(HandBack{
		Reason: Reason("all pods run revision " + d.snap.record.UpdateRevision),
		Hold:   *d.snap.workload.Hold,
	})
}

// askAgain deletes the gates of the current step, which passed for less than it says now. They are
// opened again once its pods are there.
func askAgain(d Decision) Decision {
	for i := range d.snap.obs.Gates {
		if gate := &d.snap.obs.Gates[i]; gate.DeletionTimestamp == nil && gate.Spec.Attempt == d.snap.record.Attempt &&
			gate.Spec.Step == d.snap.steps().index() && !gate.IsGuard() {
			d = d.do(CloseGate{Reason: "the step says more than when they were opened", Name: gate.Name})
		}
	}
	return d
}
