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
						s.SyncWorkload()
						Event{Kind: Pass}.Apply(s)
					}
					Event{Kind: PassDies, N: n}.Apply(s)
					died := s.writes == int(n)
					for _, e := range []Event{{Kind: Rollback, Text: "true"}, {Kind: Pass}, {Kind: LoseStatus}} {
						e.Apply(s)
					}
					s = calmed(s, func(s *State) bool { return len(s.Broken) > 0 })
					if left := s.Unfinished(); len(s.Broken) > 0 || left != "" || s.Workload.Template != "v1" {
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
