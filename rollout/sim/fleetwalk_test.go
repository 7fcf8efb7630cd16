package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// fleetWalk is one way through what may happen to a fleet, at random.
type fleetWalk struct {
	*rapid.T
	f     *Fleet
	laws  *fleetLaws
	story strings.Builder
	// largest is the number of pods of the largest member at the beginning.
	largest int32
	// fault is the first law that was broken, or the end that was not reached; empty if none.
	fault string
}

// TestWalksOfTrains lets anything happen in any order to trains and their members, each with a
// process that may stop at any write and caches that may lag, and then nothing unforeseen any more:
// the laws hold at every write, and all members end with the run, or none.
func TestWalksOfTrains(t *testing.T) {
	t.Parallel()
	for members := 1; members <= 4; members++ {
		t.Run(fmt.Sprintf("%d members", members), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				if w := walkFleet(t, drawFleet(t, members), nil); w.fault != "" {
					t.Fatalf("%s\nhow it went:%s", w.fault, w.story.String())
				}
			})
		})
	}
}

// mutant changes what a process of a fleet decides.
type mutant func(f *Fleet, seat int, o plan.Observation) plan.Plan

// walkFleet walks through a fleet. The mutant, if not nil, stands in for plan.Next.
func walkFleet(t *rapid.T, setup FleetSetup, instead mutant) *fleetWalk {
	w := &fleetWalk{T: t, f: NewFleet(setup)}
	w.laws = watchFleet(w.f)
	for _, member := range setup.Members {
		w.largest = max(w.largest, member.Replicas)
	}
	if instead != nil {
		for seat := range len(setup.Members) + 1 {
			w.f.State(seat).Next = func(o plan.Observation) plan.Plan { return instead(w.f, seat, o) }
		}
	}
	w.calmDown()
	w.push("v2")
	for range rapid.IntRange(0, 120).Draw(t, "events") {
		if w.fault == "" {
			w.anything()
		}
	}
	w.calmDown()
	if left := w.laws.judgeEnd(); left != "" {
		w.fail("the clean end: " + left)
	}
	return w
}

func (w *fleetWalk) fail(fault string) { w.fault = cmp.Or(w.fault, fault) }

// step lets an event happen to the train, or to a member.
func (w *fleetWalk) step(seat int, e Event) bool {
	s := w.f.State(seat)
	if e.idle(s) {
		return false
	}
	woken := w.beforeTrain(seat)
	changed := e.Apply(s)
	if changed {
		w.tell(seat, e)
	}
	woken()
	w.judge()
	return changed
}

func (w *fleetWalk) judge() {
	for seat := range len(w.f.Members) + 1 {
		if broken := w.f.State(seat).Broken; len(broken) > 0 {
			w.fail(fmt.Sprintf("seat %d: %s", seat, broken[0]))
		}
	}
}

func (w *fleetWalk) tell(seat int, e Event) {
	fmt.Fprintf(&w.story, "\n  seat %d: %s", seat, e)
	for _, write := range checkerOf(w.f.State(seat).World).done {
		if e.Kind <= PassRaces {
			fmt.Fprintf(&w.story, "\n      %s", write)
		}
	}
	fmt.Fprintf(&w.story, "\n    %s", w.f)
}

// push commits a template for some members, which gitsync applies in any order.
func (w *fleetWalk) push(template string) {
	var members []int
	for i := range w.f.Members {
		if rapid.IntRange(0, 3).Draw(w.T, "changes") > 0 {
			members = append(members, i)
		}
	}
	order := rapid.Permutation(seats(w.f)).Draw(w.T, "order")
	w.f.Push(template, members, order)
	fmt.Fprintf(&w.story, "\n  push %s for %v in order %v", template, members, order)
}

func seats(f *Fleet) []int {
	all := make([]int, len(f.Members)+1)
	for i := range all {
		all[i] = i
	}
	return all
}

var (
	fleetUsual = slices.Concat(slices.Repeat([]Kind{Pass, SyncSet, PodReady}, 8), slices.Repeat([]Kind{SyncWorkload, Approve, Confirm}, 3))
	fleetRare  = []Kind{PassDies, PassRaces, Restart, PodFails, PodLost, Scale, Rollback, Retry, Reject, Suspend, Resume, Freeze, Touch, Elapse, Give, Thaw, DeleteRelease}
)

// anything lets something happen, or for a while only what everybody foresees.
func (w *fleetWalk) anything() {
	if rapid.IntRange(0, 9).Draw(w.T, "calm") == 0 {
		for range rapid.IntRange(1, 60).Draw(w.T, "for") {
			if w.fault != "" || !w.calm() {
				return
			}
		}
		return
	}
	seat := rapid.SampledFrom(seats(w.f)).Draw(w.T, "seat")
	kind := rapid.SampledFrom(fleetUsual).Draw(w.T, "event")
	if rapid.IntRange(0, 5).Draw(w.T, "rare") == 0 {
		kind = rapid.SampledFrom(fleetRare).Draw(w.T, "rare event")
	}
	e := Event{Kind: kind}
	switch kind {
	case SyncSet, PodReady, PodFails, PodLost:
		var ok bool
		if e.Text, ok = w.podsOf(seat); !ok {
			return
		}
	case SyncWorkload:
		if seat == 0 {
			return
		}
	case Scale:
		if seat == 0 {
			return
		}
		e.N = rapid.Int32Range(0, max(5, 2*w.largest)).Draw(w.T, "replicas")
	case PassDies:
		e.N = rapid.Int32Range(1, 6).Draw(w.T, "after write")
	case PassRaces:
		e.N = rapid.Int32Range(1, 8).Draw(w.T, "before request")
		w.race(seat, e)
		return
	case Rollback:
		e.Text = "true"
	case Freeze:
		if seat == 0 {
			w.f.Freeze(rapid.IntRange(0, len(w.f.Members)-1).Draw(w.T, "whose"), false)
		} else {
			w.f.Freeze(seat-1, true)
		}
		return
	case Thaw:
		w.f.Thaw()
		return
	case DeleteRelease: // as a member
		if seat > 0 {
			w.leave(seat - 1)
		}
		return
	case Give:
		w.push(rapid.SampledFrom([]string{"v1", "v2", "v3"}).Draw(w.T, "template"))
		return
	}
	w.step(seat, e)
}

// race runs a pass in which something happens to another one of the fleet before a request.
func (w *fleetWalk) race(seat int, e Event) {
	other := rapid.SampledFrom(seats(w.f)).Draw(w.T, "other")
	what := rapid.SampledFrom([]Kind{Pass, Pass, Rollback, Suspend, Touch}).Draw(w.T, "meanwhile")
	if other == seat {
		return
	}
	race := Event{Kind: what}
	if what == Rollback {
		race.Text = "true"
	}
	w.f.State(seat).elsewhere = func() {
		if race.Apply(w.f.State(other)) {
			fmt.Fprintf(&w.story, "\n  meanwhile seat %d: %s", other, race)
		}
	}
	w.step(seat, e)
	w.f.State(seat).elsewhere = nil
}

// calmDown lets nothing go wrong any more until nothing is left to happen.
func (w *fleetWalk) calmDown() {
	const most = 4000
	for range most {
		if w.fault != "" || !w.calm() {
			return
		}
	}
	w.fail("the fleet does not come to rest")
}

// calm lets one thing happen that nobody has to be asked for. It reports whether anything did.
func (w *fleetWalk) calm() bool {
	w.f.Thaw()
	for seat := range len(w.f.Members) + 1 {
		s := w.f.State(seat)
		for _, e := range w.calmTurns(seat, s) {
			if w.step(seat, e) {
				return true
			}
		}
	}
	return false
}

func (w *fleetWalk) calmTurns(seat int, s *State) []Event {
	if seat > 0 {
		return calmTurns(s)
	}
	events := []Event{{Kind: Thaw}, {Kind: Resume}, {Kind: Approve}}
	switch {
	case s.Release.Status.State == v1alpha1.StateRejected:
		w.f.Push("v4", membersOf(w.f), seats(w.f))
	case waitsForPerson(s.World):
		events = append(events, Event{Kind: Confirm})
	}
	return append(events, Event{Kind: Pass})
}

func membersOf(f *Fleet) []int {
	all := make([]int, len(f.Members))
	for i := range all {
		all[i] = i
	}
	return all
}

// TestMutantsOfTrains has the laws catch the faults of others, within a number of walks in which
// the planner is never at fault.
func TestMutantsOfTrains(t *testing.T) {
	t.Parallel()
	mutants := map[string]mutant{
		// argo-cd#29410: the barrier counts what members did in the run before.
		"a barrier on yesterday's status": func(_ *Fleet, seat int, o plan.Observation) plan.Plan {
			if seat == 0 {
				for _, m := range o.Members {
					if at := m.Release.Status.Train; at != nil {
						at.Attempt = o.Release.Status.Attempt
						if resolved := m.Release.Status.Resolved; resolved != nil {
							resolved.Given = m.Given
						}
						at.Done = max(at.Done, 1)
					}
				}
			}
			return plan.Next(o)
		},
		// dynamo#13620: going back in mid-run takes the pods that serve.
		"going back takes the pods that serve": func(_ *Fleet, seat int, o plan.Observation) plan.Plan {
			next := plan.Next(o)
			for i, action := range next.Actions {
				if scale, is := scaleOf(action); is && seat > 0 && !scale.Updated && next.Status.Rollback != nil {
					scale.To = 0
					next.Actions[i] = plan.MovePods{Reason: plan.Reason(action.Why()), Write: scale}
				}
			}
			return next
		},
		"a member does not wait": func(f *Fleet, seat int, o plan.Observation) plan.Plan {
			if seat > 0 && o.Train != nil && o.Train.Status.Run != nil {
				for i := range o.Train.Status.Run.Members {
					o.Train.Status.Run.Members[i].Steps = int32(len(f.Train.Release.Spec.Strategy.Steps))
				}
			}
			return plan.Next(o)
		},
		"a member updates all pods of its step": func(_ *Fleet, seat int, o plan.Observation) plan.Plan {
			if seat > 0 && o.Train != nil && o.Train.Status.Run != nil {
				o.Train.Status.Run.UpdatedPercent, o.Train.Spec.Strategy.Lockstep = nil, nil
			}
			return plan.Next(o)
		},
		"a member finishes alone": func(_ *Fleet, seat int, o plan.Observation) plan.Plan {
			if seat > 0 && o.Train != nil && o.Train.Status.Run != nil {
				o.Train.Status.Phase = v1alpha1.PhaseFinalizing
			}
			return plan.Next(o)
		},
		"a member reads its train from the cache": func(f *Fleet, seat int, o plan.Observation) plan.Plan {
			if seat > 0 && f.trainSeen[seat-1] != nil {
				o.Train = f.trainSeen[seat-1].DeepCopy()
			}
			o.Live |= plan.ReadTrain
			return plan.Next(o)
		},
		"a train that returns lets members go on": func(_ *Fleet, seat int, o plan.Observation) plan.Plan {
			if seat > 0 && o.Train != nil && o.Train.Status.Run != nil {
				for i := range o.Train.Status.Run.Members {
					o.Train.Status.Run.Members[i].Returns, o.Train.Status.Run.Members[i].Back = false, false
				}
			}
			return plan.Next(o)
		},
		"one member returns alone": func(_ *Fleet, seat int, o plan.Observation) plan.Plan {
			if seat == 0 {
				for _, m := range o.Members {
					if back := m.Release.Status.Rollback; back != nil {
						back.Trigger = v1alpha1.TriggerGitRevert
					}
				}
			}
			return plan.Next(o)
		},
	}
	for name, instead := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walks := rapid.Custom(func(t *rapid.T) string { return walkFleet(t, drawFleet(t, 3), instead).fault })
			for i := range mostMutantWalks {
				if fault := walks.Example(i); fault != "" {
					t.Logf("caught by walk %d: %.200s", i+1, fault)
					return
				}
			}
			t.Errorf("no law caught it in %d walks", mostMutantWalks)
		})
	}
}

// mostMutantWalks is within how many walks a mutant must be caught.
const mostMutantWalks = 400
