package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const (
	batch1  = ": batch 1/3"
	batch2  = ": batch 2/3"
	more    = ": more replicas: the added pods run the old version"
	fewer   = ": fewer replicas: the batch shrinks in proportion"
	hundred = 100
)

func TestWhatIsWrittenFirst(t *testing.T) {
	t.Parallel()
	checkScripts(t, map[string]scripted{
		"room is replicas + maxSurge - all": {
			held(10).bounds("3", "0").at(1, 5).sets(set("v1", 9), set("v2", 1)), []string{"scale v2 1 -> 4" + batch2},
		},
		"growth is written first": {
			held(10).bounds("3", "2").at(1, 5).sets(set("v1", 9), set("v2", 1)),
			[]string{"scale v2 1 -> 4" + batch2, "scale v1 9 -> 7" + batch2},
		},
		"where only a shrink makes room the growth waits until the pods are deleted": {
			held(10).bounds("0", "2").at(1, 5).sets(set("v1", 9), set("v2", 1)), []string{"scale v1 9 -> 7" + batch2},
		},
		"a new set that is being deleted is waited for: its name is taken, and the native controller still means it": {
			held(10).sets(set("v1", 10), set("v2", 1, func(s *Set) { s.Deleting = true })), nil,
		},
	})
}

func TestTheNewSetIsMade(t *testing.T) {
	t.Parallel()
	failed := func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }
	checkScripts(t, map[string]scripted{
		"the set is made with what there is room for": {
			held(10).bounds("3", "0").at(1, 5).sets(set("v1", 10)), []string{"create v2 with 3" + batch2},
		},
		"likewise when the set is there with no pods": {
			held(10).bounds("0", "1").sets(set("v1", 10), set("v2", 0)),
			[]string{"scale v2 0 -> 1" + batch1, "scale v1 10 -> 9" + batch1},
		},
		"a step of no pods makes an empty set": {
			held(10).steps(step("0"), step("50%"), step("100%")).at(0, 0).sets(set("v1", 10)), []string{"create v2 with 0" + batch1},
		},
		"a failed release makes an empty set: it is held where it stands": {
			held(10).status(failed).sets(set("v1", 10)), []string{"create v2 with 0" + batch1},
		},
	})
}

func TestScalingKeepsToTheGates(t *testing.T) {
	t.Parallel()
	failed := func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }
	checkScripts(t, map[string]scripted{
		"more replicas: the canary stays one, the added pods run the old version": {
			held(15).scaledFrom(10).sets(set("v1", 9), set("v2", 1, available(0))), []string{"scale v1 9 -> 14" + more},
		},
		"more replicas: half of 15 is 7, and half a pod no reason to update one": {
			held(15).at(1, 5).scaledFrom(10).sets(set("v1", 5), set("v2", 5)),
			[]string{"scale v2 5 -> 7" + batch2, "scale v1 5 -> 8" + more},
		},
		"more replicas, and the status was lost that began the next step: its pods stay": {
			held(15).scaledFrom(6).gates(gate(1, 0, 0, passed)).sets(set("v1", 14), set("v2", 5, available(1), unobserved)), nil,
		},
		"... and go where no gate has let them through": {
			held(15).scaledFrom(6).gates(gate(1, 0, 0)).sets(set("v1", 14), set("v2", 5, available(1), unobserved)), []string{"scale v2 5 -> 1" + fewer},
		},
		"... or only one of an earlier attempt": {
			held(15).scaledFrom(6).gates(gate(0, 0, 0, passed)).sets(set("v1", 14), set("v2", 5, available(1), unobserved)), []string{
				"close gate web-v2-0-0-0: a new attempt voids the gates of the one before", "scale v2 5 -> 1" + fewer,
			},
		},
		"... or none, and all is decided on a reading that is not live": {
			held(15).scaledFrom(6).sets(set("v1", 14), set("v2", 5, available(1), unobserved)).cached(), []string{"needs release, workload, counts, gates"},
		},
		"fewer replicas: both give": {
			held(6).at(1, 5).scaledFrom(10).sets(set("v1", 5), set("v2", 5)),
			[]string{"scale v2 5 -> 3" + fewer, "scale v1 5 -> 3" + batch2},
		},
		"pods that are missing for another reason are made up for with old ones": {
			held(10).at(1, 5).sets(set("v1", 3), set("v2", 5, available(4))), []string{"scale v1 3 -> 5: back to the target of batch 2/3"},
		},
		"in a rollback more replicas are pods of the version it goes to": {
			rollingBack(15).scaledFrom(10).sets(set("v2", 9), set("v1", 1)), []string{"scale v1 1 -> 6: batch 1/2"},
		},
		"a failed release leaves the pods as they are": {
			held(10).at(1, 5).status(failed).sets(set("v1", 7), set("v2", 3, available(1))), nil,
		},
		"a failed release follows with the version before": {
			held(15).at(1, 5).scaledFrom(10).status(failed).sets(set("v1", 5), set("v2", 5, available(3))),
			[]string{"scale v1 5 -> 10" + more},
		},
		"a failed release gives pods of both, the broken ones first": {
			held(6).at(1, 5).scaledFrom(10).status(failed).sets(set("v1", 5), set("v2", 5, available(3))),
			[]string{"scale v2 5 -> 3" + fewer, "scale v1 5 -> 4" + batch2},
		},
		"a failed rollback adds no bad pod, but those that are missing": {
			rollingBack(10).status(failed).sets(set("v2", 8), set("v1", 1)), []string{"scale v1 1 -> 2: batch 1/2"},
		},
	})
}

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
		"for fewer replicas no gate is asked": {
			held(6).at(1, 5).scaledFrom(10).sets(set("v1", 5), set("v2", 5)).but(func(o *Observation) {
				o.Live, o.LastScale = o.Live&^(ReadRelease|ReadGates), noon.Add(-time.Minute)
			}),
			[]string{"needs release"},
		},
	})
}

func TestUpdatedPodsBeyondTheStepGoWhileItWaits(t *testing.T) {
	t.Parallel()
	s := doneStep().sets(set("v1", 8), set("v2", 3)).gates(gate(1, 0, 0)).status(blocked(v1alpha1.StepBlocking, "web-v2-1-0-0"))
	var got []string
	for _, action := range next(t, s).Actions {
		got = append(got, action.String())
	}
	want := []string{"scale v2 3 -> 2"} // once it is deleted an old one comes in its place
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("somebody had unpaused the workload: what is done about it (-want +got):\n%s", diff)
	}
}

// Until the native controller has seen the take-over it might give the old set back what is
// taken from it.
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
