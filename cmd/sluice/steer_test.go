package main

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestSteer: an operator stops a release, lets it go on, jumps, and rolls back to what was before
// and to what is named.
func TestSteer(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	operator, approver, viewer := s.person("operator", "sluice-operator"), s.person("approver", "sluice-approver", "view"), s.viewer()
	s.deploy("web")
	says := func(want string, args ...string) {
		t.Helper()
		if got := s.ok(operator, args...); got != "batchrelease.rollouts.sluice.dev/web "+want+"\n" {
			t.Errorf("sluice %v: want %q, got %q", args, want, got)
		}
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if got := s.as(operator, args...); got.code != exitError {
			t.Errorf("sluice %v: want exit code %d, got %d", args, exitError, got.code)
		} else {
			s.want(got.stderr, want)
		}
	}
	for _, verb := range [][]string{{"pause"}, {"rollback"}, {"jump", "web", "2"}} {
		if got := s.as(viewer, verb...); got.code != exitError {
			t.Errorf("sluice %v: want exit code %d for who may not, got %d", verb, exitError, got.code)
		}
	}
	s.want(s.as(approver, "pause").stderr, `cannot patch resource "batchreleases"`)
	refused("there is no earlier template to go back to", "rollback")
	refused("there is nothing to try again: all pods run revision", "retry")
	refused("it is not paused", "resume")
	refused("no release is in progress", "jump", "web", "2")

	says("paused", "pause", "web")
	refused("it is paused already", "pause")
	first := s.release("web").Status.UpdateRevision
	s.push("web", 2, secondCommit)
	s.await("web", "standing", func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.Queued != nil || status.Reason == v1alpha1.ReasonSuspended
	})
	says("resumed (dry run)", "resume", "--dry-run=client")
	says("resumed", "resume")
	s.awaitGate("web")
	refused("there are batches 1 to 2", "jump", "3")
	says("goes from batch 1/2 to batch 2/2", "jump", "web", "2")
	completed := func(revision func(string) bool) func(*v1alpha1.BatchReleaseStatus) bool {
		return func(status *v1alpha1.BatchReleaseStatus) bool {
			return status.Phase == v1alpha1.PhaseCompleted && revision(status.UpdateRevision)
		}
	}
	second := s.await("web", "at version 2", completed(func(r string) bool { return r != first })).Status.UpdateRevision

	refused(`no revision or commit "abcdef0" is in the history; choose one of `+second+" (commit 2222222), "+first, "rollback", "--to=abcdef0")
	refused("already runs", "undo", "--to-revision=2")
	says("rolling back to "+first, "rollback", "--wait=false")
	s.await("web", "back at version 1", completed(func(r string) bool { return r == first }))
	refused("was rolled back itself", "undo", "--to-revision=2")
	s.push("web", 3, "3333333333aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	s.awaitGate("web")
	says("rolling back to "+first, "undo", "web", "--to-revision=1")
	s.await("web", "back at version 1", completed(func(r string) bool { return r == first }))
}
