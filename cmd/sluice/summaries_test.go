package main

import (
	"regexp"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestHistoryKeepsAuthors: who wrote what was rolled back by a newer commit is in the history.
func TestHistoryKeepsAuthors(t *testing.T) {
	t.Parallel()
	s, viewer := newShopAtGate(t)
	s.push("web", 1, "3333333333aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	s.await("web", "back at version 1", func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.Phase == v1alpha1.PhaseCompleted && status.Rollback != nil
	})
	s.want(s.columns(viewer, "history"), "|web:2|RolledBack|<none>|<none>|2222222|Ada <ada@example.com>|<none>|web: version 2")
}

// newShopAtGate has version 2 released, which waits at its gate, and somebody who sees it.
func newShopAtGate(t *testing.T) (s *shop, viewer string) {
	t.Helper()
	s = newShop(t)
	s.deploy("web")
	s.push("web", 2, secondCommit)
	s.awaitGate("web")
	return s, s.viewer()
}

func isCompleted(status *v1alpha1.BatchReleaseStatus) bool {
	return status.Phase == v1alpha1.PhaseCompleted
}

// columns returns a table as it is printed, with its cells parted by bars.
func (s *shop) columns(user string, args ...string) string {
	s.Helper()
	return regexp.MustCompile(` {2,}`).ReplaceAllString(s.ok(user, args...), "|")
}
