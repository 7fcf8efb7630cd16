package sim

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestWalksOfRequests is TestWalks for releases with traffic.
func TestWalksOfRequests(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int32{0, 1, 2, 3, 5, 8} {
		t.Run(fmt.Sprintf("%d replicas", replicas), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				w := beginWith(t, drawRouted(t, replicas))
				for range rapid.IntRange(0, 200).Draw(t, "events") {
					w.step(w.anything("event"))
				}
				w.speakAgain()
				w.calmDown()
			})
		})
	}
}

// speakAgain has all Gateways live in the end: a release that goes forward waits for one that does not for ever.
func (w *walk) speakAgain() {
	for i := range w.state.Traffic.Routes {
		w.step(Event{Kind: Speak, Text: w.state.Traffic.Routes[i].Name})
	}
}

// drawRouted is how a walk with traffic begins.
func drawRouted(t *rapid.T, replicas int32) Setup {
	setup := drawSetup(t, replicas)
	setup.Strategy, setup.OneVersion, setup.Newborn = RollingUpdate, false, false
	setup.Traffic = trafficOf(func(of *v1alpha1.Traffic) {
		of.Routes = append(of.Routes, rapid.SampledFrom([][]v1alpha1.TrafficRoute{nil, nil, {routeOf("other")}, {secondRoute("other")}}).Draw(t, "more routes")...)
		of.KeepOldPods = rapid.Bool().Draw(t, "keep old pods")
		of.AllowOverload = rapid.IntRange(0, 3).Draw(t, "overload") == 0
		if of.KeepOldPods && rapid.Bool().Draw(t, "delay") {
			of.OldPodsDelaySeconds = readySeconds
		}
	})
	setup.Steps = drawShares(t, setup.Traffic.AllowOverload)
	return setup
}

// drawShares draws up to three steps before the last, each with at most as many requests as pods unless they may be overloaded.
func drawShares(t *rapid.T, overload bool) []v1alpha1.Step {
	gates := rapid.SampledFrom([]string{"", " none", " none", " manual", " soak", " manual-"})
	replicas, share := 0, 0
	var texts []string
	for range rapid.IntRange(1, 3).Draw(t, "steps") {
		replicas = rapid.IntRange(max(replicas, 1), 100).Draw(t, "replicas")
		most := replicas
		if overload {
			most = 100
		}
		share = rapid.IntRange(share, max(most, share)).Draw(t, "share")
		matches := rapid.SampledFrom([]string{"", "", " matches"}).Draw(t, "matches")
		texts = append(texts, fmt.Sprintf("%d%% %d%%%s%s", replicas, share, matches, gates.Draw(t, "gates")))
	}
	return Steps(append(texts, "100%"+gates.Draw(t, "gates"))...)
}

// routed are kinds of events of a walk with traffic.
func (w *walk) routed(kinds []Kind) []Kind {
	if slices.Contains(kinds, SyncSet) {
		return append(slices.Clip(kinds), slices.Repeat([]Kind{SyncSlices, SyncSlices, Accept, Settle}, 6)...)
	}
	return append(slices.Clip(kinds), slices.Concat(
		slices.Repeat([]Kind{
			RestoreRoute, DeleteRoute, CreateRoute, DeleteService, EditService, StripRoute, ShareRouteAgain, Silence, Speak, Speak, TurnOff, TurnOn,
		}, 3),
		[]Kind{ForgetTraffic},
	)...)
}
