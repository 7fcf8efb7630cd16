package plan_test

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// growing is a rack whose native controller may act by itself, so that counts may be outdated, and whose writes only narrow
// what comes back updated, or do not.
type growing struct {
	slots

	narrows, guarded, tidies, native bool
}

func (m growing) Count(digest string) mover.Counts {
	c := m.slots.Count(digest)
	c.Self = true
	return c
}

func (m growing) Move(t mover.Task) mover.Moves {
	all := m.slots.Move(t)
	return mover.Moves{Grow: all.Shrink, Narrows: m.narrows, Guarded: m.guarded, Tidies: m.tidies, Native: m.native}
}

// approved is a release of v2 to ten pods, let through its first gate.
func approved(t *testing.T) *rack {
	t.Helper()
	k := newRack(t, 10)
	k.give("v2")
	k.settle()
	k.approve()
	return k
}

// goesOn has a release go on for ten passes with a mover, each so long after the last write. From a step on they are without live
// reads: it reports whether these were asked for in any pass, and whether pods were moved without.
func (k *rack) goesOn(m growing, ago time.Duration, reads plan.Reads, from int32) (asked, moved bool) {
	for range 10 {
		o := k.observation(nil)
		without := k.release.Status.CurrentStepIndex >= from
		if without {
			o.Live &^= reads
		}
		o.LastScale = o.Now.Add(-ago)
		m.slots = o.Workload.Mover.(slots)
		o.Workload.Mover = m
		next := plan.Next(o)
		k.release.Status = next.Status
		asked = asked || next.Needs.Reads.Has(reads)
		for _, action := range next.Actions {
			_, moves := action.(plan.MovePods)
			moved = moved || moves && without
		}
	}
	return asked, moved
}

// TestAWriteThatNarrowsNeedsNoCounts: each live read of the pods is a request, in each batch.
func TestAWriteThatNarrowsNeedsNoCounts(t *testing.T) {
	t.Parallel()
	for _, narrows := range []bool{true, false} {
		asked, moved := approved(t).goesOn(growing{narrows: narrows}, time.Minute, plan.ReadCounts, 1) // to pass the gate they are read
		if moved != narrows || asked == narrows {
			t.Errorf("narrows %t: pods were read live first: %t, and moved without: %t", narrows, asked, moved)
		}
	}
}

// TestAWriteThatTheWorkloadGuardsNeedsNoOtherReadingOfIt: it is refused where anybody has changed it meanwhile.
func TestAWriteThatTheWorkloadGuardsNeedsNoOtherReadingOfIt(t *testing.T) {
	t.Parallel()
	for _, guarded := range []bool{true, false} {
		asked, moved := approved(t).goesOn(growing{guarded: guarded}, time.Minute, plan.ReadWorkload, 0)
		if moved != guarded || asked == guarded {
			t.Errorf("guarded %t: the workload was read live first: %t, and moved without: %t", guarded, asked, moved)
		}
	}
}

// TestWhatOnlyTidiesWaitsWhereNoGateIsLeft: the next batch may make it needless.
func TestWhatOnlyTidiesWaitsWhereNoGateIsLeft(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		gates, tidies bool
		ago           time.Duration
		waits         bool
	}{
		"no gate is left":                   {false, true, time.Second, true},
		"a gate is left":                    {true, true, time.Second, false},
		"the next batch is long in coming":  {false, true, 2 * time.Minute, false},
		"the write is for pods there are":   {false, false, time.Second, false},
		"a gate is left, and is for others": {true, false, time.Second, false},
	}
	for name, test := range tests {
		k := approved(t)
		if !test.gates {
			k.release.Spec.Strategy.Steps[1].Gates = []v1alpha1.GatePolicy{{None: &v1alpha1.NoGate{}}}
		}
		if _, moved := k.goesOn(growing{guarded: true, tidies: test.tidies}, test.ago, 0, 0); moved == test.waits {
			t.Errorf("%s: moved %t", name, moved)
		}
	}
}

// TestWhatTheNativeControllerDoesIsLeftToItForAWhile: it may be at it already.
func TestWhatTheNativeControllerDoesIsLeftToItForAWhile(t *testing.T) {
	t.Parallel()
	for ago, want := range map[time.Duration]bool{2 * time.Second: false, 4 * time.Second: true} {
		if _, moved := approved(t).goesOn(growing{guarded: true, native: true}, ago, 0, 0); moved != want {
			t.Errorf("%v after the last write: moved %t", ago, moved)
		}
	}
}
