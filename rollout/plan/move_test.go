package plan

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const (
	batch1  = ": batch 1/3"
	batch2  = ": batch 2/3"
	more    = ": more replicas: the added pods run the old version"
	fewer   = ": fewer replicas: the batch shrinks in proportion"
	hundred = 100
)

func TestSmallChangesAreCollected(t *testing.T) {
	t.Parallel()
	scaledBefore := func(d time.Duration) func(*Observation) {
		return func(o *Observation) { o.LastScale = noon.Add(-d) }
	}
	at := func(old, updated int32) *scene {
		return held(hundred).bounds("25", "25").at(1, 50).sets(set("v1", old), set("v2", updated, available(0)))
	}
	const is = "RollingUpdate 2/3 Upgrade StepUpgrading"
	small := []string{"scale v2 48 -> 50" + batch2}
	checkPlans(t, map[string]planned{
		"a few pods soon after a write wait for more of their kind": {
			at(75, 48).but(scaledBefore(100 * time.Millisecond)), outcome{Is: is, Wake: 150 * time.Millisecond},
		},
		"not for longer than a quarter of a second": {
			at(75, 48).but(scaledBefore(patience)), outcome{Script: small, Is: is, Wake: longestLook},
		},
		"the first write of a process does not wait": {
			at(75, 48), outcome{Script: small, Is: is, Wake: longestLook},
		},
		"an eighth of the bounds does not wait": {
			at(75, 44).but(scaledBefore(0)), outcome{Script: []string{"scale v2 44 -> 50" + batch2}, Is: is, Wake: longestLook},
		},
		"what ends the step does not wait": {
			at(50, 49).but(scaledBefore(0)), outcome{Script: []string{"scale v2 49 -> 50" + batch2}, Is: is, Wake: longestLook},
		},
		"in a small release nothing waits": {
			held(10).at(1, 5).but(scaledBefore(0)).sets(set("v1", 8), set("v2", 2)),
			outcome{Script: []string{"scale v2 2 -> 3" + batch2}, Is: is, Wake: longestLook},
		},
	})
}

func TestWhatIsReadLiveBeforeAWrite(t *testing.T) {
	t.Parallel()
	live := func(o *Observation) { o.Live |= ReadWorkload }
	fresh := func(o *Observation) { o.LastScale = time.Time{} }
	grows := func() *scene { return held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)) }
	shrinks := func() *scene { return held(10).sets(set("v1", 10), set("v2", 1)) }
	excess := func() *scene {
		return doneStep().sets(set("v1", 8), set("v2", 3)).gates(gate(1, 0, 0)).status(blocked(v1alpha1.StepBlocking, "web-v2-1-0-0"))
	}
	checkScripts(t, map[string]scripted{
		"growth rests on spec.replicas and the hold":  {grows().cached(), []string{"needs workload"}},
		"the other sets it knows from its own writes": {grows().cached().but(live), []string{"scale v2 1 -> 2" + batch2}},
		"a new process knows nothing yet":             {grows().cached().but(fresh), []string{"needs release, workload, counts"}},
		"... but what it has recorded itself": {
			grows().cached().but(fresh).but(func(o *Observation) { o.Wrote = true }), []string{"needs workload, counts"},
		},
		"the first pod: the native controller scaled until then": {held(10).cached().sets(set("v1", 10, stale)), []string{"needs workload, counts"}},
		"the first pod of a set that is there": {
			held(10).sets(set("v1", 10), set("v2", 0)).cached().but(live), []string{"needs counts"},
		},
		"other replicas: the native controller may have scaled a lone set": {
			held(15).scaledFrom(10).sets(set("v1", 9), set("v2", 1, available(0))).cached().but(live), []string{"needs counts"},
		},
		"a shrink rests on every pod that counts as available": {shrinks().cached().but(live), []string{"needs counts"}},
		"but for those of the set that shrinks, whose write is guarded": {
			shrinks().cached().but(live).sets(set("v1", 10, stale), set("v2", 1)), []string{"scale v1 10 -> 9" + batch1},
		},
		"a set without available pods counts for nothing": {
			shrinks().bounds("1", "1").cached().but(live).sets(set("v1", 10, stale), set("v2", 1, stale, available(0))),
			[]string{"scale v1 10 -> 9" + batch1},
		},
		"a shrink rests on spec.replicas": {shrinks().cached().sets(set("v1", 10), set("v2", 1)), []string{"needs workload"}},
		"updated pods beyond the step are not taken away on an old word: the gate may have passed since": {
			excess().but(func(o *Observation) { o.Live, o.LastScale = o.Live&^(ReadRelease|ReadGates), noon.Add(-time.Minute) }),
			[]string{"needs release, gates"},
		},
		"for more replicas it is: pods of later steps whose gates have passed stay": {
			held(12).at(1, 5).scaledFrom(10).sets(set("v1", 6), set("v2", 8)).but(func(o *Observation) {
				o.Live, o.LastScale = o.Live&^(ReadRelease|ReadGates), noon.Add(-time.Minute)
			}),
			[]string{"needs release, gates"},
		},
		"for fewer replicas no gate is asked": {
			held(6).at(1, 5).scaledFrom(10).sets(set("v1", 5), set("v2", 5)).but(func(o *Observation) {
				o.Live, o.LastScale = o.Live&^(ReadRelease|ReadGates), noon.Add(-time.Minute)
			}),
			[]string{"needs release"},
		},
	})
}

// TestMoveWhileTheTakeOverIsUnseen: until the native controller has seen the take-over it might
// give the old set back what is taken from it.
func TestMoveWhileTheTakeOverIsUnseen(t *testing.T) {
	t.Parallel()
	unseen := func(o *Observation) { o.Workload.Behind = 1 }
	checkScripts(t, map[string]scripted{
		"the first updated pods come, but no old one goes": {
			held(10).at(1, 5).bounds("2", "2").sets(set("v1", 10), set("v2", 0)).but(unseen),
			[]string{"scale v2 0 -> 2: batch 2/3"},
		},
		"then the native controller is waited for": {
			held(10).at(1, 5).bounds("2", "2").sets(set("v1", 10), set("v2", 2, available(0))).but(unseen), nil,
		},
	})
}
