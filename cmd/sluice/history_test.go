package main

import (
	"regexp"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestHistory: the command prints what ran, what was released and what is in progress, and all of
// one release.
func TestHistory(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer := s.viewer()
	s.deploy("web", v1alpha1.GatePolicy{None: &v1alpha1.NoGate{}})
	s.push("web", 2, secondCommit)
	s.await("web", "at version 2", func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.Phase == v1alpha1.PhaseCompleted && status.Commit == secondCommit
	})

	got := regexp.MustCompile(` {2,}`).ReplaceAllString(s.ok(viewer, "history"), "|")
	got = regexp.MustCompile(`\|\d+s\|`).ReplaceAllString(got, "|seconds|")
	s.want(got, "CURRENT|NUMBER|REVISION|IMAGES|OUTCOME|WHEN|TOOK|COMMIT|AUTHOR|APPROVED BY|SUBJECT\n", "\n|1|", "|web:1|Released|",
		"|web:2|Released|", " ago|seconds|2222222|Ada <ada@example.com>|<none>|web: version 2\n", "*|2|")
	got = s.ok(viewer, "history", "web", "--revision=2222222")
	s.want(got, "Number:       2\n", "Commit:       "+secondCommit+"\n", "Images:       web:2\n")
	s.want(s.ok(viewer, "history", "batchrelease/web", "--revision=1", "-o", "yaml"), "kind: ControllerRevision", "image: web:1")
	if got := s.as(viewer, "history", "--revision=9"); got.code != exitError {
		t.Errorf("want exit code %d for what is not kept, got %d", exitError, got.code)
	}
	s.want(s.completes(viewer, "history", ""), "web\tCompleted\n")
	s.want(s.as(viewer, "history", "api").stderr, `"api" not found`)
}
