package daemonset

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

func TestOldPodsGo(t *testing.T) {
	t.Parallel()
	checkMoves(t, map[string]moved{
		"as many as may be unavailable, in the order of their nodes": {
			held(pods(5, "v1")...), within(2, 3), []string{"replace agent-1, agent-2"},
		},
		"no more than are missing to the target":      {held(pods(5, "v1")...), within(4, 2), []string{"replace agent-1, agent-2"}},
		"none at the target":                          {held(pod("v2"), pod("v2"), pod("v1")), within(2, 2), nil},
		"none where more are updated than the target": {held(pod("v2"), pod("v2"), pod("v1")), within(2, 1), nil},
		"all at the end":                              {held(pod("v1"), pod("v0"), pod("v2")), within(3, 3), []string{"replace agent-1, agent-2"}},
		"what is terminating comes back updated":      {held(pod("v1", terminating), pod("v1"), pod("v1")), within(2, 1), nil},
		"what is missing comes back updated":          {held(pods(3, "v1")...).but(scheduled(4)), within(2, 1), nil},
		"what is missing is not available": {
			held(pods(3, "v1")...).but(scheduled(4)), within(2, 3), []string{"replace agent-1"},
		},
		"what is terminating is not available":                   {held(pod("v1", terminating), pod("v1"), pod("v1")), to(2), nil},
		"an updated pod that is not available holds up the next": {held(pod("v2", warming), pod("v1"), pod("v1")), to(2), nil},
		"a pod that is not available goes first":                 {held(pod("v1"), pod("v1"), pod("v1", unready)), to(1), []string{"replace agent-3"}},
		"a pod that is not available counts once, as the one that is short": {
			held(pod("v1"), pod("v1", unready), pod("v1", unready)), to(3), []string{"replace agent-2, agent-3"},
		},
		"a pod that is not available takes the place of none that may be": {
			held(pod("v1"), pod("v1"), pod("v1", unready)), within(2, 3), []string{"replace agent-3, agent-1"},
		},
		"pods that nobody has scheduled are not in each other's way": {
			held(pod("v1", unready, on(nowhere)), pod("v1", unready, on(nowhere)), pod("v2")).but(scheduled(3)), to(3), []string{"replace agent-1, agent-2"},
		},
		"not the pods of lost nodes":        {held(pod("v1", lost), pod("v1"), pod("v1")), within(3, 2), []string{"replace agent-2, agent-3"}},
		"a lost node is none that is short": {held(pod("v1", lost), pod("v1"), pod("v1")), to(1), []string{"replace agent-2"}},
		"not before the native controller has seen the template": {
			held(pods(3, "v1")...).but(func(m *Mover) { m.Observed = false }), to(3), nil,
		},
		"not towards another template":   {held(pods(3, "v1")...).but(func(m *Mover) { m.Digest = "digest-v3" }), to(3), nil},
		"not while the pods are unknown": {held(pods(3, "v1")...).but(func(m *Mover) { m.Listed = false }), to(3), nil},
	})
}

func scheduled(nodes int32) func(*Mover) { return func(m *Mover) { m.Replicas = nodes } }

func misscheduled(nodes int32) func(*Mover) {
	return func(m *Mover) {
		m.Replicas -= nodes
		m.Status.Misscheduled = nodes
	}
}

func TestPodsOfNodesThatAreToHaveNone(t *testing.T) {
	t.Parallel()
	checkMoves(t, map[string]moved{
		"hide no missing pod": { // two of four nodes wait for a pod, which is as many as may be updated
			held(pods(4, "v1")...).but(misscheduled(2)).but(scheduled(4)), within(4, 2), nil,
		},
		"count towards the target": {held(pod("v2"), pod("v1"), pod("v1"), pod("v1")).but(misscheduled(1)), within(4, 1), nil},
		"take part in what may be unavailable": {
			held(pod("v2", unready), pod("v1"), pod("v1"), pod("v1")).but(misscheduled(1)), to(2), nil,
		},
		"go at the end too": {
			held(pod("v2"), pod("v2"), pod("v1"), pod("v2")).but(misscheduled(1)), to(3), []string{"replace agent-3"},
		},
		"stay where there is nothing to update": {held(pods(2, "v1")...).but(misscheduled(2)), to(0), nil},
		"are counted before the status does": { // a node came, and the status has not counted it
			held(pod("v2"), pod("v1"), pod("v1")).but(scheduled(2)), within(2, 1), nil,
		},
	})
}

func TestOfTwoPodsOnANodeTheNativeControllerDeletesOne(t *testing.T) {
	t.Parallel()
	checkMoves(t, map[string]moved{
		"one that is updated counts: it may be the one that stays": {
			held(pod("v1", on("node-1")), pod("v2", on("node-1")), pod("v1", on("node-2"))), within(2, 1), nil,
		},
		"the others of the node are one": { // node-3 lacks a pod, and gets an updated one
			held(pod("v0", on("node-1")), pod("v1", on("node-1")), pod("v1", on("node-2"))).but(scheduled(3)), within(3, 1), nil,
		},
		"none of them is deleted": {
			held(pod("v0", on("node-1")), pod("v1", on("node-1")), pod("v1", on("node-2"))), within(2, 2), []string{"replace agent-3"},
		},
		"none of them is available": {
			held(pod("v1", on("node-1")), pod("v2", on("node-1")), pod("v1", on("node-2"))), to(2), nil,
		},
	})
}

func TestARollbackTakesTheShortestWay(t *testing.T) {
	t.Parallel()
	task := within(2, 3)
	task.Rollback = true
	checkMoves(t, map[string]moved{
		"broken pods first, and then what may be unavailable": {
			held(pod("v3"), pod("v2"), pod("v3", unready)), task, []string{"replace agent-3, agent-1"},
		},
	})
}

// TestTheStableVersionGoesLast: pods of a version that was rolled back, or never approved in full,
// go before stable ones in any order.
func TestTheStableVersionGoesLast(t *testing.T) {
	t.Parallel()
	stable := func(t mover.Task) mover.Task {
		t.Stable = "v1"
		return t
	}
	turn, back, foreign := stable(within(2, 1)), stable(within(2, 1)), stable(within(3, 1))
	turn.Turn, back.Rollback, foreign.Foreign = uids("pod-1", "pod-2", "pod-3"), true, "v9"
	checkMoves(t, map[string]moved{
		"a version that was rolled back goes first": {held(pod("v1"), pod("v0"), pod("v1")), stable(within(2, 1)), []string{"replace agent-2"}},
		"in any turn":                                   {held(pod("v1"), pod("v0"), pod("v1")), turn, []string{"replace agent-2"}},
		"after what does not serve":                     {held(pod("v1"), pod("v0"), pod("v1", unready)), stable(within(2, 1)), []string{"replace agent-3"}},
		"after what somebody else has given":            {held(pod("v0"), pod("v9"), pod("v1")), foreign, []string{"replace agent-2"}},
		"in a rollback the version to leave is no such": {held(pod("v1"), pod("v0"), pod("v1")), back, []string{"replace agent-1"}},
	})
}

func TestTheOrderOfATurnIsKept(t *testing.T) {
	t.Parallel()
	turn := func(t mover.Task, pods ...string) mover.Task {
		t.Turn = uids(pods...)
		return t
	}
	three := held(pods(3, "v1")...)
	checkMoves(t, map[string]moved{
		"the first first": {three, turn(within(2, 3), "pod-3", "pod-1", "pod-2"), []string{"replace agent-3, agent-1"}},
		"what is not available comes before all turns": {
			held(pod("v1"), pod("v1", unready), pod("v1")), turn(within(2, 2), "pod-3", "pod-1", "pod-2"), []string{"replace agent-2, agent-3"},
		},
		"what has no turn waits":          {three, turn(within(3, 3), "pod-2"), []string{"replace agent-2"}},
		"none goes where none has a turn": {three, turn(within(3, 3)), nil},
	})
}

func TestALimitHoldsAPodAndAllAfterIt(t *testing.T) {
	t.Parallel()
	task := within(3, 3)
	task.Limits = limits("pod-2")
	checkMoves(t, map[string]moved{"": {held(pods(3, "v1")...), task, []string{"replace agent-1"}}})
}

func TestASmallWriteMayWait(t *testing.T) {
	t.Parallel()
	warm := held(pod("v2", warming), pod("v2"), pod("v1"), pod("v1"), pod("v1"))
	tests := map[string]struct {
		mover Mover
		task  mover.Task
		want  bool
	}{
		"as many as may be unavailable":        {held(pods(5, "v1")...), within(2, 4), false},
		"all that are missing":                 {held(pods(5, "v1")...), within(2, 1), false},
		"fewer, while an updated one warms up": {warm, within(2, 4), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.task.Replicas = test.mover.Replicas
			if got := test.mover.Move(test.task).Small; got != test.want {
				t.Errorf("Small is %t, want %t", got, test.want)
			}
		})
	}
}

func TestNothingElseIsWritten(t *testing.T) {
	t.Parallel()
	m := held(pod("v2"), pod("v2"), pod("v1", unready))
	for name, task := range map[string]mover.Task{
		"blocked":       {Digest: digest, Target: 1, Mode: mover.Mode{Blocked: true}},
		"stepping back": {Digest: digest, Target: 1, Mode: mover.Mode{SteppingBack: true}},
		"rescaling":     {Digest: digest, Target: 1, Mode: mover.Mode{Rescaling: true}},
	} {
		task.Replicas, task.Unavailable = 3, 3
		moved, kept, now := m.Move(task), m.Keep(task), m.Now(task)
		all := slices.Concat(moved.Grow, moved.Shrink, kept.Grow, kept.Shrink, now.Grow, now.Shrink, m.Clear(task), m.Finish(digest))
		if before, awaited := m.Prepare(mover.Beginning{}); len(before) > 0 || awaited != "" {
			t.Errorf("%s: before it begins there is to be written: %v, awaited %q", name, before, awaited)
		}
		if m.Make(task) != nil || m.Restore(nil) != nil || m.Refill(mover.Beginning{Stable: "v1", Replicas: 3}) != nil || len(all) > 0 {
			t.Errorf("%s: something is written: %v", name, all)
		}
	}
}

func TestPodsAreDeletedAsTheyWereSeen(t *testing.T) {
	t.Parallel()
	m := held(pods(2, "v1")...)
	m.Pods[0].Version = "41"
	task := to(1)
	task.Replicas = 2
	got := m.Move(task).Grow
	want := []mover.Write{inplace.Replace{Pods: m.Pods[:1], Why: mover.Forward}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is written (-want +got):\n%s", diff)
	}
}
