package daemonset

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// numbers are the inputs and results of counting.
type numbers struct {
	Updated, UpdatedNow, UpdatedAvailable int32
	Others, OthersNow                     int32
	All, Available                        int32
	Known, Settled                        bool
}

func numbersOf(c mover.Counts) numbers {
	return numbers{
		Updated: c.Updated.Wanted, UpdatedNow: c.Updated.Current, UpdatedAvailable: c.Updated.Staying,
		Others: c.Others.Wanted, OthersNow: c.Others.Current, All: c.All.Wanted, Available: c.All.Staying,
		Known: c.Updated.Known, Settled: c.Settled,
	}
}

func TestPodsAreCounted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		mover Mover
		want  numbers
	}{
		"by version": {
			held(pod("v2"), pod("v2", warming), pod("v1"), pod("v0")),
			numbers{Updated: 2, UpdatedNow: 2, UpdatedAvailable: 1, Others: 2, OthersNow: 2, All: 4, Available: 3, Known: true, Settled: true},
		},
		"what is terminating comes back updated": {
			held(pod("v1", terminating), pod("v1")),
			numbers{Updated: 1, Others: 1, OthersNow: 1, All: 2, Available: 1, Known: true},
		},
		"what is missing comes back updated": {
			held(pods(2, "v1")...).but(scheduled(3)),
			numbers{Updated: 1, Others: 2, OthersNow: 2, All: 3, Available: 2, Known: true},
		},
		"lost pods are left out": {
			held(pod("v1", lost), pod("v2", lost), pod("v1"), pod("v2")),
			numbers{Updated: 1, UpdatedNow: 1, UpdatedAvailable: 1, Others: 1, OthersNow: 1, All: 2, Available: 2, Known: true, Settled: true},
		},
		"more updated pods than were asked for are told": { // a node came
			held(pod("v2"), pod("v2"), pod("v1")),
			numbers{Updated: 2, UpdatedNow: 2, UpdatedAvailable: 2, Others: 1, OthersNow: 1, All: 3, Available: 3, Known: true, Settled: true},
		},
		"misscheduled pods take no place of others": {
			held(pods(4, "v1")...).but(misscheduled(1)),
			numbers{Others: 3, OthersNow: 4, All: 3, Available: 4, Known: true, Settled: true},
		},
		"the last misscheduled pod still has to go": {
			held(pod("v2"), pod("v2"), pod("v1")).but(misscheduled(1)),
			numbers{Updated: 2, UpdatedNow: 2, UpdatedAvailable: 2, Others: 1, OthersNow: 1, All: 2, Available: 3, Known: true, Settled: true},
		},
		"a pod that the status does not count yet": {
			held(pod("v2"), pod("v1"), pod("v1")).but(scheduled(2)),
			numbers{Updated: 1, UpdatedNow: 1, UpdatedAvailable: 1, Others: 1, OthersNow: 2, All: 2, Available: 3, Known: true},
		},
		"of another template there are none": {
			held(pod("v2"), pod("v1")).but(func(m *Mover) { m.Digest = "digest-v3" }),
			numbers{Others: 2, OthersNow: 2, All: 2, Available: 2, Settled: true},
		},
		"of a template that nobody has seen there are none": {
			held(pod("v2"), pod("v1")).but(func(m *Mover) { m.Observed = false }),
			numbers{Others: 2, OthersNow: 2, All: 2, Available: 2},
		},
		"no nodes": {held(), numbers{Known: true, Settled: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, numbersOf(test.mover.Count(digest))); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsAreCountedByTheStatusAtRest(t *testing.T) {
	t.Parallel()
	at := func(replicas int32, status inplace.Status) Mover {
		return Mover{Workload: inplace.Workload{Observed: true, Digest: digest, Update: "v2", Replicas: replicas, Status: status}}
	}
	tests := map[string]struct {
		mover Mover
		want  numbers
	}{
		"all updated": {
			at(3, inplace.Status{Updated: 3, Ready: 3, Available: 3, Current: 3}),
			numbers{Updated: 3, UpdatedNow: 3, UpdatedAvailable: 3, All: 3, Available: 3, Known: true, Settled: true},
		},
		"so many updated ones are available, at least": {
			at(4, inplace.Status{Updated: 3, Ready: 3, Available: 3, Current: 4}),
			numbers{Updated: 3, UpdatedNow: 3, UpdatedAvailable: 2, Others: 1, OthersNow: 1, All: 4, Available: 3, Known: true, Settled: true},
		},
		"some are missing": {
			at(4, inplace.Status{Updated: 1, Ready: 3, Available: 3, Current: 3}),
			numbers{Updated: 1, UpdatedNow: 1, UpdatedAvailable: 1, Others: 3, OthersNow: 2, All: 4, Available: 3, Known: true},
		},
		"another template": {
			at(2, inplace.Status{Updated: 2, Ready: 2, Available: 2, Current: 2}).but(func(m *Mover) { m.Digest = "digest-v3" }),
			numbers{Others: 2, OthersNow: 2, All: 2, Available: 2, Settled: true},
		},
		"what is not observed": {
			at(2, inplace.Status{Updated: 2, Ready: 2, Available: 2, Current: 2}).but(func(m *Mover) { m.Observed = false }),
			numbers{Others: 2, OthersNow: 2, All: 2, Available: 2},
		},
		"more nodes in the status than are not lost": {
			at(2, inplace.Status{Updated: 3, Ready: 3, Available: 3, Current: 3}),
			numbers{Updated: 2, UpdatedNow: 2, UpdatedAvailable: 2, All: 2, Available: 2, Known: true, Settled: true},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, numbersOf(test.mover.Count(digest))); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBeginsUnderItsName: pods count as not observed until the native controller's name of the
// version is known, so that no release begins under a name that is foretold.
func TestBeginsUnderItsName(t *testing.T) {
	t.Parallel()
	for _, comes := range []bool{false, true} {
		m := held(pod("v1"), pod("v1")).but(func(m *Mover) { m.Update, m.Unnamed, m.NameComes = "", "no name", comes })
		if c := m.Count(m.Digest); c.All.Observed == comes || !c.Updated.Observed {
			t.Errorf("name comes: %t, seen as a whole: %t", comes, c.All.Observed)
		}
	}
}
