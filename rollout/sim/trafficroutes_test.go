package sim

import (
	"fmt"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// severalRoutes are releases with two routes, to one Service of the user or to two.
func severalRoutes() map[string]Setup {
	all := map[string]Setup{}
	for service, other := range map[string]v1alpha1.TrafficRoute{"one Service": routeOf("other"), "two Services": secondRoute("other")} {
		for _, keeps := range []bool{false, true} {
			for _, bounds := range [][2]int32{{1, 0}, {0, 1}} {
				all[fmt.Sprintf("%s, old pods are kept: %t, maxSurge %d, maxUnavailable %d", service, keeps, bounds[0], bounds[1])] = Setup{
					Replicas: 3, Steps: Steps("50% 20% matches", "67% 50% none", "100%"), HistoryLimit: 2,
					MaxSurge: intstr.FromInt32(bounds[0]), MaxUnavailable: intstr.FromInt32(bounds[1]),
					Traffic: trafficOf(func(t *v1alpha1.Traffic) { t.Routes, t.KeepOldPods = append(t.Routes, other), keeps }),
				}
			}
		}
	}
	return all
}

// routesFamilies are what happens to one of two routes, or to the Services of one of two.
func routesFamilies() map[string]family {
	rollback, second := Event{Kind: Rollback, Text: "true"}, Event{Kind: DeleteService, Text: string(secondStable)}
	edits := []Event{{Kind: EditService, Text: string(secondStable)}, {Kind: EditService, Text: "canary"}}
	stops := []Event{{Kind: TurnOff}, {Kind: TurnOn}}
	return map[string]family{
		"dies":                {begin: releasing, Exploration: Exploration{Offers: []Event{{Kind: PassDies}, rollback}, Budget: map[Kind]uint8{PassDies: 2}}},
		"one is restored":     {begin: sharing, Exploration: Exploration{Offers: []Event{{Kind: RestoreRoute, Text: "other"}, {Kind: PodFails, Text: "v2"}, {Kind: PodFails, Text: "v1"}, rollback, {Kind: Suspend}, {Kind: Resume}}}},
		"one goes":            {begin: sharing, Exploration: Exploration{Offers: []Event{{Kind: DeleteRoute, Text: "route"}, {Kind: CreateRoute, Text: "route"}, rollback, {Kind: Jump, N: 0}}}},
		"one is shared again": {begin: lastShare, Exploration: Exploration{Offers: []Event{{Kind: ShareRouteAgain, Text: "other", N: 97}, {Kind: Settle}, {Kind: Give, Text: "v3"}, rollback}, Budget: map[Kind]uint8{Settle: 3, ShareRouteAgain: 2}}},
		"one begins at 97%":   {begin: sharedBefore, Exploration: Exploration{Offers: []Event{{Kind: Suspend}, {Kind: Resume}, rollback, {Kind: Settle}}, Budget: map[Kind]uint8{Settle: 3}}},
		"one falls silent": {begin: sharing, Exploration: Exploration{
			Offers: []Event{{Kind: Silence, Text: "other"}, {Kind: Speak, Text: "other"}, rollback, {Kind: DeleteRelease}, {Kind: Settle}}, Budget: map[Kind]uint8{Settle: 2},
		}},
		"sides are edited":           {begin: sharing, Exploration: Exploration{Offers: append(edits, second, rollback, Event{Kind: PassDies})}},
		"the flag is turned off":     {begin: sharing, Exploration: Exploration{Offers: append(stops, rollback, Event{Kind: Give, Text: "v3"}, Event{Kind: Scale, N: 4})}},
		"... and the release goes":   {begin: sharing, Exploration: Exploration{Offers: append(stops, Event{Kind: DeleteRelease}, Event{Kind: RestoreRoute, Text: "route"})}},
		"... at the end":             {begin: lastShare, Exploration: Exploration{Offers: append(stops, rollback, Event{Kind: Settle}), Budget: map[Kind]uint8{Settle: 3}}},
		"... and traffic is removed": {begin: sharing, Exploration: Exploration{Offers: append(stops, Event{Kind: ForgetTraffic}, Event{Kind: DeleteRoute, Text: "other"})}},
	}
}

// sharedBefore begins with a route that somebody has shared for themselves.
func sharedBefore(setup Setup) *State {
	s := releasing(setup)
	(Event{Kind: Pass}).Apply(s)
	(Event{Kind: ShareRouteAgain, Text: "route", N: 97}).Apply(s)
	return s
}

// TestEveryOrderOfTwoRoutes holds releases with two routes against the laws, and those whose controller is started without --traffic.
func TestEveryOrderOfTwoRoutes(t *testing.T) {
	t.Parallel()
	for name, family := range ofPart(t, routesFamilies()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var states, passes atomic.Int64
			for name, setup := range severalRoutes() {
				out := family.explore(setup)
				if out.Fault != "" {
					t.Fatalf("%s: %s", name, out.Fault)
				}
				states.Add(int64(out.States))
				passes.Add(int64(out.Passes))
			}
			fmt.Printf("two routes, %-22s %8d states, %8d passes\n", name, states.Load(), passes.Load())
		})
	}
}

// While a release stands that took the place of one at its end, the version that serves is known.
func TestStandsAtTheEndOfAnother(t *testing.T) {
	t.Parallel()
	for name, setup := range routedSetups() {
		out := family{begin: givenBack, Exploration: Exploration{Offers: []Event{{Kind: Suspend}, {Kind: Resume}, {Kind: Settle}}, Budget: map[Kind]uint8{Settle: 3}}}.explore(setup)
		if out.Fault != "" {
			t.Errorf("%s: %s", name, out.Fault)
		}
	}
}

// givenBack is a release that another one takes the place of once its routes were given back at its end.
func givenBack(setup Setup) *State {
	s := calmed(releasing(setup), func(s *State) bool {
		told := s.Release.Status.Traffic
		return told != nil && told.Ending != nil && !s.Traffic.Routes[0].Shared
	})
	Event{Kind: Give, Text: "v3"}.Apply(s)
	return s
}

// A step that says how many pods there are may ask for more requests than they are enough for. It waits until fewer pods are enough for all.
func TestFewPodsGetNoMoreThanTheyBear(t *testing.T) {
	t.Parallel()
	s := calmed(releasing(Setup{
		Replicas: 4, Steps: Steps("1 50% none", "100%"), HistoryLimit: 2, Traffic: trafficOf(func(*v1alpha1.Traffic) {}), MaxSurge: intstr.FromInt32(1),
	}), func(s *State) bool {
		told := s.Release.Status.Traffic
		return s.Traffic.Routes[0].Weight > 0 || told != nil && told.Awaits == v1alpha1.AwaitedCapacity
	})
	if weight := s.Traffic.Routes[0].Weight; weight > 0 || len(s.Broken) > 0 {
		t.Fatalf("one of four pods gets %d%%, want 50%% once it is one of two: %v", weight, s.Broken)
	}
	Event{Kind: Scale, N: 2}.Apply(s)
	s = calmed(s, func(s *State) bool { return s.Traffic.Routes[0].Weight > 0 })
	if weight := s.Traffic.Routes[0].Weight; weight != 50 || len(s.Broken) > 0 {
		t.Errorf("one of two pods gets %d%%, want 50%%: %v", weight, s.Broken)
	}
}
