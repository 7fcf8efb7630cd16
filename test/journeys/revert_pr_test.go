package journeys

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestRevertPullRequest: after a rollback Sluice proposes to Git what the cluster has. Merging that
// makes the two agree: no pod is replaced, and the template is no longer quarantined.
func TestRevertPullRequest(t *testing.T) {
	w := newForgeWorld(t, step(2, pullRequest(v1alpha1.PullRequestGate{})), step("100%"))
	w.startWithForge(never, w.withWebhooks())
	good := w.contents("main", "web.yaml")
	commented := strings.Replace(strings.ReplaceAll(good, "web:1", "web:2"), "kind:", "# ours\nkind:", 1)
	bad := w.write("ada", "main", "web.yaml", []byte(commented))
	approval := w.awaitPull(0)
	w.await(web.blocksAt(0))
	w.rollBack()
	w.await(all(web.completed, web.serves("web:1", 10), web.attempt(3)))

	revert := w.awaitRevert(v1alpha1.RevertOpen)
	proposed := w.pulls()[1]
	if proposed.Number != revert.PullRequest.Number || proposed.Number == approval || proposed.User.Login != "sluice" {
		t.Fatalf("want a pull request of its own, got %+v and %+v", revert, proposed)
	}
	for _, says := range []string{bad, revert.From, revert.To, "rollback", "`+ - image: web:1`", "Merge", "Close"} {
		if !strings.Contains(proposed.Body, says) {
			t.Errorf("want the pull request to say %q, got:\n%s", says, proposed.Body)
		}
	}
	if got, want := w.contents(proposed.Head.Ref, "web.yaml"), strings.Replace(good, "kind:", "# ours\nkind:", 1); got != want {
		t.Errorf("want the template put back and the rest as it was, got:\n%s", got)
	}

	w.as("grace").Merge(proposed.Number, "merge")
	w.awaitRevert(v1alpha1.RevertMerged)
	w.await(all(web.completed, web.serves("web:1", 10), web.attempt(3), web.status("no quarantine", func(s *v1alpha1.BatchReleaseStatus) bool {
		return len(s.Quarantined) == 0
	})))
	w.awaitNoBranch(proposed.Head.Ref)
	w.awaitStatus(bad, "failure: rolled back to "+revert.To+": ")
	w.awaitStatus(w.now().releases["web"].Status.Commit, "success: reverted to "+revert.To)
	if n := len(w.pulls()); n != 2 {
		t.Errorf("want no more pull requests, got %d", n)
	}
}

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
