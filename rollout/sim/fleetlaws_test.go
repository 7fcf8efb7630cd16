package sim

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// fleetLaws are the laws of a train and its members, as their pods have it.
type fleetLaws struct {
	f *Fleet
	// proved is how many steps of the present run each member has truly done, and run the attempt of
	// the train that it counts for.
	proved []int32
	// updated is the largest percentage of its pods that was available and updated, rounded down.
	updated []int32
	run     int64
	// let says what a member may do by what it has read of the train, live, in its pass.
	let []permission
	// turned marks a member whose train returned before its pass began, as its cache shows.
	turned []bool
	// opened counts the gates of the train by name.
	opened map[string]int
}

// permission holds what the laws let a member do at the moment in which it read the train.
type permission struct {
	known bool
	// attempt is that of the train.
	attempt int64
	// steps is how many steps it may start, and finish says that it may hand its workload back.
	steps  int32
	finish bool
}

// watchFleet has the laws judge a fleet.
func watchFleet(f *Fleet) *fleetLaws {
	n := len(f.Members)
	laws := &fleetLaws{f: f, proved: make([]int32, n), updated: make([]int32, n), let: make([]permission, n), turned: make([]bool, n), opened: map[string]int{}}
	for _, s := range append([]*State{f.Train}, f.Members...) {
		k := newChecker(s.World)
		k.fleet = laws
		s.observer = k
	}
	return laws
}

func (l *fleetLaws) see(w *World, incident any) {
	l.prove()
	if w.seat == 0 {
		l.seeTrain(w, incident)
		return
	}
	i := w.seat - 1
	if l.f.left[i] {
		return
	}
	switch of := incident.(type) {
	case passBegun:
		member := l.runMember(i)
		if l.f.Members[i].Process.unwritten == nil { // else it has started a step, and the status says so later
			l.let[i] = permission{}
		}
		l.turned[i] = member != nil && member.Returns && l.f.trainSeen[i] == nil
	case factRead:
		if of.what == plan.ReadTrain {
			l.let[i] = l.permits(i)
		}
	case actionSent:
		l.judgeForward(w, i, of)
		l.judgeSkew(w, i, of)
		l.judgeFinish(w, i, of)
	case statusSent:
		l.judgeMember(w, i, of.status)
	}
}

// runMember returns what the train has recorded of a member; nil if it is in no run.
func (l *fleetLaws) runMember(i int) *v1alpha1.RunMember {
	run := l.f.Train.Release.Status.Run
	if run == nil {
		return nil
	}
	at := slices.IndexFunc(run.Members, func(m v1alpha1.RunMember) bool { return m.Name == MemberName(i) })
	if at < 0 {
		return nil
	}
	return &run.Members[at]
}

// returned reports whether the train has returned, or has had a member return alone.
func (f *Fleet) returned(i int) bool {
	status := f.Train.Release.Status
	return status.Rollback != nil || status.Run != nil && slices.ContainsFunc(status.Run.Members, func(m v1alpha1.RunMember) bool {
		return m.Name == MemberName(i) && m.Returns
	})
}

// prove notes how many steps each member of the run has done, by its pods.
func (l *fleetLaws) prove() {
	status := l.f.Train.Release.Status
	if status.Attempt != l.run {
		l.run = status.Attempt
		clear(l.proved)
		clear(l.updated)
	}
	for i, s := range l.f.Members {
		member := l.runMember(i)
		if member == nil {
			continue
		}
		for l.proved[i] < int32(len(l.steps())) && does(s.World, member.Template, l.steps()[l.proved[i]]) {
			l.proved[i]++
		}
		available := availableOf(s.World, member.Template)
		if replicas := s.World.Workload.Replicas; replicas > 0 {
			l.updated[i] = max(l.updated[i], available*100/replicas)
		}
	}
}

func (l *fleetLaws) steps() []v1alpha1.Step { return l.f.Train.Release.Spec.Strategy.Steps }

// does reports whether as many pods of a template are available as a step says.
func does(w *World, given string, step v1alpha1.Step) bool {
	d := &w.Workload
	available := availableOf(w, given)
	target := Target(step, d.Replicas)
	if down, _ := intstr.GetScaledValueFromIntOrPercent(&step.Replicas, int(d.Replicas), false); target < d.Replicas {
		target = min(target, int32(down)) // of what a member is scaled to in the step, the share is rounded down
	}
	return available >= target || given == Given(w.Release.Template) && d.Absent
}

// availableOf returns how many pods of a template are available.
func availableOf(w *World, given string) int32 {
	available := int32(0)
	for i := range w.Sets {
		if Given(w.Sets[i].Revision) == given {
			available += w.Sets[i].Pods.Available
		}
	}
	for i := range w.Places {
		if p := &w.Places[i]; p.available() && Given(p.Revision) == given {
			available++
		}
	}
	return available
}

// permits returns what the laws let a member do now: no further than its order, lockstep and the
// gates of the train allow, by the pods of the others.
func (l *fleetLaws) permits(i int) permission {
	status := l.f.Train.Release.Status
	p := permission{known: true, attempt: status.Attempt}
	member := l.runMember(i)
	if member == nil || member.Returns {
		return p
	}
	p.steps = l.gatesPassed() + 1
	finish := status.Phase == v1alpha1.PhaseFinalizing || status.Phase == v1alpha1.PhaseCompleted
	for j := range l.f.Members {
		other := l.runMember(j)
		if other == nil || other.Returns {
			continue
		}
		if step := l.f.Train.Release.Spec.Strategy.Lockstep; step.Steps() >= 0 {
			p.steps = min(p.steps, l.proved[j]+1+step.Steps())
		}
		if l.after(i, j) && l.proved[j] < int32(len(l.steps())) {
			p.steps = 0
		}
		finish = finish && l.proved[j] == int32(len(l.steps()))
	}
	p.finish = finish
	return p
}

// after reports whether a member comes after another one.
func (l *fleetLaws) after(i, other int) bool {
	return slices.ContainsFunc(l.f.Train.Release.Spec.Members[i].After, func(p v1alpha1.Predecessor) bool { return p.Member == MemberName(other) })
}

// gatesPassed returns after how many steps of the train, from the first, all gates have passed, or
// no member waits at them.
func (l *fleetLaws) gatesPassed() int32 {
	status := l.f.Train.Release.Status
	for step := range l.steps() {
		if gates := l.f.Train.Release.Spec.Gates(false, step); len(gates) == 0 || gates[0].None != nil {
			continue
		}
		passed := slices.ContainsFunc(l.f.Train.Gates, func(g Gate) bool {
			return g.Spec.Attempt == status.Attempt && g.Spec.Step == int32(step) && g.Decision == v1alpha1.DecisionPassed
		})
		if !passed && !l.nobodyAt(int32(step)+1) {
			return int32(step)
		}
	}
	return int32(len(l.steps()))
}

// nobodyAt reports whether all members are beyond a step, so that its gates are not asked for.
func (l *fleetLaws) nobodyAt(step int32) bool {
	for i := range l.f.Members {
		if member := l.runMember(i); member != nil && !member.Returns && l.proved[i] <= step {
			return false
		}
	}
	return true
}

// judgeForward checks that a member whose train returns, as its cache shows, gets no more updated
// pods.
func (l *fleetLaws) judgeForward(w *World, i int, of actionSent) {
	move, is := of.action.(plan.MovePods)
	if !is || !l.turned[i] || w.Release.Status.Rollback != nil || !raises(of.action) {
		return
	}
	w.breach("nobody goes forward after an abort", fmt.Sprintf("%s: %s", MemberName(i), move.Write))
}

// judgeSkew checks that a member in lockstep by percent gets no more updated pods than the slowest
// member of its step, and the skew.
func (l *fleetLaws) judgeSkew(w *World, i int, of actionSent) {
	intent, to := of.pass.intent, int32(0)
	moved, _ := of.action.(plan.MovePods)
	switch write := moved.Write.(type) {
	case deployment.Scale:
		if raises(of.action) {
			to = write.To
		}
	case deployment.Create:
		to = write.Replicas
	}
	member, skew := l.runMember(i), l.f.Train.Release.Spec.Strategy.Lockstep.Percent()
	if skew == 0 || member == nil || to == 0 || intent.Rollback != nil || intent.Train == nil || intent.Train.Attempt != l.run {
		return
	}
	slowest, others := int32(100), 0
	for j := range l.f.Members {
		if other := l.runMember(j); other != nil && !other.Returns && l.proved[j] <= intent.CurrentStepIndex {
			slowest = min(slowest, l.updated[j])
			if j != i {
				others++
			}
		}
	}
	if others == 0 {
		return
	}
	replicas := max(w.Workload.Replicas, of.pass.workload.Replicas)
	if most := ((slowest+skew)*replicas + 99) / 100; to > most {
		w.breach("nobody is ahead by more than the skew", fmt.Sprintf("%s gets %d updated pods of %d, the slowest member has %d%%", MemberName(i), to, replicas, slowest))
	}
}

// judgeFinish checks that no member hands its workload back before all members of the run are
// through.
func (l *fleetLaws) judgeFinish(w *World, i int, of actionSent) {
	intent := of.pass.intent
	if _, is := of.action.(plan.HandBack); !is || intent.Phase != v1alpha1.PhaseFinalizing || intent.Rollback != nil || l.let[i].finish {
		return
	}
	w.breach("nobody is finished until everybody is", MemberName(i)+" hands its workload back")
}

// raises reports whether an action of a Deployment makes more pods of the version that is released.
func raises(action plan.Action) bool {
	scale, is := scaleOf(action)
	return is && scale.Updated && scale.To > scale.From
}

// judgeMember checks that a member starts a step only as its train let it when it read that, live.
func (l *fleetLaws) judgeMember(w *World, i int, status *v1alpha1.BatchReleaseStatus) {
	before := w.Release.Status
	if status.Rollback != nil || status.Train == nil || status.Resolved == nil || status.Adopted {
		return
	}
	entered := status.StepStartedAt != nil && (before.StepStartedAt == nil || before.Attempt != status.Attempt || status.CurrentStepIndex > before.CurrentStepIndex)
	let := l.let[i]
	switch {
	case entered && status.CurrentStepIndex > 0 && !let.known:
		w.breach("a member reads its train before it starts a step", fmt.Sprintf("%s starts step %d", MemberName(i), status.CurrentStepIndex+1))
	case entered && let.known && status.CurrentStepIndex >= let.steps:
		w.breach("nobody is past the barrier", fmt.Sprintf("%s starts step %d and may start %d", MemberName(i), status.CurrentStepIndex+1, let.steps))
	}
}

// seeTrain checks that one approval is asked for one barrier.
func (l *fleetLaws) seeTrain(w *World, incident any) {
	if of, is := incident.(statusSent); is && of.status.Attempt != w.Release.Status.Attempt && of.status.Rollback == nil {
		for i, s := range l.f.Members {
			if slices.ContainsFunc(of.status.Run.Members, func(m v1alpha1.RunMember) bool { return m.Name == MemberName(i) }) {
				past(s.World).given("") // what was rolled back with the train is released again
			}
		}
	}
	sent, is := incident.(actionSent)
	if !is {
		return
	}
	if open, is := sent.action.(plan.OpenGate); is && findGate(w.Gates, open.Name) == nil {
		if l.opened[open.Name]++; l.opened[open.Name] > 1 {
			w.breach("one approval for one barrier", "gate "+open.Name+" is opened again")
		}
	}
}

// judgeEnd checks that at rest all members of the run have its templates, or none has.
func (l *fleetLaws) judgeEnd() string {
	status := l.f.Train.Release.Status
	if status.Run == nil {
		return ""
	}
	if status.Phase != v1alpha1.PhaseCompleted {
		return fmt.Sprintf("the train does not end: %s: %s", status.Phase, status.Message)
	}
	for i, s := range l.f.Members {
		if left := unfinished(s.World); left != "" {
			return fmt.Sprintf("%s: %s", MemberName(i), left)
		}
		member := l.runMember(i)
		if member == nil || member.Was == member.Template || l.f.left[i] {
			continue
		}
		if member.Revision != "" && member.Revision != s.Release.Status.UpdateRevision {
			continue // somebody has rolled it back further since the run has ended
		}
		runs := Given(s.Release.Status.UpdateRevision) == member.Template
		stays := s.Release.Status.Train != nil && s.Release.Status.Train.Answer == v1alpha1.MemberCannotReturn
		if back := s.Release.Status.Rollback; back != nil && back.Trigger == v1alpha1.TriggerGitRevert {
			continue // Git had it return already, and a rollback is not rolled back
		}
		if runs == (status.Rollback != nil || member.Returns) && !stays {
			return fmt.Sprintf("all or none: %s runs %s, and the train has %s", MemberName(i), s.Release.Status.UpdateRevision, status.Reason)
		}
	}
	return ""
}
