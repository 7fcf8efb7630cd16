package sim

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// policed is a release of v2, whose template has the stamp blue of a policy. What ran before has
// none.
func policed(setup Setup) *State {
	setup.Policied = true
	s := newState(setup)
	Event{Kind: Admit, Text: "blue"}.Apply(s)
	Event{Kind: Give, Text: "v2"}.Apply(s)
	return s
}

// policedSince is a release of v3 at its first gate, after one of v2 before the policy changed.
// Pods of v3 never come up if it is sick.
func policedSince(sick bool) func(Setup) *State {
	return func(setup Setup) *State {
		s := calmed(policed(setup), ended)
		Event{Kind: Admit, Text: "green"}.Apply(s)
		Event{Kind: Give, Text: "v3"}.Apply(s)
		if sick {
			s.Sick = "v3@green"
			return s
		}
		return calmed(s, atStep(0))
	}
}

// policyFamilies are about a policy that writes into the templates of workloads, and what it writes
// changes.
func policyFamilies() map[string]family {
	rollback := Event{Kind: Rollback, Text: "true"}
	return map[string]family{
		"a policy changes": {
			begin: policed,
			Exploration: Exploration{
				Offers: []Event{{Kind: Admit, Text: "green"}, {Kind: Admit}, {Kind: TouchWorkload}, {Kind: PassDies}, {Kind: Give, Text: "v3"}},
				Budget: map[Kind]uint8{Admit: 2},
			},
		},
		"a policy changes, midway": {
			begin: func(s Setup) *State { return calmed(policed(s), inStep(1)) },
			Exploration: Exploration{
				Offers: []Event{{Kind: Admit, Text: "green"}, {Kind: TouchWorkload}, {Kind: PassRaces}, rollback, {Kind: Cure}, {Kind: EditTemplate, Text: "v9"}},
			},
		},
		"a policy changes, rolled back": {
			begin:       policedSince(false),
			Exploration: Exploration{Offers: []Event{rollback, {Kind: Admit, Text: "red"}, {Kind: Cure}, {Kind: Elapse}, {Kind: Give, Text: "v2"}, {Kind: PassDies}}},
		},
		"a policy changes, turned round": {
			begin:       func(s Setup) *State { return policedSince(true)(s.turning()) },
			Exploration: Exploration{Offers: []Event{{Kind: Elapse}, {Kind: Cure}, {Kind: TouchWorkload}, {Kind: Give, Text: "v2"}, {Kind: PassDies}}},
		},
		"a policy changes, it goes": {
			begin:       policedSince(false),
			Exploration: Exploration{Offers: []Event{{Kind: DeleteRelease}, rollback, {Kind: PassDies}, {Kind: Cure}, {Kind: Admit, Text: "red"}}},
		},
		"a policy changes at rest": {
			begin:       func(s Setup) *State { return calmed(policed(s), ended) },
			Exploration: Exploration{Offers: []Event{{Kind: Admit, Text: "green"}, {Kind: TouchWorkload}, rollback, {Kind: Give, Text: "v3"}, {Kind: PassDies}}},
		},
	}
}

// TestPolicyChanges holds what policies that change make of templates against the laws, for
// workloads of each kind.
func TestPolicyChanges(t *testing.T) {
	t.Parallel()
	for _, kind := range workload.Kinds {
		all := kindSetups(kind)
		if kind == Deployment {
			all = setups()
		}
		for name, family := range policyFamilies() {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				family.Limit = nearestOfKind
				for _, setup := range all {
					if out := family.explore(setup); out.Fault != "" {
						t.Fatalf("%d replicas, maxUnavailable %s: %s", setup.Replicas, setup.MaxUnavailable.String(), out.Fault)
					}
				}
			})
		}
	}
}

// TestWalksUnderPolicies is TestWalks where policies change what they make of templates.
func TestWalksUnderPolicies(t *testing.T) {
	t.Parallel()
	for _, kind := range workload.Kinds {
		for replicas := range int32(5) {
			t.Run(fmt.Sprintf("%s, %d replicas", kind, replicas), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					w := beginWith(t, policedSetup(t, kind, replicas))
					for range rapid.IntRange(0, 100).Draw(t, "events") {
						w.step(w.anything("event"))
					}
					w.calmDown()
				})
			})
		}
	}
}

func policedSetup(t *rapid.T, kind string, replicas int32) Setup {
	setup := drawSetup(t, replicas)
	if setup.Policied = true; kind != Deployment {
		setup.Kind, setup.Strategy, setup.Paused, setup.Newborn, setup.OneVersion = kind, "", false, false, false
		setup.Ordered = rapid.Bool().Draw(t, "ordered")
	}
	return setup
}

// TestPolicyChangesForGood has a policy change at each moment of a release, and stay so. The
// release completes, or says what admission changes, and its status names the version that runs.
// Once the policy is undone, the release completes.
func TestPolicyChangesForGood(t *testing.T) {
	t.Parallel()
	for _, kind := range workload.Kinds {
		for _, touched := range []bool{false, true} {
			for name, setup := range map[string]Setup{"holds": ten("1", "50% none", "100%").of(4), "turns back": ten("1", "50% none", "100%").of(4).turning()} {
				t.Run(fmt.Sprintf("%s, %s, touched %t", kind, name, touched), func(t *testing.T) {
					t.Parallel()
					setup.Kind = kind
					last := policed(setup)
					for state := last; state != nil; state, _ = Calm(state) {
						policyChangesForGood(t, state.Clone(), touched)
						last = state
					}
					policyChangesForGood(t, last.Clone(), touched) // at rest
				})
			}
		}
	}
}

func policyChangesForGood(t *testing.T, s *State, touched bool) {
	t.Helper()
	from := s.String()
	Event{Kind: Admit, Text: "green"}.Apply(s)
	if touched {
		Event{Kind: TouchWorkload}.Apply(s)
	}
	for range 3 { // until nothing happens any more, and then a deadline later
		s.withoutCure(t)
		Event{Kind: Elapse}.Apply(s)
	}
	judgeNamed(s.World)
	status := s.Release.Status
	switch {
	case len(s.Broken) > 0:
		t.Fatalf("from %s on: %s", from, s.Broken[0])
	case status.Phase != v1alpha1.PhaseCompleted && !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled):
		t.Fatalf("from %s on: it stands as %s and says nothing: %s", from, s.World, status.Message)
	}
	Event{Kind: Cure}.Apply(s)
	Event{Kind: Retry}.Apply(s)
	if s = calmed(s, ended); unfinished(s.World) != "" || len(s.Broken) > 0 {
		t.Fatalf("from %s on: cured it ends as %s: %s, broken: %v", from, s.World, unfinished(s.World), s.Broken)
	}
}
