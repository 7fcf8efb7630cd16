package sim

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// deep makes the exploration of every family visit every state. By default most families stop at
// the nearest states of each case, which is where a law breaks first if it does.
var deep = flag.Bool("deep", false, "explore every state of each family (hours)")

// states is how many states of each case to visit instead of as many as its family says.
var states = flag.Int("states", 0, "explore so many states of each case (default what each family says)")

// part explores some of the families: those of one night in seven, for example.
var part = flag.String("part", "1/1", "explore the `N/M`th part of the families")

const (
	nearest = 300
	// atTheEnd is enough for what follows a hand-back.
	atTheEnd = 400
	// whole is a limit that no case comes near.
	whole = 1 << 30
)

// TestEveryOrderOfEvents holds every write in every order of events against the laws, for up to
// 4 replicas, 3 steps, and every surge and unavailability up to 2.
func TestEveryOrderOfEvents(t *testing.T) {
	t.Parallel()
	for name, family := range ofPart(t, families()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var states, passes, cut atomic.Int64
			for _, setup := range setups() {
				out := family.explore(setup)
				if out.Fault != "" {
					t.Fatalf("%d replicas, maxSurge %s, maxUnavailable %s: %s",
						setup.Replicas, setup.MaxSurge.String(), setup.MaxUnavailable.String(), out.Fault)
				}
				states.Add(int64(out.States))
				passes.Add(int64(out.Passes))
				if out.Cut {
					cut.Add(1)
				}
			}
			fmt.Printf("%-22s %8d states, %8d passes in %d cases, %d of them cut\n",
				name, states.Load(), passes.Load(), len(setups()), cut.Load())
		})
	}
}

// ofPart are the families of the part that is asked for.
func ofPart(t *testing.T, all map[string]family) map[string]family {
	t.Helper()
	var n, of int
	if _, err := fmt.Sscanf(*part, "%d/%d", &n, &of); err != nil || n < 1 || n > of {
		t.Fatalf("-part=%s: want N/M, such as 2/7", *part)
	}
	some := map[string]family{}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i%of == n-1 {
			some[name] = all[name]
		}
	}
	return some
}

func setups() []Setup {
	var all []Setup
	for replicas := range int32(4) {
		for surge := range int32(3) {
			for unavailable := range int32(3) {
				all = append(all, Setup{
					Replicas: replicas + 1, Steps: Steps("1", "50% none", "100%"), HistoryLimit: 2,
					MaxSurge: intstr.FromInt32(surge), MaxUnavailable: intstr.FromInt32(unavailable),
					Deadline: 24 * time.Hour,
				})
			}
		}
	}
	return all
}

func (f family) explore(setup Setup) Explored {
	if f.Limit == 0 {
		f.Limit = nearest
	}
	return f.exploreTo(setup)
}

// exploreTo visits as many states as the limit allows, or all.
func (f family) exploreTo(setup Setup) Explored {
	e := f.Exploration
	e.Start = f.begin(setup)
	switch {
	case *deep:
		e.Limit = 0
	case *states > 0:
		e.Limit = *states
	}
	return Explore(e)
}
