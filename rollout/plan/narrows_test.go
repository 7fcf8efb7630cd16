package plan_test

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// growing is a rack whose native controller may act by itself, so that counts may be outdated, and
// whose writes only narrow what comes back updated, or do not.
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

// approved returns a release of v2 to ten pods, let through its first gate.
func approved(t *testing.T) *rack {
	t.Helper()
	k := newRack(t, 10)
	k.give("v2")
	k.settle()
	k.approve()
	return k
}

// goesOn has a release go on for ten passes with a mover, each so long after the last write, and
// after the native controller was seen to have seen it, unless that is 0. From a step on they are
// without live reads: it reports whether these were asked for in any pass, and whether pods were
// moved without.
func (k *rack) goesOn(m growing, ago, seen time.Duration, reads plan.Reads, from int32) (asked, moved bool) {
	for range 10 {
		o := k.observation(nil)
		without := k.release.Status.CurrentStepIndex >= from
		if without {
			o.Live &^= reads
		}
		if o.LastScale = o.Now.Add(-ago); seen > 0 {
			o.NativeSince = o.Now.Add(-seen)
		}
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
		if _, moved := k.goesOn(growing{guarded: true, tidies: test.tidies}, test.ago, 0, 0, 0); moved == test.waits {
			t.Errorf("%s: moved %t", name, moved)
		}
	}
}

// TestWhatTheNativeControllerDoesIsLeftToItForAWhile: it may be at it already.
func TestWhatTheNativeControllerDoesIsLeftToItForAWhile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		written, seen time.Duration // ago
		moved         bool
	}{
		"a moment after the last write":        {2 * time.Second, time.Minute, false},
		"a while after the last write":         {4 * time.Second, time.Minute, true},
		"a moment after it was seen at last":   {30 * time.Second, 2 * time.Second, false},
		"a while after it was seen":            {30 * time.Second, 4 * time.Second, true},
		"too long after it, whoever sees it":   {2 * time.Minute, 2 * time.Second, true},
		"nobody knows whether it was seen yet": {4 * time.Second, 0, true},
	} {
		if _, moved := approved(t).goesOn(growing{guarded: true, native: true}, test.written, test.seen, 0, 0); moved != test.moved {
			t.Errorf("%s: moved %t", name, moved)
		}
	}
}
