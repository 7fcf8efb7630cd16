package sim

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/rollout/workload"
)

// nearestOfKind is how many states of each case of a StatefulSet or DaemonSet are visited by default.
const nearestOfKind = 150

// ofDeployments are families about what only a Deployment has: strategy Recreate, and templates that are the same to its native
// controller though they are written otherwise.
var ofDeployments = []string{
	"one version at a time", "pods take time to go", "pods that go are waited for", "written otherwise", "written otherwise, after",
}

// ofDaemonSets are families about nodes, and about what only pods on nodes do.
var ofDaemonSets = []string{"nodes are deleted", "nodes are tainted", "pods that have ended stay", "two pods on a node"}

// ofStatefulSets are families about ordinals.
var ofStatefulSets = []string{"the first ordinal changes"}

// kindSetups are the cases of a kind: up to 4 replicas, of which one or two may be unavailable.
func kindSetups(kind string) []Setup {
	var all []Setup
	for replicas := range int32(4) {
		for unavailable := range int32(2) {
			s := Setup{
				Kind: kind, Replicas: replicas + 1, Steps: Steps("1", "50% none", "100%"), HistoryLimit: 2,
				MaxUnavailable: intstr.FromInt32(unavailable + 1), Deadline: 24 * time.Hour,
			}
			if all = append(all, s); kind != StatefulSet {
				continue
			}
			s.Ordered = true
			if all = append(all, s); unavailable > 0 {
				s.Several = true
				inOrder := s
				s.Ordered = false
				all = append(all, inOrder, s)
			}
		}
	}
	return all
}

// kindFamilies are those of Deployments that suit another kind, and some of its own.
func kindFamilies(kind string) map[string]family {
	all := placedFamilies()
	maps.DeleteFunc(all, func(name string, _ family) bool {
		return kind != DaemonSet && slices.Contains(ofDaemonSets, name) || kind != StatefulSet && slices.Contains(ofStatefulSets, name)
	})
	return all
}

// placedFamilies are those of all kinds whose pods have places.
func placedFamilies() map[string]family {
	all := families()
	maps.DeleteFunc(all, func(name string, _ family) bool { return slices.Contains(ofDeployments, name) })
	all["pods go slowly"] = family{
		begin:       func(s Setup) *State { s.Graceful = true; return releasing(s) },
		Exploration: Exploration{Offers: []Event{{Kind: PodLost, Text: "v1"}, {Kind: PodLost, Text: "v2"}, {Kind: Rollback, Text: "true"}, {Kind: PassDies}}},
	}
	all["pods end"] = family{
		begin: func(s Setup) *State { s.Graceful = true; return releasing(s) },
		Exploration: Exploration{
			Offers: []Event{{Kind: PodEnds, Text: "v1"}, {Kind: PodEnds, Text: "v2"}, {Kind: Rollback, Text: "true"}, {Kind: PassDies}},
			Budget: map[Kind]uint8{PodEnds: 2},
		},
	}
	all["pods that have ended stay"] = family{
		begin: func(s Setup) *State {
			w := calmed(releasing(s), atStep(0))
			w.Backoff = true
			return w
		},
		Exploration: Exploration{
			Offers: []Event{{Kind: PodEnds, Text: "v1"}, {Kind: PodEnds, Text: "v2"}, {Kind: Rollback, Text: "true"}},
			Budget: map[Kind]uint8{PodEnds: 2},
		},
	}
	for how, leaving := range map[string]Leaving{"deleted": PodsStayAWhile, "tainted": PodsStay} {
		all["nodes are "+how] = family{
			begin: func(s Setup) *State {
				s.Steps, s.Graceful = Steps("1", "2", "100%"), true
				w := releasing(s)
				w.Leaving = leaving
				return w
			},
			Exploration: Exploration{
				Offers: append(scales(1, 2, 3), Event{Kind: PodLost, Text: "v1"}, Event{Kind: PodFails, Text: "v1"}, Event{Kind: Rollback, Text: "true"}),
				Budget: map[Kind]uint8{Scale: 2},
			},
		}
	}
	all["two pods on a node"] = family{
		begin: surging,
		Exploration: Exploration{Offers: []Event{
			{Kind: PodLost, Text: "v1"}, {Kind: PodFails, Text: "v1"}, {Kind: Rollback, Text: "true"}, {Kind: PassDies}, {Kind: DeleteRelease},
		}},
	}
	for name, until := range map[string]func(*State) bool{"released": completed, "midway": atStep(1)} {
		all["a fix in a rollback, "+name] = family{
			begin: func(s Setup) *State {
				s.Replicas += 2
				w := calmed(releasing(s), until)
				Event{Kind: Rollback, Text: "true"}.Apply(w)
				w = calmed(w, halfBack)
				Event{Kind: Give, Text: "v3"}.Apply(w)
				return w
			},
			Exploration: Exploration{Offers: []Event{{Kind: PodLost, Text: "v1"}, {Kind: PodLost, Text: "v2"}, {Kind: Scale, N: 8}, {Kind: PassDies}}},
		}
	}
	all["the first ordinal changes"] = family{
		begin:       releasing,
		Exploration: Exploration{Offers: []Event{{Kind: Shift, N: 1}, {Kind: Shift, N: -1}, {Kind: PassDies}, {Kind: PodLost, Text: "v2"}}, Budget: map[Kind]uint8{Shift: 2}},
	}
	all["its own partition"] = family{
		begin: func(s Setup) *State {
			if s.Kind == StatefulSet {
				s.Partition = max(s.Replicas-1, 1)
			}
			return releasing(s)
		},
		Exploration: Exploration{Offers: append(scales(1, 4), Event{Kind: PodLost, Text: "v1"}, Event{Kind: Rollback, Text: "true"},
			Event{Kind: DeleteRelease}, Event{Kind: PassDies})},
	}
	all["OnDelete"] = family{
		begin: func(s Setup) *State { s.Strategy = OnDelete; return releasing(s) },
		Exploration: Exploration{Offers: append(scales(1, 4), Event{Kind: PodLost, Text: "v1"}, Event{Kind: Rollback, Text: "true"},
			Event{Kind: DeleteRelease}, Event{Kind: PassDies}, Event{Kind: Give, Text: "v3"})},
	}
	all["OnDelete, the status is lost"] = family{
		begin:       func(s Setup) *State { s.Strategy = OnDelete; return releasing(s) },
		Exploration: Exploration{Offers: []Event{{Kind: LoseStatus}, {Kind: Rollback, Text: "true"}}},
	}
	all["several are deleted"] = family{
		begin: func(s Setup) *State {
			s.Replicas += 2
			s.Steps = Steps("50%", "100%")
			s.Graceful = true
			return releasing(s)
		},
		Exploration: Exploration{Offers: []Event{
			{Kind: PassDies}, {Kind: PassRaces}, {Kind: PodLost, Text: "v1"}, {Kind: Scale, N: 2}, {Kind: Rollback, Text: "true"}, {Kind: Restart},
		}},
	}
	all["another template and strategy"] = family{
		begin: func(s Setup) *State { return calmed(releasing(s), atStep(0)) },
		Exploration: Exploration{Offers: []Event{
			{Kind: Unpause, Text: "v9"}, {Kind: EditTemplate, Text: "v9"}, {Kind: PodLost, Text: "v1"}, {Kind: Retry}, {Kind: PassDies}, {Kind: Rollback, Text: "true"},
		}},
	}
	all["pods of another template"] = family{
		begin: func(s Setup) *State {
			w := calmed(releasing(s), atStep(0))
			for _, event := range []Event{{Kind: EditTemplate, Text: "v9"}, {Kind: PodLost, Text: "v1"}, {Kind: SyncWorkload}, {Kind: PodReady, Text: "v9"}} {
				event.Apply(w)
			}
			return w
		},
		Exploration: Exploration{Offers: []Event{{Kind: Retry}, {Kind: PassDies}, {Kind: Give, Text: "v3"}}},
	}
	all["pods go slowly, scaling"] = family{
		begin:       func(s Setup) *State { s.Graceful = true; return releasing(s) },
		Exploration: Exploration{Offers: append(scales(1, 2, 4, 5), late(1)...), Budget: map[Kind]uint8{Scale: 2}},
	}
	all["pods go slowly, stale"] = family{
		begin:       func(s Setup) *State { s.Graceful = true; return releasing(s) },
		Exploration: Exploration{Offers: append(caches("pods", WorkloadObject, ReleaseObject), Event{Kind: PodLost, Text: "v2"}, Event{Kind: Scale, N: 5})},
	}
	return all
}

// halfBack is when a rollback has replaced a pod.
func halfBack(s *State) bool {
	of := func(revision string) bool {
		return slices.ContainsFunc(s.Places, func(p Place) bool { return p.Revision == revision && p.available() })
	}
	return s.Release.Status.Rollback != nil && of("v1") && of("v2")
}

// Every kind that can be released has a model, and nothing else has.
func TestEveryKindHasAModel(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(slices.Sorted(slices.Values(workload.Kinds)), slices.Sorted(maps.Keys(models))); diff != "" {
		t.Errorf("kinds with a model (-can be released +modelled):\n%s", diff)
	}
}

// kindsWithPlaces are the kinds whose pods have places.
func kindsWithPlaces() []string {
	return slices.DeleteFunc(slices.Clone(workload.Kinds), func(kind string) bool {
		_, places := lawsOfKinds[kind].(placeKind)
		return !places
	})
}

// TestEveryOrderOfEventsOfEachKind does so for StatefulSets and DaemonSets.
func TestEveryOrderOfEventsOfEachKind(t *testing.T) {
	t.Parallel()
	for _, kind := range kindsWithPlaces() {
		for name, family := range ofPart(t, kindFamilies(kind)) {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				var states, passes, cut atomic.Int64
				setups := kindSetups(kind)
				for _, setup := range setups {
					family.Limit = nearestOfKind
					out := family.exploreTo(setup)
					if out.Fault != "" {
						t.Fatalf("%d replicas, ordered %t, several %t, maxUnavailable %s: %s",
							setup.Replicas, setup.Ordered, setup.Several, setup.MaxUnavailable.String(), out.Fault)
					}
					states.Add(int64(out.States))
					passes.Add(int64(out.Passes))
					if out.Cut {
						cut.Add(1)
					}
				}
				fmt.Printf("%-12s %-28s %8d states, %8d passes in %d cases, %d of them cut\n",
					kind, name, states.Load(), passes.Load(), len(setups), cut.Load())
			})
		}
	}
}

// TestWalksOfEachKind is TestWalks for StatefulSets and DaemonSets.
func TestWalksOfEachKind(t *testing.T) {
	t.Parallel()
	for _, kind := range kindsWithPlaces() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				w := beginKind(t, kind, rapid.Int32Range(0, 8).Draw(t, "replicas"))
				for range rapid.IntRange(0, 150).Draw(t, "events") {
					w.step(w.anything("event"))
				}
				w.calmDown()
			})
		})
	}
}

// beginKind begins a walk of another kind than Deployment.
func beginKind(t *rapid.T, kind string, replicas int32) *walk {
	setup := drawSetup(t, replicas)
	setup.Kind, setup.Strategy, setup.Paused, setup.OneVersion = kind, RollingUpdate, false, false
	setup.Ordered = kind == StatefulSet && rapid.Bool().Draw(t, "ordered")
	setup.Several = kind == StatefulSet && rapid.Bool().Draw(t, "several")
	return beginWith(t, setup)
}
