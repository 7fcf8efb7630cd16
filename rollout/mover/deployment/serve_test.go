package deployment

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// keeping says how many pods of a version stay for requests.
func (s *scene) keeping(revision string, pods int32) *scene {
	return s.but(func(t *task) { t.Keep = with(t.Keep, revision, pods) })
}

// growing says to how many pods a version grows for requests.
func (s *scene) growing(revision string, pods int32) *scene {
	return s.but(func(t *task) { t.Grow = with(t.Grow, revision, pods) })
}

func with(pods map[string]int32, revision string, n int32) map[string]int32 {
	if pods == nil {
		pods = map[string]int32{}
	}
	pods[revision] = n
	return pods
}

// upTo says how many pods there may be.
func (s *scene) upTo(most int32) *scene { return s.but(func(t *task) { t.Most = most }) }

func noted(s *Set) { s.Noted = true }

func blocked(t *task) { t.Blocked = true }

func steppingBack(t *task) { t.SteppingBack = true }

// TestOldSetsLoseTheNoteBesideOthers: T2, the template of an old ReplicaSet makes the native
// controller find no complete set while routes share requests.
func TestOldSetsLoseTheNoteBesideOthers(t *testing.T) {
	t.Parallel()
	const off = "v1 10 -> 10: takes the note off"
	stays := func(t *task) { t.OldStays = true }
	checkMoves(t, map[string]moved{
		"beside the new one, before that gets requests": {
			held(10).target(10).upTo(20).having(set("v1", 10, noted), set("v2", 10)).keeping("v1", 10).but(stays), []string{off},
		},
		"... and once it gets all":           {held(10).target(10).upTo(20).having(set("v1", 10, noted), set("v2", 10)).keeping("v2", 10).keeping("v1", 10).but(stays), []string{off}},
		"where nobody can read who gets any": {held(10).target(10).upTo(20).having(set("v1", 10, noted), set("v2", 10)).but(func(t *task) { t.KeepAll, t.OldStays = true, true }), []string{off}},
		"a set that shrinks loses it by that": {
			held(10).target(5).upTo(15).having(set("v1", 10, noted), set("v2", 5)).keeping("v1", 6).but(stays), []string{"v1 10 -> 6"},
		},
		"it is alone: that controller may scale it": {
			held(10).target(0).having(set("v1", 10, noted), set("v2", 0)).keeping("v1", 10).but(stays), nil,
		},
		"a step moves pods: it shrinks once requests have left, and loses it by that": {
			held(10).target(5).upTo(15).having(set("v1", 10, noted), set("v2", 5)).keeping("v1", 10), nil,
		},
		"one without pods needs no request for it": {
			held(10).target(10).upTo(20).having(set("v0", 0, noted), set("v1", 10), set("v2", 10)).keeping("v1", 10).but(stays), nil,
		},
		"without routes it stays": {held(10).target(1).having(set("v1", 9, noted), set("v2", 1)).but(stays), nil},
	})
}

func TestPodsStayForRequests(t *testing.T) {
	t.Parallel()
	checkMoves(t, map[string]moved{
		"old pods go down to what requests need": {
			held(10).target(5).upTo(14).having(set("v1", 10), set("v2", 4)).keeping("v1", 9), []string{"v1 10 -> 9"},
		},
		"... and to what the target leaves, if that is more": {
			held(10).target(1).having(set("v1", 10), set("v2", 1)).keeping("v1", 5), []string{"v1 10 -> 9"},
		},
		"they stay though none is available": {
			held(10).target(5).bounds(1, 10).having(set("v1", 9, available(0)), set("v2", 2)).keeping("v1", 9), nil,
		},
		"what has fewer pods keeps those, and gets no more": {
			held(10).target(5).upTo(20).having(set("v1", 6), set("v2", 5)).keeping("v1", 9), nil,
		},
		"a version without requests goes before one that has some, though it be younger": {
			held(10).target(5).bounds(1, 2).having(set("v3", 3), set("v4", 3), set("v2", 5)).keeping("v3", 1), []string{"v4 3 -> 2"},
		},
		"... but not before one that nobody approved, where that has more than it needs": {
			held(10).target(5).having(set("v1", 3), set("v3", 3), set("v2", 5)).keeping("v3", 1), []string{"v3 3 -> 2"},
		},
		"each version keeps its own": {
			held(10).target(9).bounds(1, 10).upTo(20).having(set("v0", 3), set("v1", 4), set("v2", 9)).keeping("v0", 2).keeping("v1", 3),
			[]string{"v0 3 -> 2", "v1 4 -> 3"},
		},
		"updated pods that the step was jumped back from stay": {
			held(10).target(2).having(set("v1", 5), set("v2", 6)).but(steppingBack).keeping("v2", 5), []string{"v2 6 -> 5" + back},
		},
		"... and those beyond the step while it waits for a gate": {
			held(10).having(set("v1", 8), set("v2", 3)).but(blocked).keeping("v2", 3), nil,
		},
		"a rollback leaves those of the bad version that requests still go to": {
			goingBack(10).target(10).upTo(20).having(set("v2", 10), set("v1", 10)).keeping("v2", 5), []string{"v2 10 -> 5"},
		},
		"fewer replicas take none of them": {
			held(6).target(3).scaledFrom(10).having(set("v1", 5), set("v2", 5)).keeping("v1", 5).keeping("v2", 4),
			[]string{"v2 5 -> 4" + fewer},
		},
		"a pause point or an order does not either": {
			held(10).target(9).bounds(1, 10).having(set("v0", 3), set("v1", 4), set("v2", 9)).keeping("v0", 3).
				but(func(t *task) { t.Limits = map[types.UID]mover.Limit{"set-v0": {}} }),
			[]string{"v1 4 -> 0"},
		},
		"no pod goes whose order nobody has proven": {
			held(10).target(5).bounds(1, 10).having(set("v1", 10), set("v2", 5)).
				but(func(t *task) { t.Limits = map[types.UID]mover.Limit{"set-v1": {Proven: 8}} }),
			[]string{"v1 10 -> 8"},
		},
		"a failed release leaves them": {
			held(10).target(5).stands().having(set("v1", 9), set("v2", 5)).keeping("v1", 8), []string{"v1 9 -> 8"},
		},
	})
}

func TestThereMayBeMorePods(t *testing.T) {
	t.Parallel()
	checkMoves(t, map[string]moved{
		"as many updated ones as the step says, beside all old ones": {
			held(10).target(10).upTo(20).having(set("v1", 10), set("v2", 3)).keeping("v1", 10), []string{"v2 3 -> 10"},
		},
		"... also where the set is yet to be made": {
			held(10).target(10).upTo(20).having(set("v1", 10)).keeping("v1", 10), []string{"made with 10"},
		},
		"the surge counts if it is more": {
			held(10).bounds(5, 0).target(10).upTo(12).having(set("v1", 10), set("v2", 1)), []string{"v2 1 -> 5", "v1 10 -> 9"},
		},
		"pods that were taken away count until they are deleted": {
			held(10).target(10).upTo(20).having(set("v1", 10, current(15)), set("v2", 3)).keeping("v1", 10), []string{"v2 3 -> 5"},
		},
		"... and those that are terminating, where they are waited for": {
			held(10).target(10).upTo(20).having(set("v1", 10, terminating(4)), set("v2", 3)).keeping("v1", 10).
				but(func(t *task) { t.AwaitTermination = true }),
			[]string{"v2 3 -> 6"},
		},
		"a set that may have been larger is waited for": {
			held(10).target(10).upTo(20).having(set("v1", 10, unobserved), set("v2", 3)).keeping("v1", 10), nil,
		},
		"no pod goes beyond for want of surge": {
			held(10).bounds(0, 1).target(10).upTo(14).having(set("v1", 5), set("v2", 9)), []string{"v1 5 -> 1"},
		},
		"the last updated pod comes within what there may be": {
			held(10).bounds(0, 1).target(10).upTo(14).having(set("v1", 1), set("v2", 9)), []string{"v2 9 -> 10", "v1 1 -> 0"},
		},
		"nor does the first old one come beyond that": {
			held(10).bounds(0, 1).upTo(11).having(set("v1", 0), set("v2", 10, current(11))).but(steppingBack), nil,
		},
		"old pods don't stay in the room of updated ones": {
			held(hundred).bounds(25, 25).target(100).upTo(200).having(set("v1", 120), set("v2", 80, available(60))).keeping("v1", 100),
			[]string{"v1 120 -> 100"},
		},
		"... and stay as far as there is more": {
			held(hundred).bounds(25, 25).target(100).upTo(210).having(set("v1", 120), set("v2", 80, available(60))).keeping("v1", 100),
			[]string{"v2 80 -> 90", "v1 120 -> 110"},
		},
		"a failed release leaves no more than that": {
			held(10).target(5).upTo(14).stands().having(set("v1", 10), set("v2", 5)).keeping("v1", 8), []string{"v1 10 -> 9"},
		},
	})
}

func TestOldPodsComeForRequests(t *testing.T) {
	t.Parallel()
	checkMoves(t, map[string]moved{
		"they come before updated ones": {
			held(10).target(8).bounds(3, 0).having(set("v1", 4), set("v2", 6)).growing("v1", 6), []string{"v1 4 -> 6" + back, "v2 6 -> 7"},
		},
		"... which leave them the room": {
			held(10).target(8).upTo(20).bounds(3, 0).having(set("v1", 4, current(5)), set("v2", 6)).growing("v1", 13), nil,
		},
		"... also where their set is yet to be made": {
			held(10).target(8).upTo(20).having(set("v1", 4)).growing("v1", 14), []string{"made with 6"},
		},
		"within what there may be": {
			held(10).target(8).upTo(20).having(set("v1", 4), set("v2", 8)).growing("v1", 20), []string{"v1 4 -> 12" + back},
		},
		"what has grown stays": {
			held(10).target(8).upTo(20).having(set("v1", 10), set("v2", 8)).growing("v1", 10), nil,
		},
		"while the release stands": {
			held(10).target(8).upTo(20).stands().having(set("v1", 4), set("v2", 8)).growing("v1", 10), []string{"v1 4 -> 10" + back},
		},
		"in a rollback, and none of another version": {
			goingBack(10).target(10).upTo(30).having(set("v2", 2), set("v0", 2), set("v1", 10)).growing("v0", 5).keeping("v2", 2),
			[]string{"v0 2 -> 5" + back},
		},
		"the stable ones first": {
			held(10).target(8).upTo(15).having(set("v0", 1), set("v1", 1), set("v2", 8)).growing("v0", 5).growing("v1", 5),
			[]string{"v0 1 -> 2" + back, "v1 1 -> 5" + back},
		},
		"others make room for them": {
			held(10).target(5).bounds(0, 2).having(set("v1", 0), set("v3", 5), set("v2", 5)).growing("v1", 5), []string{"v3 5 -> 3"},
		},
		"... and nobody grows into it": {
			held(10).target(5).bounds(0, 2).scaledFrom(9).having(set("v1", 1), set("v3", 1, current(2)), set("v2", 5)).growing("v3", 4), nil,
		},
		"a lone version is not made smaller for them: one comes first": {
			held(10).target(0).bounds(0, 1).having(set("v0", 10), set("v1", 0), set("v2", 0)).growing("v1", 10),
			[]string{"v1 0 -> 1" + back, "v0 10 -> 9"},
		},
		"... and it stays as it is while none can come": {
			held(10).target(0).bounds(0, 1).having(set("v0", 10), set("v1", 0, current(1)), set("v2", 0)).growing("v1", 10), nil,
		},
		"the last other one goes when one of them is there: updated ones would be alone": {
			held(10).target(9).bounds(0, 1).having(set("v1", 0), set("v3", 1), set("v2", 9)).growing("v1", 1),
			[]string{"v1 0 -> 1" + back, "v3 1 -> 0"},
		},
		"... and not where updated ones make room": {
			held(10).target(9).scaledFrom(11).having(set("v1", 0), set("v3", 1), set("v2", 10)).growing("v1", 1), []string{"v2 10 -> 9" + fewer},
		},
		"... and before, where that is no harm": {
			held(2).target(2).bounds(1, 0).having(set("v1", 0), set("v3", 1), set("v2", 2)).growing("v1", 1), []string{"v3 1 -> 0"},
		},
		"the first updated pod is one beyond where the stable version has to keep one till then": {
			held(1).bounds(0, 1).upTo(2).having(set("v1", 1), set("v3", 1), set("v2", 0)).keeping("v3", 1), []string{"v2 0 -> 1", "v1 1 -> 0"},
		},
		"... likewise when its set is made": {
			held(1).bounds(0, 1).upTo(2).having(set("v1", 1), set("v3", 1)).keeping("v3", 1), []string{"made with 1"},
		},
		"the new version has a target instead": {
			held(10).having(set("v1", 8), set("v2", 3)).but(blocked).growing("v2", 3), []string{"v2 3 -> 2" + back},
		},
		"a version that has no set is left alone": {
			held(10).target(5).upTo(20).having(set("v1", 5), set("v2", 5)).growing("v7", 9), nil,
		},
	})
}

func TestTheNoteGoesBesideOldPodsThatStay(t *testing.T) {
	t.Parallel()
	const off = "v2 10 -> 10: takes the note off"
	checkMoves(t, map[string]moved{
		"as many old pods as updated ones, with nothing else to do": {
			held(10).target(10).upTo(20).having(set("v1", 10), set("v2", 10, noted)).keeping("v1", 10), []string{off},
		},
		"while the release stands": {
			held(10).target(10).upTo(20).stands().having(set("v1", 10), set("v2", 10, noted)).keeping("v1", 10), []string{off},
		},
		"in a rollback": {
			goingBack(10).target(10).upTo(20).having(set("v2", 10), set("v1", 10, noted)).keeping("v2", 10),
			[]string{"v1 10 -> 10: takes the note off"},
		},
		"before somebody scales the workload to what it says": {
			held(12).target(10).upTo(24).having(set("v1", 12), set("v2", 10, noted)).keeping("v1", 12), []string{off},
		},
		"before old pods go, though there be too many": {
			held(10).target(10).bounds(1, 1).having(set("v1", 10), set("v2", 10, noted)).keeping("v1", 4), []string{off, "v1 10 -> 4"},
		},
		"before updated pods go, though old ones come": {
			held(10).target(5).upTo(20).bounds(1, 5).having(set("v1", 4), set("v2", 10, noted)).but(steppingBack).keeping("v1", 4).growing("v1", 5),
			[]string{off, "v1 4 -> 5" + back},
		},
		"growth takes it off": {
			held(10).target(10).upTo(20).having(set("v1", 10), set("v2", 9, noted)).keeping("v1", 10), []string{"v2 9 -> 10"},
		},
		"no requests go to old pods: they are to go": {
			held(10).target(10).bounds(1, 1).having(set("v1", 1), set("v2", 10, noted)), []string{"v1 1 -> 0"},
		},
		"there are no old pods": {
			held(10).target(10).upTo(20).having(set("v1", 0), set("v2", 10, noted)).keeping("v1", 10), nil,
		},
	})
}

func TestNowMovesNothing(t *testing.T) {
	t.Parallel()
	now := held(10).target(10).upTo(20).having(set("v1", 4), set("v2", 10, noted)).keeping("v1", 4).growing("v1", 10).now().moves()
	if len(now.Grow)+len(now.Shrink) > 0 {
		t.Errorf("it writes %v %v", now.Grow, now.Shrink)
	}
}

func TestClearTakesPodsThatServe(t *testing.T) {
	t.Parallel()
	if got := held(0).having(set("v1", 5), set("v2", 5)).keeping("v1", 5).keeping("v2", 5).last(); len(got) != 2 {
		t.Errorf("it writes %v, want both sets to have none: there are to be no pods", got)
	}
}

func TestWhatStaysForRequestsNeedsNoPlaceInTheOrder(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  int32
	}{
		"what the target leaves, less maxUnavailable": {held(10).bounds(1, 2).target(5).having(set("v1", 10), set("v2", 5)), 3},
		"what requests need": {
			held(10).bounds(1, 2).target(5).having(set("v1", 10), set("v2", 5)).keeping("v1", 10), 8,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.scene.move().Unordered(); got != test.want {
				t.Errorf("%d pods need no place, want %d", got, test.want)
			}
		})
	}
}

func TestSmallChangesWithRequests(t *testing.T) {
	t.Parallel()
	at := func(old int32) *scene {
		return held(hundred).bounds(25, 25).target(50).upTo(200).having(set("v1", old), set("v2", 61)).keeping("v1", 90).keeping("v2", 60)
	}
	tests := map[string]struct {
		sizes Sizes
		want  bool
	}{
		"what comes to all that stay":  {at(91).but(blocked).move(), false},
		"what leaves pods that may go": {at(91).move(), true},
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
