package deployment

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const hundred = 100

func TestMoveStaysWithinTheBounds(t *testing.T) {
	t.Parallel()
	checkMoves(t, map[string]moved{
		"room is replicas + maxSurge - all": {
			held(10).bounds(3, 0).target(5).having(set("v1", 9), set("v2", 1)), []string{"v2 1 -> 4"},
		},
		"no more are added than the step says": {
			held(10).bounds(10, 0).target(5).having(set("v1", 9), set("v2", 1)), []string{"v2 1 -> 5"},
		},
		"spare is available - (replicas - maxUnavailable)": {
			held(10).target(5).having(set("v1", 8), set("v2", 3)), []string{"v1 8 -> 7"},
		},
		"unavailable pods are not spare": {
			held(10).target(5).having(set("v1", 8), set("v2", 3, available(2))), nil,
		},
		"no more go than the step says": {
			held(10).having(set("v1", 10), set("v2", 1)).bounds(1, 5), []string{"v1 10 -> 9"},
		},
		"growth is written first while it fits": {
			held(10).bounds(3, 2).target(5).having(set("v1", 9), set("v2", 1)),
			[]string{"v2 1 -> 4", "v1 9 -> 7"},
		},
		"where only a shrink makes room it is waited for": {
			held(10).bounds(0, 2).target(5).having(set("v1", 9), set("v2", 1)),
			[]string{"v1 9 -> 7"},
		},
		"pods that were taken away count until they are deleted, and no more go meanwhile": {
			held(10).bounds(3, 2).target(10).having(set("v1", 4, current(8)), set("v2", 5)), nil,
		},
		"... and no longer": {
			held(10).bounds(3, 2).target(10).having(set("v1", 4, current(6)), set("v2", 5)), []string{"v2 5 -> 7", "v1 4 -> 3"},
		},
		"pods count that are yet to come, and to be counted": {
			held(10).bounds(3, 0).target(5).having(set("v1", 9, current(7)), set("v2", 1)), []string{"v2 1 -> 4"},
		},
		"a set that may have been larger is waited for: nobody has counted its pods": {
			held(10).bounds(3, 0).target(5).having(set("v1", 5, unobserved), set("v2", 1)), nil,
		},
		"... also where it is to get some of them back": {
			held(11).bounds(0, 2).stands().having(set("v1", 9, unobserved), set("v2", 1)), nil,
		},
		"... not so the one that grows itself": {
			held(10).bounds(3, 0).target(5).having(set("v1", 9), set("v2", 1, unobserved)), []string{"v2 1 -> 4"},
		},
		"the oldest version goes first": {
			held(10).bounds(0, 2).target(5).having(set("v1", 7), set("v0", 2), set("v2", 1)),
			[]string{"v0 2 -> 0"},
		},
		"scaled to one pod, it is a stable one that is left alone": {
			held(1).bounds(0, 1).target(0).scaledFrom(10).having(set("v1", 5), set("v3", 2), set("v2", 0)),
			[]string{"v3 2 -> 1", "v1 5 -> 1"},
		},
		"... and then the other goes": {
			held(1).bounds(0, 1).target(0).scaledFrom(10).having(set("v1", 1), set("v3", 1), set("v2", 0)),
			[]string{"v3 1 -> 0"},
		},
		"what there was before the stable version outlives what came after it": {
			held(1).bounds(0, 1).target(0).scaledFrom(10).having(set("v0", 3), set("v1", 0), set("v3", 2), set("v2", 0)),
			[]string{"v3 2 -> 1", "v0 3 -> 1"},
		},
		"pods that are not available go before those that are, whatever their age": {
			held(10).bounds(0, 2).target(5).having(set("v0", 4), set("v1", 5, available(3)), set("v2", 1)),
			[]string{"v1 5 -> 3"},
		},
		"a broken version does not block the one that mends it": {
			held(10).bounds(1, 0).target(5).having(set("v1", 10, available(0)), set("v2", 1)),
			[]string{"v1 10 -> 9"},
		},
		"a ready pod may go instead of one that is not available yet": {
			held(10).bounds(3, 0).target(5).having(set("v0", 6), set("v1", 6, warming(2)), set("v2", 1, available(0))), nil,
		},
		"a pod that is not ready goes for certain": {
			held(10).bounds(3, 0).target(5).having(set("v0", 6), set("v1", 6, available(4)), set("v2", 1, available(0))),
			[]string{"v1 6 -> 4"},
		},
		"of pods none of which is available any may go": {
			held(10).bounds(2, 0).target(5).having(set("v0", 9), set("v1", 2, warming(2)), set("v2", 1)),
			[]string{"v1 2 -> 0"},
		},
		"updated pods that are missing take the room of broken ones": {
			held(10).bounds(1, 2).target(5).having(set("v1", 9, available(6)), set("v2", 1)),
			[]string{"v2 1 -> 2", "v1 9 -> 7"},
		},
		"a set that still loses pods does not grow: nobody could tell the new from the old": {
			held(10).target(5).having(set("v1", 9), set("v2", 1, current(2))), nil,
		},
	})
}

func TestTheFirstUpdatedPod(t *testing.T) {
	t.Parallel()
	checkMoves(t, map[string]moved{
		"the set is made with what there is room for": {
			held(10).bounds(3, 0).target(5).having(set("v1", 10)), []string{"made with 3"},
		},
		"and with no more than the step says": {
			held(10).bounds(3, 0).having(set("v1", 10)), []string{"made with 1"},
		},
		"without surge it is one pod beyond: a lone active set would be scaled back up": {
			held(10).bounds(0, 1).having(set("v1", 10)), []string{"made with 1"},
		},
		"likewise when the set is there with no pods": {
			held(10).bounds(0, 1).having(set("v1", 10), set("v2", 0)),
			[]string{"v2 0 -> 1", "v1 10 -> 9"},
		},
		"then the old one is scaled down": {
			held(10).bounds(0, 1).having(set("v1", 10), set("v2", 1, available(0))), []string{"v1 10 -> 9"},
		},
		"two versions that run can make room without it": {
			held(10).bounds(0, 1).having(set("v0", 3), set("v1", 7)), []string{"made with 0"},
		},
		"two of one pod each can't: it would leave a lone one": {
			held(2).bounds(0, 1).target(1).having(set("v0", 1), set("v1", 1)), []string{"made with 1"},
		},
		"where another can go first there is no pod beyond the surge": {
			held(2).bounds(0, 1).target(1).having(set("v0", 1), set("v1", 1), set("v2", 0)), []string{"v0 1 -> 0", "v2 0 -> 1"},
		},
		"one of two that run makes room": {
			held(4).bounds(0, 1).target(2).having(set("v0", 1), set("v1", 3), set("v2", 0)), []string{"v1 3 -> 2"},
		},
		"of three that run one makes room first": {
			held(4).bounds(0, 1).target(2).having(set("v0", 1), set("v1", 2), set("v3", 1), set("v2", 0)), []string{"v3 1 -> 0"},
		},
		"two of one pod each for one replica can: one of them goes first": {
			held(1).bounds(0, 1).target(1).having(set("v0", 1), set("v1", 1), set("v2", 0)),
			[]string{"v0 1 -> 0"},
		},
		"a step of no pods makes an empty set": {
			held(10).target(0).having(set("v1", 10)), []string{"made with 0"},
		},
		"a shrink never leaves one active set before there is an updated pod": {
			held(10).bounds(0, 2).having(set("v0", 1), set("v1", 9), set("v2", 0)),
			[]string{"v1 9 -> 8"},
		},
		"unless that one has all the replicas": {
			held(10).bounds(1, 0).target(0).having(set("v0", 1), set("v1", 10), set("v2", 0)),
			[]string{"v0 1 -> 0"},
		},
		"the steadier of two stays whole, and of the other a pod": {
			held(4).bounds(1, 0).target(0).having(set("v0", 2), set("v1", 3), set("v2", 0)), []string{"v0 2 -> 1"},
		},
		"a broken set that would go whole keeps a pod until then": {
			held(10).bounds(0, 1).target(0).having(set("v0", 3, available(0)), set("v1", 8), set("v2", 0)),
			[]string{"v0 3 -> 2"},
		},
		"of two that are as steady the younger goes whole": {
			held(1).bounds(0, 2).target(1).having(set("v0", 2), set("v3", 2), set("v2", 0)), []string{"v0 2 -> 1", "v3 2 -> 0"},
		},
		"scaled to 0 nothing stays, broken or not: the native controller sets a lone one to that": {
			held(0).target(0).having(set("v0", 4), set("v1", 1, available(0)), set("v2", 0)), []string{"v0 4 -> 0", "v1 1 -> 0"},
		},
		"one that is alone has no other to stay with: its pods that go make room": {
			held(3).target(3).having(set("v1", 1, current(4)), set("v2", 0)), nil,
		},
		"in a rollback the version that is left goes whole beside one that has all the replicas": {
			goingBack(4).bounds(0, 1).target(2).having(set("v2", 2), set("v3", 4), set("v1", 0)), []string{"v2 2 -> 0", "v3 4 -> 3"},
		},
	})
}

func TestMoveFollowsSpecReplicas(t *testing.T) {
	t.Parallel()
	checkMoves(t, map[string]moved{
		"more replicas: the canary stays one, the added pods run the old version": {
			held(15).scaledFrom(10).having(set("v1", 9), set("v2", 1, available(0))), []string{"v1 9 -> 14" + more},
		},
		"more replicas: half of 15 is 7, and half a pod no reason to update one": {
			held(15).target(7).scaledFrom(10).having(set("v1", 5), set("v2", 5)),
			[]string{"v2 5 -> 7", "v1 5 -> 8" + more},
		},
		"more replicas, and the status was lost that began the next step: its pods stay": {
			held(15).reach(8).scaledFrom(6).having(set("v1", 14), set("v2", 5, available(1), unobserved)), nil,
		},
		"... and go where no gate has let them through": {
			held(15).reach(1).scaledFrom(6).having(set("v1", 14), set("v2", 5, available(1), unobserved)), []string{"v2 5 -> 1" + fewer},
		},
		"fewer replicas: both give": {
			held(6).target(3).scaledFrom(10).having(set("v1", 5), set("v2", 5)),
			[]string{"v2 5 -> 3" + fewer, "v1 5 -> 3"},
		},
		"fewer replicas: updated pods that are not available go first, and don't need spare": {
			held(6).target(3).scaledFrom(10).having(set("v1", 3), set("v2", 5, available(2))),
			[]string{"v2 5 -> 3" + fewer},
		},
		"pods that are missing for another reason are made up for with old ones": {
			held(10).target(5).having(set("v1", 3), set("v2", 5, available(4))), []string{"v1 3 -> 5: back to the target"},
		},
		"but not beyond replicas: the surge is the new version's": {
			held(10).target(5).having(set("v1", 4), set("v2", 5, available(3)), set("v0", 1, available(0))), nil,
		},
		"the stable version grows, even if it has no pod left": {
			held(15).scaledFrom(10).having(set("v0", 9), set("v1", 0), set("v2", 1, available(0))), []string{"v1 0 -> 5" + more},
		},
		"if the stable version has no set, the newest that runs grows": {
			held(15).scaledFrom(10).having(set("v8", 4), set("v9", 5), set("v2", 1, available(0))).but(func(t *task) { t.Stable = "v7" }),
			[]string{"v9 5 -> 10" + more},
		},
		"an old set whose pods nobody has counted does not grow": {
			held(15).scaledFrom(10).having(set("v1", 9, unobserved), set("v2", 1, available(0))), nil,
		},
		"an old set that still loses pods does not grow": {
			held(15).scaledFrom(10).having(set("v1", 9, current(10)), set("v2", 1, available(0))), nil,
		},
		"in a rollback more replicas are pods of the version it goes to": {
			goingBack(15).target(6).scaledFrom(10).having(set("v2", 9), set("v1", 1)), []string{"v1 1 -> 6"},
		},
		"a failed release leaves the pods as they are": {
			held(10).target(5).stands().having(set("v1", 7), set("v2", 3, available(1))), nil,
		},
		"a failed release follows with the version before": {
			held(15).target(7).scaledFrom(10).stands().having(set("v1", 5), set("v2", 5, available(3))),
			[]string{"v1 5 -> 10" + more},
		},
		"a failed release gives pods of both, the broken ones first": {
			held(6).target(3).scaledFrom(10).stands().having(set("v1", 5), set("v2", 5, available(3))),
			[]string{"v2 5 -> 3" + fewer, "v1 5 -> 4"},
		},
		"a rollback adds no bad pod in place of one that is lost": {
			goingBack(10).target(6).having(set("v2", 2), set("v1", 6)), nil,
		},
		"a failed rollback adds no bad pod, but those that are missing": {
			goingBack(10).target(2).stands().having(set("v2", 8), set("v1", 1)), []string{"v1 1 -> 2"},
		},
	})
}

func TestOldPodsStayWhileManyUpdatedOnesAreMade(t *testing.T) {
	t.Parallel()
	at := func(updated Set) *scene {
		return held(hundred).bounds(25, 25).target(20).
			having(set("v1", hundred), updated)
	}
	go80 := []string{"v1 100 -> 80"}
	checkMoves(t, map[string]moved{
		"they stay, so as not to hold them up":    {at(set("v2", 20, available(0), current(10))), nil},
		"and as long as the count of them is old": {at(set("v2", 20, available(0), unobserved)), nil},
		"they go once all are made":               {at(set("v2", 20, available(0))), go80},
		"they go if no more are to come":          {at(set("v2", 20, available(0), current(10), stuck)), go80},
		"for a few that are missing none stays":   {at(set("v2", 20, available(13), current(15))), go80},
	})
}

func TestUpdatedPodsGoBack(t *testing.T) {
	t.Parallel()
	awaiting := func(t *task) { t.AwaitTermination = true }
	checkMoves(t, map[string]moved{
		"beyond the step they stay": {
			held(10).having(set("v1", 8), set("v2", 3)), nil,
		},
		"they go while the step waits for a gate": {
			held(10).having(set("v1", 8), set("v2", 3)).but(blocked), []string{"v2 3 -> 2" + back},
		},
		"they go where the step was jumped back to": {
			held(10).bounds(1, 1).having(set("v1", 5), set("v2", 5)).but(steppingBack), []string{"v1 5 -> 6" + back, "v2 5 -> 4" + back},
		},
		"an old one comes first if they are alone: the native controller would scale them back up": {
			held(10).bounds(0, 1).having(set("v1", 0), set("v2", 10)).but(steppingBack), []string{"v1 0 -> 1" + back, "v2 10 -> 9" + back},
		},
		"... likewise while the step waits for a gate": {
			held(10).bounds(0, 1).having(set("v1", 0), set("v2", 10)).but(blocked), []string{"v1 0 -> 1" + back, "v2 10 -> 9" + back},
		},
		"pods that are going away count where they are waited for": {
			held(10).bounds(3, 0).target(5).having(set("v1", 8, terminating(1)), set("v2", 2)).but(awaiting), []string{"v2 2 -> 4"},
		},
		"... and not elsewhere": {
			held(10).bounds(3, 0).target(5).having(set("v1", 8, terminating(1)), set("v2", 2)), []string{"v2 2 -> 5"},
		},
		"... however many somebody says that there are": {
			held(10).bounds(3, 0).target(5).having(
				set("v1", 8, terminating(math.MaxInt32)), set("v2", 2, terminating(math.MaxInt32)),
			).but(awaiting), nil,
		},
		"the native note goes before any of them: the native controller may empty the others at any moment": {
			held(10).having(set("v1", 2), set("v2", 10, noted)).but(blocked), []string{"v2 10 -> 10: takes the note off"},
		},
		"... which it does not do once the set is smaller": {
			held(10).having(set("v1", 8), set("v2", 3, noted)).but(blocked), []string{"v2 3 -> 2" + back},
		},
		"the native note goes before another set grows": {
			held(10).bounds(0, 1).having(set("v1", 0), set("v2", 10, noted)).but(steppingBack),
			[]string{"v2 10 -> 10: takes the note off", "v1 0 -> 1" + back, "v2 10 -> 9" + back},
		},
	})
}

func TestLastTakesTheStablePodsLast(t *testing.T) {
	t.Parallel()
	var got []string
	for _, s := range held(0).having(set("v1", 9), set("v3", 2), set("v2", 1)).last() {
		got = append(got, words(s))
	}
	want := []string{"v2 1 -> 0", "v3 2 -> 0", "v1 9 -> 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what goes (-want +got):\n%s", diff)
	}
}

func TestSmallChanges(t *testing.T) {
	t.Parallel()
	at := func(old, updated int32) Sizes {
		return held(hundred).bounds(25, 25).target(50).having(set("v1", old), set("v2", updated, available(0))).move()
	}
	tests := map[string]struct {
		sizes Sizes
		want  bool
	}{
		"a few pods":                         {at(75, 48), true},
		"an eighth of the bounds":            {at(75, 44), false},
		"what reaches the target":            {at(50, 49), false},
		"in a small release nothing is that": {held(10).target(5).having(set("v1", 8), set("v2", 2)).move(), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.sizes.Small(); got != test.want {
				t.Errorf("small is %t, want %t", got, test.want)
			}
		})
	}
}

// TestUnread checks when a shrink rests on sets that were read from a cache.
func TestUnread(t *testing.T) {
	t.Parallel()
	live := func(s *Set) { s.Live = true }
	tests := map[string]struct {
		sets []Set
		want bool
	}{
		"all are read live":                                       {[]Set{set("v1", 8, live), set("v2", 3, live)}, false},
		"the other one counts as available, and is not":           {[]Set{set("v1", 8, live), set("v2", 3)}, true},
		"the one that shrinks is guarded by its version":          {[]Set{set("v1", 8), set("v2", 3, live)}, false},
		"one without available pods counts for nothing":           {[]Set{set("v1", 9, live), set("v2", 3, live), set("v3", 1, available(0))}, false},
		"of two that shrink none is guarded by its version alone": {[]Set{set("v0", 2), set("v1", 8, live), set("v2", 3, live)}, true},
		"of two that shrink each rests on the other":              {[]Set{set("v0", 2), set("v1", 8), set("v2", 3, live)}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moves := held(10).bounds(1, 3).target(5).having(test.sets...).move().moves()
			if len(moves.Shrink) == 0 || moves.Unread != test.want {
				t.Errorf("%v is unread: %t, want %t", moves.Shrink, moves.Unread, test.want)
			}
		})
	}
}
