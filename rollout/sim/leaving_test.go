package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// leavers are the stories, and how those would go whose releases are deleted with the other policy.
func leavers() map[string]story {
	all := stories()
	for name, s := range stories() {
		s.setup.DeletionPolicy = v1alpha1.DeletionProceed
		all[name+", proceed"] = s
	}
	return all
}

// TestDeletedAnywhere deletes the release before each request of each story: the workload is left with the template
// that the policy names, by laws.go (I13, F28).
func TestDeletedAnywhere(t *testing.T) {
	t.Parallel()
	for name, s := range leavers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := tellWhole(s)
			for before := 1; before <= whole.requests; before++ {
				told := whole.faulty(fault{event: Event{Kind: DeleteRelease}, before: before})
				wantLeft(t, calmed(told.State, ended), fmt.Sprintf("deleted before request %d", before), &told.text)
			}
		})
	}
}

// TestLeftAnywhere has the process die after each write of each story. Then the release is deleted, and a new process
// lets go of the workload; or nobody comes, and the command does so, with the release or with what the workload bears.
func TestLeftAnywhere(t *testing.T) {
	t.Parallel()
	for name, s := range leavers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for stop := 1; ; stop++ {
				told := s.begin(stop, fault{})
				if !told.toStop() {
					return
				}
				what := fmt.Sprintf("stopped after write %d", stop)
				wantLet(t, told.State.Clone(), what, false, &told.text)
				wantLet(t, told.State.Clone(), what+", the release gone", true, &told.text)
				Event{Kind: DeleteRelease}.Apply(told.State)
				wantLeft(t, calmed(told.State, ended), what+", the release deleted", &told.text)
			}
		})
	}
}

// toStop lets the story go on until the process dies. It reports whether it does.
func (s *telling) toStop() bool {
	for range maxEvents {
		switch {
		case s.writes == s.stop:
			return true
		case s.twist(), s.turn():
		default:
			return false
		}
	}
	return false
}

// ended never is, for calmed to go on to the end.
func ended(*State) bool { return false }

// wantLeft wants a workload to be left as it should be by a release that is gone.
func wantLeft(t *testing.T, s *State, what string, story *strings.Builder) {
	t.Helper()
	if len(s.Broken) > 0 {
		t.Fatalf("%s: %s\n%s", what, s.Broken[0], story)
	}
	if left := unfinished(s.World); left != "" {
		t.Fatalf("%s: %s\n%s", what, left, story)
	}
}

// wantLet wants the command to leave the workload as the controller would.
func wantLet(t *testing.T, s *State, what string, gone bool, story *strings.Builder) {
	t.Helper()
	before, policy := s.Workload.Template, s.Release.Spec.DeletionPolicy
	if !handBackByHand(s.World, gone) || gone && policy == v1alpha1.DeletionProceed && s.Workload.Template == before {
		return // what was recorded since the annotation was written has gone with the release
	}
	if wrong := wronglyLeft(s.World, before, policy); wrong != "" {
		t.Fatalf("%s: handed back by the command: %s: %s\n%s", what, wrong, s.World, story)
	}
}
