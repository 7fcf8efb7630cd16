package sim

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/rollout/workload"
)

// TestStatusLostAnywhere clears the status before each request of each story: the laws hold, whatever was rolled back is not
// released again, and the end is a clean one, of the version that the story ends with.
func TestStatusLostAnywhere(t *testing.T) {
	t.Parallel()
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := tellWhole(s)
			for lost := (fault{event: Event{Kind: LoseStatus}}); lost.before <= whole.requests; lost.before++ {
				told := whole.faulty(lost)
				if left := told.unfinished(); left != "" || told.Workload.Template != whole.Workload.Template {
					t.Errorf("with the status lost before request %d, it runs %s, want %s; %s\n%s",
						lost.before, told.Workload.Template, whole.Workload.Template, left, told.text.String())
					return
				}
			}
		})
	}
}

// TestStatusLostInARollbackAtTheEnd: a process dies at any write with which a release ends, the release is rolled back, and the status
// is lost. The history alone says then that the version is not to be released again: it ends with the one before.
func TestStatusLostInARollbackAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, kind := range workload.Kinds {
		for passes := range 3 {
			t.Run(fmt.Sprintf("%s, pass %d", kind, passes+1), func(t *testing.T) {
				t.Parallel()
				setup := Setup{Kind: kind, Replicas: 1, Steps: Steps("1 none", "100%"), HistoryLimit: 2, MaxUnavailable: intstr.FromInt32(1)}
				for n := int32(1); ; n++ {
					s := ending(setup)
					for range 2 * passes {
						Event{Kind: SyncWorkload}.Apply(s)
						Event{Kind: Pass}.Apply(s)
					}
					Event{Kind: PassDies, N: n}.Apply(s)
					died := checkerOf(s.World).writes == int(n)
					for _, e := range []Event{{Kind: Rollback, Text: "true"}, {Kind: Pass}, {Kind: LoseStatus}} {
						e.Apply(s)
					}
					s = calmed(s, func(s *State) bool { return len(s.Broken) > 0 })
					if left := unfinished(s.World); len(s.Broken) > 0 || left != "" || s.Workload.Template != "v1" {
						t.Fatalf("after write %d it runs %s, want v1: %s, broken: %v", n, s.Workload.Template, left, s.Broken)
					}
					if !died {
						break
					}
				}
			})
		}
	}
}

// TestRollbackOfWhatNeverRanIsRecalled: the workload does not have the template of what is rolled back, and the status is lost. The
// history has it all the same, and it is not released again.
func TestRollbackOfWhatNeverRanIsRecalled(t *testing.T) {
	t.Parallel()
	base := Setup{Replicas: 2, Steps: Steps("1", "100%"), HistoryLimit: 2, MaxUnavailable: intstr.FromInt32(1)}
	for _, kind := range workload.Kinds {
		base.Kind = kind
		tests := map[string]struct {
			begin func(Setup) *State
			ends  string
		}{
			"a quota leaves no room for it": {crowded, "v2"},
			"the workload is scaled to 0":   {scaledToZero, "v1"},
		}
		if kind == StatefulSet {
			tests["OnDelete, between the two writes"] = struct {
				begin func(Setup) *State
				ends  string
			}{heldAsItIs, "v1"}
		}
		for name, test := range tests {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				s := test.begin(base)
				for _, e := range []Event{{Kind: Rollback, Text: "true"}, {Kind: Pass}, {Kind: LoseStatus}} {
					e.Apply(s)
				}
				s = calmed(s, func(s *State) bool { return len(s.Broken) > 0 })
				if left := unfinished(s.World); len(s.Broken) > 0 || left != "" || s.Workload.Template != test.ends {
					t.Errorf("it runs %s, want %s: %s, broken: %v", s.Workload.Template, test.ends, left, s.Broken)
				}
			})
		}
	}
}

// A version whose status is lost while it is taken back is rolled back from to the one that is given, and not that one to itself,
// wherever a pass has died.
func TestWhatIsTakenBackIsRecalled(t *testing.T) {
	t.Parallel()
	for _, kind := range workload.Kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			setup := Setup{Kind: kind, Replicas: 2, Steps: Steps("1", "100%"), HistoryLimit: 2, MaxUnavailable: intstr.FromInt32(1)}
			for n := int32(1); ; n++ {
				s := calmed(releasing(setup), atStep(0))
				for _, e := range []Event{{Kind: LoseStatus}, {Kind: Give, Text: "v1"}, {Kind: PassDies, N: n}} {
					e.Apply(s)
				}
				died := checkerOf(s.World).writes == int(n)
				s = calmed(s, func(s *State) bool { return len(s.Broken) > 0 })
				status, left := s.Release.Status, unfinished(s.World)
				if len(s.Broken) > 0 || left != "" || status.Rollback == nil || status.Rollback.From != "v2" || status.RolledBackTo() != "v1" {
					t.Errorf("after write %d it is rolled back to %q, %+v: %s, broken: %v", n, status.RolledBackTo(), status.Rollback, left, s.Broken)
				}
				if !died {
					break
				}
			}
		})
	}
}
