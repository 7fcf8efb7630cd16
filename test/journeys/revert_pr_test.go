package journeys

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestClosedApprovalRollsBack: where the policy says so, closing the pull request of an approval
// rolls back. The commit shows why, and Git is asked to follow.
func TestClosedApprovalRollsBack(t *testing.T) {
	policy := pullRequest(v1alpha1.PullRequestGate{})
	policy.OnReject = v1alpha1.RejectRollback
	w := newForgeWorld(t, step(2, policy), step("100%"))
	w.startWithForge(never, w.withWebhooks())
	bad := w.push("web:2")
	approval := w.awaitPull(0)
	w.await(web.blocksAt(0))
	if body := w.pulls()[0].Body; !strings.Contains(body, "the release is rolled back") {
		t.Errorf("want the pull request to say what closing does, got:\n%s", body)
	}
	w.as("grace").setState(approval, "closed")
	w.await(all(web.completed, web.serves("web:1", 10)))
	revert := w.awaitRevert(v1alpha1.RevertOpen)
	w.awaitStatus(bad, fmt.Sprintf("failure: rolled back to %s, merge #%d to update Git: ", revert.To, revert.PullRequest.Number))
	if lines := w.statuses(bad, w.context()); !strings.Contains(lines[len(lines)-1], "was closed") {
		t.Errorf("want the commit to show why it was rolled back, got %q", lines)
	}
}

// awaitRevert waits until the release's revert is in a state.
func (w *forgeWorld) awaitRevert(state v1alpha1.RevertState) v1alpha1.Revert {
	w.Helper()
	var revert v1alpha1.Revert
	w.await(func(s *scene) error {
		r := s.releases["web"]
		if r == nil || r.Status.Revert == nil || r.Status.Revert.State != state {
			return fmt.Errorf("want a revert that is %s, got %+v", state, r)
		}
		revert = *r.Status.Revert
		return nil
	})
	return revert
}

// contents returns the contents of a file on a branch.
func (w *forgeWorld) contents(branch, path string) string {
	w.Helper()
	var file struct{ Content string }
	w.as("ada").Do("GET", "contents/"+path+"?ref="+branch, nil, &file)
	data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(file.Content, "\n", ""))
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

func (w *forgeWorld) awaitNoBranch(name string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		if status := w.as("ada").Try("GET", "git/ref/heads/"+name, nil, nil); status != 404 {
			return fmt.Errorf("want branch %s gone, got %d", name, status)
		}
		return nil
	})
}
