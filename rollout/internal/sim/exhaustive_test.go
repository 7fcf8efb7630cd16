package sim

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// deep makes the exploration of every family visit every state. By default some families stop at
// the nearest states of each case, which is where a law breaks first if it does.
var deep = flag.Bool("deep", false, "explore every state of each family (hours)")

const (
	nearest = 1500
	// whole is a limit that no case comes near.
	whole = 1 << 30
)

// caches are the objects whose readings may stay behind, and a restart that makes the lag
// something the process can't know of.
func caches(objects ...Object) []Event {
	events := []Event{{Kind: Restart}}
	for _, object := range objects {
		events = append(events, Event{Kind: Freeze, Text: string(object)})
	}
	return events
}

func scales(replicas ...int32) []Event {
	var events []Event
	for _, n := range replicas {
		events = append(events, Event{Kind: Scale, N: n})
	}
	return events
}

// families are what else happens, each at any moment, in a release from v1 to v2 in three steps.
func families() map[string]Exploration {
	return map[string]Exploration{
		"nothing else":         {Limit: whole},
		"stale caches":         {Limit: whole, Offers: caches(ReleaseObject, WorkloadObject, "v1", "v2", NewSetObjects, GateObjects)},
		"scaling":              {Limit: whole, Offers: scales(0, 1, 2, 3, 4)},
		"scaling, stale":       {Offers: append(caches(ReleaseObject, WorkloadObject, "v1", "v2"), scales(0, 2, 4)...)},
		"the process dies":     {Limit: whole, Offers: []Event{{Kind: PassDies}}, Budget: map[Kind]uint8{PassDies: 2}},
		"dies, stale":          {Offers: append(caches(ReleaseObject, WorkloadObject, "v1", "v2", NewSetObjects), Event{Kind: PassDies})},
		"writes race":          {Offers: append(scales(2, 4), Event{Kind: PassRaces}, Event{Kind: Touch, Text: "v2"})},
		"rollback":             {Limit: whole, Offers: []Event{{Kind: Rollback, Text: "true"}, {Kind: PodFails, Text: "v2"}}},
		"rollback, stale":      {Offers: append(caches(ReleaseObject, WorkloadObject, "v1", "v2"), Event{Kind: Rollback, Text: "true"})},
		"another template":     {Offers: []Event{{Kind: Give, Text: "v3"}, {Kind: PassDies}}},
		"back to v1":           {Offers: append(scales(2, 4), Event{Kind: Give, Text: "v1"})},
		"pods fail and vanish": {Offers: []Event{{Kind: PodFails, Text: "v1"}, {Kind: PodFails, Text: "v2"}, {Kind: PodLost, Text: "v1"}, {Kind: PodLost, Text: "v2"}}},
		"people meddle":        {Offers: []Event{{Kind: Unpause}, {Kind: EditTemplate, Text: "v9"}, {Kind: StripHold}}},
		"the release goes":     {Offers: []Event{{Kind: DeleteRelease}, {Kind: PassDies}}},
		"the workload goes":    {Offers: []Event{{Kind: DeleteWorkload}, {Kind: CreateWorkload, Text: "v1"}, {Kind: CreateWorkload, Text: "v2"}}},
		"confirmed twice":      {Offers: []Event{{Kind: Confirm}, {Kind: Rollback, Text: "true"}}, Budget: map[Kind]uint8{Confirm: 4}},
	}
}

// TestEveryOrderOfEvents holds every write in every order of events against the laws, for up to
// 4 replicas, 3 steps, and every surge and unavailability up to 2.
func TestEveryOrderOfEvents(t *testing.T) {
	t.Parallel()
	for name, family := range families() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var states, passes, cut atomic.Int64
			for _, setup := range setups() {
				out := explore(family, setup)
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

func explore(family Exploration, setup Setup) Explored {
	family.Start = NewState(setup)
	family.Start.Give("v2")
	switch {
	case *deep:
		family.Limit = 0
	case family.Limit == 0:
		family.Limit = nearest
	}
	return Explore(family)
}
