package daemonset

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// noon is when tests begin.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// occupied returns nodes that have a pod.
func occupied(nodes ...string) map[string]bool {
	all := map[string]bool{}
	for _, node := range nodes {
		all[node] = true
	}
	return all
}

func TestVacantNodes(t *testing.T) {
	t.Parallel()
	var places Vacancies
	for _, step := range []struct {
		name    string
		after   time.Duration
		lacking int32
		pods    map[string]bool
		want    []string
	}{
		{"nothing is missed yet", 0, 0, occupied("a", "b"), nil},
		{"one is gone", 0, 0, occupied("b"), []string{"a"}},
		{"it is there again", 0, 0, occupied("a", "b"), nil},
		{"both are gone", 0, 0, nil, []string{"a", "b"}},
		{"the status says that two nodes lack one", VacantFor, 2, nil, []string{"a", "b"}},
		{"it says that only one does", VacantFor, 1, nil, []string{"a"}},
		{"it says that none does", VacantFor, 0, nil, nil},
		{"there are more than it knows of", VacantFor, -1, nil, nil},
	} {
		before := places.Nodes()
		seen := places.See(step.pods, step.lacking, noon.Add(step.after))
		if diff := cmp.Diff(before, places.Nodes()); diff != "" {
			t.Errorf("%s: what was seen before has changed (-want +got):\n%s", step.name, diff)
		}
		places = seen
		if diff := cmp.Diff(step.want, places.Nodes()); diff != "" || places.Any() != (step.want != nil) {
			t.Errorf("%s: nodes, any %t (-want +got):\n%s", step.name, places.Any(), diff)
		}
	}
}

// TestTheLatestVacantNodesAreKept: the latest vacant places are kept: their nodes are the likeliest
// to get a pod yet.
func TestTheLatestVacantNodesAreKept(t *testing.T) {
	t.Parallel()
	places := Vacancies{}.See(occupied("a", "b", "c"), 0, noon)
	places = places.See(occupied("a", "c"), 1, noon)
	places = places.See(occupied("a"), 2, noon.Add(time.Second))
	places = places.See(nil, 3, noon.Add(2*time.Second))
	places = places.See(nil, 2, noon.Add(2*time.Second+VacantFor))
	if diff := cmp.Diff([]string{"a", "c"}, places.Nodes()); diff != "" {
		t.Errorf("b was vacant first, and two nodes lack a pod (-want +got):\n%s", diff)
	}
}

// TestVacantNodesDoNotAddUp: one node never gets its pod, because that is refused for example, and
// meanwhile others are deleted and made again under other names, as an autoscaler does. Their
// places are not kept: they would add up, and the release would wait for pods that never come.
func TestVacantNodesDoNotAddUp(t *testing.T) {
	t.Parallel()
	now, places := noon, Vacancies{}.See(occupied("lacks", "node-0"), 0, noon)
	for i := range 1000 {
		now = now.Add(time.Second)
		places = places.See(occupied(fmt.Sprintf("node-%d", i+1)), 1, now)
	}
	if n, most := len(places.Nodes()), int(VacantFor/time.Second)+1; n > most {
		t.Errorf("%d places are vacant, of which one lacks its pod, and one a second is deleted: want at most %d", n, most)
	}
	places = places.See(occupied("node-1000"), 1, now.Add(VacantFor))
	if n := len(places.Nodes()); n != 1 {
		t.Errorf("%d places are vacant in the end, want one", n)
	}
}

// TestNodeMadeAgain: a node that is deleted and made again under its name keeps its place, and
// counts once.
func TestNodeMadeAgain(t *testing.T) {
	t.Parallel()
	places := Vacancies{}.See(occupied("a", "b"), 0, noon)
	places = places.See(occupied("b"), 0, noon)                  // the node is deleted, and its pod
	places = places.See(occupied("b"), 1, noon.Add(2*VacantFor)) // it is there again, and lacks its pod
	if diff := cmp.Diff([]string{"a"}, places.Nodes()); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	places = places.See(occupied("a", "b"), 1, noon.Add(2*VacantFor)) // the status is late
	if got := places.Nodes(); got != nil {
		t.Errorf("vacant are %v, though the node has a pod", got)
	}
}
