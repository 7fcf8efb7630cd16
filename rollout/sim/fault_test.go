package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fault is what goes wrong in a story, before a request of the process.
type fault struct {
	event Event
	// before is the number of the request, counted from 1; never if it is 0.
	before int
	// lasts is for how many turns a cache then lags.
	lasts int
}

// lag is how many turns a cache lags in a story: some passes and the answers to them.
const lag = 12

// afterFault is how many writes a fault may cost: what it undoes is done again, and pods that were lost
// let a batch come in more parts.
const afterFault = 12

// afterMeddling is how many writes it may cost that somebody has changed what is ours: the native controller
// may have moved every pod meanwhile, which go back, one by one where there is no surge. For each of 9 one ReplicaSet shrinks and
// then the other grows, and the status tells of both; it takes a few more to tell of it and to have it acknowledged.
const afterMeddling = 9*4 + 6

// mayCost is how many writes more than the whole story a fault may cost.
func (f fault) mayCost() int {
	switch {
	case f.event.Kind == Unpause, f.event.Kind == EditTemplate, f.event.Kind == StripHold:
		return afterMeddling
	case f.event.Text == string(GateObjects):
		return 2 * lag // two gates of the attempt before are closed in each pass as long as the cache has them
	default:
		return afterFault
	}
}

// faults has no cache of kept templates that lags: the shell remembers what it has kept, which the process
// here does not.
func faults() []fault {
	all := []fault{
		{event: Event{Kind: Touch}}, {event: Event{Kind: SyncWorkload}}, {event: Event{Kind: SyncWorkloadLate, N: 1}},
		{event: Event{Kind: PodFails, Text: "v1"}}, {event: Event{Kind: PodFails, Text: "v2"}},
		{event: Event{Kind: PodLost, Text: "v1"}}, {event: Event{Kind: PodLost, Text: "v2"}},
		{event: Event{Kind: Unpause}}, {event: Event{Kind: EditTemplate, Text: "v9"}}, {event: Event{Kind: StripHold}},
	}
	for _, object := range []Object{ReleaseObject, WorkloadObject, GateObjects, NewSetObjects, "v1", "v2"} {
		all = append(all, fault{event: Event{Kind: Freeze, Text: string(object)}, lasts: lag})
	}
	return all
}

// TestFaultAnywhere lets each fault happen before each request of each story: the end is that of the
// story without it, and hardly more is written (I7, I9).
func TestFaultAnywhere(t *testing.T) {
	t.Parallel()
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole, runs, most := tellWhole(s), 0, 0
			for _, f := range faults() {
				for f.before = 1; f.before <= whole.requests; f.before++ {
					told := whole.faulty(f)
					wantSameEnd(t, whole.telling, told, f)
					runs, most = runs+1, max(most, told.writes-whole.writes)
				}
			}
			fmt.Printf("%-22s %5d faults, %d writes, %d more at most\n", name, runs, whole.writes, most)
		})
	}
}

func wantSameEnd(t *testing.T, whole, told *telling, f fault) {
	t.Helper()
	what := fmt.Sprintf("with %q before request %d", f.event, f.before)
	if left := told.unfinished(); left != "" {
		t.Fatalf("%s it does not end well: %s\n%s", what, left, told.text.String())
	}
	if diff := cmp.Diff(essence(endOf(whole.State.World)), essence(endOf(told.State.World))); diff != "" {
		t.Fatalf("%s it ends otherwise (-want +got):\n%s\n%s", what, diff, told.text.String())
	}
	if told.writes > whole.writes+f.mayCost() {
		t.Errorf("%s it takes %d writes, %d without:\n%s", what, told.writes, whole.writes, told.text.String())
	}
}

// A rollback that somebody asks for before any request of a first release is done, also when no pass has lived
// to say that the release has begun.
func TestRollbackAsked(t *testing.T) {
	t.Parallel()
	crowded := story{setup: ten("1", "100%"), twists: []twist{
		{atOnce, Event{Kind: Crowd}}, {atOnce, Event{Kind: Pass}}, {atOnce, Event{Kind: Cure}},
	}}
	for name, first := range map[string]story{"at once": {setup: ten("1", "100%")}, "after a wait for room": crowded} {
		whole, asked := tellWhole(first), fault{event: Event{Kind: Rollback, Text: "true"}}
		for asked.before = 1; asked.before <= whole.requests; asked.before++ {
			told := whole.faulty(asked)
			if left := told.unfinished(); left != "" || told.Workload.Template != "v1" {
				t.Fatalf("%s, asked for before request %d, it runs %s in the end: %s\n%s",
					name, asked.before, told.Workload.Template, left, told.text.String())
			}
		}
	}
}

// essence leaves out of an end the ReplicaSets without pods, and the history of templates: somebody who
// edits the template of a workload leaves traces in both.
func essence(end string) string {
	lines := slices.DeleteFunc(strings.Split(end, "\n"), func(line string) bool {
		empty := strings.HasPrefix(line, "set ") && strings.HasSuffix(line, " replicas=0 available=0 pods=0")
		return empty || strings.HasPrefix(line, "kept ")
	})
	return strings.Join(lines, "\n")
}
