package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// Key tells two states apart by what can matter for what comes next. Versions and generations
// count only as to whether a view is the present one; texts for people and counts don't.
type Key [16]byte

// keyRoom is more than most states take before they are hashed.
const keyRoom = 1024

// Key returns that of the state.
func (s *State) Key() Key {
	e := encoder{world: s.World, bytes: make([]byte, 0, keyRoom)}
	e.release(&s.Release)
	e.workload(&s.World.Workload)
	e.earlier(s.World.Workload.Earlier)
	e.sets(s.World.Sets)
	byKind(&s.Workload).key(&e, s)
	e.gates(s.Gates)
	e.kept(s.Kept)
	keyOfPast(&e, past(s.World))
	e.lag(&s.Lag)
	keyOfProcess(&e, s.Process)
	if s.Traffic != nil {
		keyOfTraffic(&e, s)
	}
	used := checkerOf(s.World).used
	e.bytes = append(e.bytes, used[:]...)
	e.text(s.Sick)
	e.flag(s.Skew > 0, s.Skew < 0)
	e.flag(s.API.Crowded, s.Release.Spec.Strategy.AllowMixedVersions)
	e.text(past(s.World).Applied)
	e.text(string(s.API.Refusing))
	e.text(s.API.Stamp)
	e.refusals(s)
	sum := sha256.Sum256(e.bytes)
	return Key(sum[:16])
}

// refusals count by whether they still hold back a write.
func (e *encoder) refusals(s *State) {
	for _, r := range s.Process.refusals {
		if r.Generation != s.Release.Generation {
			continue
		}
		e.text(r.Write.Key)
		e.flag(r.Until.IsZero(), s.Now.Before(r.Until), r.Rewritten && r.Written, r.Left != nil)
		if r.Rewritten && r.Written {
			e.number(int64(r.Tries))
		}
	}
}

type encoder struct {
	world *World
	bytes []byte
}

func (e *encoder) text(text string) {
	e.bytes = append(append(e.bytes, text...), 0)
}

func (e *encoder) number(n int64) {
	e.bytes = binary.AppendVarint(e.bytes, n)
}

func (e *encoder) flag(flags ...bool) {
	for _, flag := range flags {
		bit := byte('0')
		if flag {
			bit = '1'
		}
		e.bytes = append(e.bytes, bit)
	}
}

func (e *encoder) release(r *Release) {
	e.flag(r.Version == e.world.Release.Version, r.Generation == e.world.Release.Generation, r.Finalizer, r.Deleting, r.Purged, r.Spec.Suspend)
	e.number(int64(r.Spoiled))
	if r.Edited {
		e.steps(r.Spec.Strategy.Steps)
	}
	e.step(r.Spec.ReleaseTo)
	e.text(r.Template)
	for _, key := range []string{
		v1alpha1.RollbackAnnotation, v1alpha1.RetryAnnotation,
		v1alpha1.CurrentStableAnnotation, v1alpha1.LastStableAnnotation, v1alpha1.FollowedAnnotation,
	} {
		e.text(r.Annotations[key])
	}
	e.status(r.Status)
}

func (e *encoder) stops(causes []v1alpha1.StopCause) {
	e.number(int64(len(causes)))
	for _, cause := range causes {
		e.text(string(cause))
	}
}

func (e *encoder) status(s *v1alpha1.BatchReleaseStatus) {
	e.stops(s.StoppedBy)
	for _, text := range []string{
		string(s.Phase), string(s.CurrentStepState), string(s.State), string(s.StalledBy), s.Reason, s.Batch,
		s.UpdateRevision, s.StableRevision, s.RolledBackTo(), string(s.WorkloadUID),
	} {
		e.text(text)
	}
	for _, n := range []int64{int64(s.CurrentStepIndex), s.Attempt, int64(s.Replicas), int64(s.TargetReplicas)} {
		e.number(n)
	}
	e.flag(s.RefusedWrite != nil, s.Resolved != nil, s.Held != nil, s.Queued != nil, s.Jump != nil, s.Progress != nil)
	e.step(s.NextStepIndex)
	if s.Jump != nil {
		e.step(s.Jump.ReleaseTo)
		e.number(s.Jump.Attempt)
		e.number(int64(s.Jump.From)*100 + int64(s.Jump.To))
		e.flag(s.Jump.RemovePods)
		for _, jump := range s.Jump.Earlier {
			e.number(jump.Attempt)
			e.number(int64(jump.From)*100 + int64(jump.To))
			e.flag(jump.RemovePods)
		}
	}
	if s.Queued != nil {
		e.text(s.Queued.Given)
		e.text(string(s.Queued.Awaits))
		e.number(int64(s.Queued.WaitedSeconds))
	}
	if s.Resolved != nil {
		e.text(s.Resolved.Given)
		e.text(s.Resolved.Digest)
	}
	e.number(int64(len(s.Gates)))
	for _, quarantined := range s.Quarantined {
		e.text(quarantined)
	}
	if drifted := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionDrifted); drifted != nil {
		e.text(drifted.Message)
	}
	if s.Progress != nil {
		e.quarters(time.Duration(s.Progress.WaitedSeconds) * time.Second)
	}
	if s.RefusedWrite != nil {
		e.quarters(time.Duration(s.RefusedWrite.WaitedSeconds) * time.Second)
		e.text(s.RefusedWrite.Write)
	}
	e.rollback(s.Rollback)
	e.run(s)
}

// run encodes how far a train lets its members go, and how far a member is.
func (e *encoder) run(s *v1alpha1.BatchReleaseStatus) {
	if s.Run != nil {
		e.number(int64(s.Run.Passed))
		e.flag(s.Run.UpdatedPercent != nil)
		if s.Run.UpdatedPercent != nil {
			e.number(int64(*s.Run.UpdatedPercent))
		}
		for _, m := range s.Run.Members {
			e.text(m.Name + " " + m.Template + " " + m.Was + " " + m.Revision)
			e.number(int64(m.Steps))
			e.flag(m.Returns, m.Back)
		}
	}
	if s.Train != nil {
		e.number(s.Train.Attempt)
		e.number(int64(s.Train.Done))
		e.text(string(s.Train.Answer))
	}
}

func (e *encoder) rollback(why *v1alpha1.RollbackRecord) {
	if why != nil {
		e.text(string(why.Trigger))
		e.text(why.From)
		e.text(why.Digest)
	}
}

// step is one that somebody requests, or none.
func (e *encoder) step(index *int32) {
	if e.flag(index != nil); index != nil {
		e.number(int64(*index))
	}
}

// quarters is how many quarters of the progress deadline a wait has lasted: more often it is not
// put on record.
func (e *encoder) quarters(waited time.Duration) {
	deadline := time.Duration(*e.world.Release.Spec.Strategy.ProgressDeadlineSeconds) * time.Second
	e.number(int64(min(4*waited/deadline, 4)))
}

func (e *encoder) workload(d *Workload) {
	e.flag(d.Generation == e.world.Workload.Generation, d.Absent, d.Hold != nil, d.Hold != nil && d.Hold.Change != (plan.ExternalChange{}))
	e.text(string(d.UID))
	e.text(d.Follower)
	e.flag(d.Waiting)
	e.text(d.Noted.Strategy)
	e.number(d.behind())
	e.spec(&d.Spec)
}

func (e *encoder) spec(s *Spec) {
	e.flag(s.Paused)
	e.text(s.Strategy)
	e.text(s.Template)
	e.number(int64(s.Replicas))
}

func (e *encoder) earlier(specs []Spec) {
	for i := range specs {
		e.spec(&specs[i])
	}
}

func (e *encoder) sets(sets []Set) {
	e.number(int64(len(sets)))
	for i := range sets {
		e.set(&sets[i])
	}
}

func (e *encoder) set(s *Set) {
	present := e.world.setByUID(s.UID)
	e.flag(present != nil && present.Generation == s.Generation, s.Observed)
	e.text(s.Revision)
	e.number(int64(s.Desired))
	e.number(int64(s.Max))
	e.number(e.rank(s))
	for _, n := range []int32{
		s.Replicas, s.Status.Current, s.Status.Ready, s.Status.Available, s.Status.Terminating,
		s.Pods.Pending, s.Pods.Failing, s.Pods.Warming, s.Pods.Available, s.Pods.Going,
	} {
		e.number(int64(n))
	}
}

// rank returns where a ReplicaSet stands by the number of its revision; the number itself does not
// matter.
func (e *encoder) rank(s *Set) int64 {
	rank := int64(0)
	for i := range e.world.Sets {
		if e.world.Sets[i].Number < s.Number {
			rank++
		}
	}
	return rank
}

func (e *encoder) gates(gates []Gate) {
	e.number(int64(len(gates)))
	for i := range gates {
		e.text(gates[i].Name)
		e.text(string(gates[i].Decision))
	}
}

func (e *encoder) kept(kept []plan.Kept) {
	e.number(int64(len(kept)))
	for _, k := range kept {
		e.text(k.Revision)
		e.text(string(k.Outcome))
		e.number(k.Number)
		e.number(k.Attempt)
	}
}

// steps encodes the steps of a release, which an edit changes.
func (e *encoder) steps(steps []v1alpha1.Step) {
	for i := range steps {
		e.text(steps[i].Replicas.String())
		e.text(steps[i].Traffic)
		e.flag(len(steps[i].Matches) > 0)
	}
}

func keyOfPast(e *encoder, p *Past) {
	if e.world.Release.Edited {
		e.steps(e.world.Sound.Strategy.Steps)
		e.flag(p.Cleared)
	}
	e.flag(p.Sizes.Fell, p.Sizes.Spoilt, p.Losses, p.OutOfBand, p.Exposed, p.Acknowledged, p.Answered, p.Turned, p.Entered, p.Sent, p.Stuck, p.Unkept, e.world.noted, p.Allowed, p.Emptied, p.Own.Paused, p.Own.Disputed)
	e.number(p.Attempt)
	e.number(int64(p.Had))
	e.number(int64(p.Step))
	for _, n := range []int32{p.Sizes.Entered, p.Sizes.Smallest, p.Sizes.Largest, p.Sizes.Kept} {
		e.number(int64(n))
	}
	e.text(p.Bad)
	e.text(p.Undone)
	e.text(p.Barred)
	for _, revisions := range [][]string{p.Stable, p.Full, p.Brought} {
		for _, revision := range revisions {
			e.text(revision)
		}
		e.flag(true)
	}
	e.number(int64(len(p.Confirmed)))
	e.number(int64(p.Asked))
	e.quarters(p.Watched)
}

func (e *encoder) lag(l *Lag) {
	e.flag(l.Release != nil, l.Workload != nil, l.NewSets, l.Gates != nil, l.Kept != nil)
	if l.Release != nil {
		e.release(l.Release)
	}
	if l.Workload != nil {
		e.workload(l.Workload)
	}
	for _, lag := range l.Sets {
		e.text(string(lag.UID))
		if lag.Set != nil {
			e.set(lag.Set)
		}
	}
	if l.Gates != nil {
		e.gates(*l.Gates)
	}
	if l.Kept != nil {
		e.kept(*l.Kept)
	}
}

// keyOfProcess is what the process remembers beyond the caches; the rest it is about to forget.
func keyOfProcess(e *encoder, p *Process) {
	c := p.Clone()
	c.recall(e.world)
	watched := c.watches.Watched(c.view(e.world).Status, e.world.Now)
	e.quarters(watched.Progress)
	e.quarters(watched.Timed)
	e.quarters(watched.Refusal)
	e.quarters(watched.Queue)
	e.quarters(checkerOf(e.world).looked)
	e.flag(c.scaled.IsZero(), c.wrote, c.release != nil, c.workload != nil)
	if c.release != nil {
		e.release(c.release)
	}
	e.number(int64(c.waited))
	defers := c.defers(c.view(e.world).Status)
	if e.flag(c.handed, defers); defers {
		e.status(c.unwritten)
	}
	if c.workload != nil {
		e.workload(c.workload)
	}
	for i := range c.sets {
		e.text(string(c.sets[i].UID))
		e.set(&c.sets[i])
	}
	e.gates(c.gates)
}

// keyOfTraffic is who gets requests, by what there is and by what the process has seen of it, and for
// how long.
func keyOfTraffic(e *encoder, s *State) {
	w, p := s.World, s.Process.Clone()
	e.flag(w.Release.Spec.Strategy.Traffic != nil, w.Traffic.Off)
	keyOfRoutes(e, w.Traffic)
	for i := range w.Traffic.Routes {
		view := viewOf(w, &w.Traffic.Routes[i])
		e.flag(view.Direct)
		for _, gets := range view.Gets {
			e.text(string(gets.Side))
			e.text(gets.Revision)
			e.number(int64(gets.Percent))
			e.flag(gets.Matched)
		}
		e.flag(true)
	}
	p.recall(w)
	e.flag(w.Lag.Traffic != nil, len(p.written.routes)+len(p.written.sides) > 0)
	if w.Lag.Traffic != nil {
		keyOfRoutes(e, w.Lag.Traffic)
		keyOfRoutes(e, p.traffic(w))
	}
	if seen := p.lookAtTraffic(w); seen != nil {
		for _, been := range []time.Duration{seen.InEffect, seen.Stable.Steady, seen.Canary.Steady} {
			e.flag(been >= readySeconds*time.Second, been >= drainSeconds*time.Second)
		}
		unheard := seen.Unchanged - patienceOf(w)
		e.flag(unheard >= 0, unheard >= readySeconds*time.Second, unheard >= drainSeconds*time.Second)
	}
	if told := w.Release.Status.Traffic; told != nil {
		e.text(string(told.Awaits))
		e.flag(told.Problem != nil, told.Ending != nil, told.GaveUp)
		if told.Ending != nil {
			delay, watched := delayOf(w.Release.Spec), p.watches.Watched(p.view(w).Status, w.Now).Ending
			e.flag(watched >= delay, time.Duration(told.Ending.WaitedSeconds)*time.Second >= delay)
		}
	}
}

func delayOf(spec *v1alpha1.BatchReleaseSpec) time.Duration {
	if spec.Strategy.Traffic == nil {
		return 0
	}
	return time.Duration(spec.Strategy.Traffic.OldPodsDelaySeconds) * time.Second
}

func keyOfRoutes(e *encoder, t *Traffic) {
	for _, name := range t.sides() {
		side := t.side(name)
		e.flag(side.Made, side.Edited, side.Version == e.world.Traffic.side(name).Version)
		e.text(side.Revision)
		e.text(side.Slices.Revision)
		e.number(int64(side.Slices.Ready))
		e.number(int64(side.Slices.Going))
	}
	for i := range t.Routes {
		r := &t.Routes[i]
		e.flag(r.Gone, r.Silent, r.Held, r.Shared, r.Matched, r.Told == r.Generation, r.Version == e.world.Traffic.Routes[i].Version)
		e.number(int64(r.Weight))
	}
}
