package journeys

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// never is an interval in which nothing happens within a test: only webhooks bring it on.
const never = time.Hour

// TestReleaseThroughForge: a push starts the release, a merged pull request and a green status let
// it go on, and the forge shows it all. With webhooks nothing has to be polled for.
func TestReleaseThroughForge(t *testing.T) {
	w := newForgeWorld(t, step(1, pullRequest(v1alpha1.PullRequestGate{})), step("50%", commitStatus("ci/smoke", "ci")), step("100%"))
	w.startWithForge(never, w.withWebhooks())

	commit := w.push("web:2")
	number := w.awaitPull(0)
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 9, "web:2": 1})))
	w.awaitStatus(commit, fmt.Sprintf("batch 1/3: 1/10 updated, waiting for approval #%d", number))
	opened := w.pulls()[0]
	for _, says := range []string{"web:2", commit[:7], "ada", "Merg", "Clos"} {
		if !strings.Contains(opened.Body, says) {
			t.Errorf("want the pull request to say %q, got:\n%s", says, opened.Body)
		}
	}
	merged := w.as("grace").Merge(number, "merge")

	w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 5, "web:2": 5})))
	w.wantEvidence("PullRequestMerged", "grace", merged)
	w.awaitStatus(commit, "batch 2/3: 5/10 updated, waiting for ci/smoke")
	w.as("ci").postStatus(commit, "ci/smoke", "failure")
	w.await(gateSays(1, v1alpha1.GateCommitStatus, "failure"))
	w.as("eve").postStatus(commit, "ci/smoke", "success") // who is not the one that is believed
	w.as("ci").postStatus(commit, "CI/Smoke", "success")
	w.await(all(web.completed, web.serves("web:2", 10)))
	w.wantEvidence("CommitStatus", "ci", commit)
	w.awaitStatus(commit, "success: ")
	lines := w.statuses(commit, w.context())
	// The progress of later batches is told only if nothing else has been for a while.
	told := slices.DeleteFunc(slices.Clone(lines[1:]), func(line string) bool { return strings.Contains(line, ": updating to ") })
	told = append([]string{lines[0]}, told...)
	for i, begins := range []string{"pending: batch 1/3", "pending: batch 1/3: 1/10", "pending: batch 2/3: 5/10", "success: "} {
		if len(told) != 4 || !strings.HasPrefix(told[i], begins) {
			t.Fatalf("want a status for the beginning, each gate and the outcome, got:\n%s", strings.Join(lines, "\n"))
		}
	}
	if len(slices.Compact(slices.Clone(lines))) != len(lines) {
		t.Errorf("want no status twice, got:\n%s", strings.Join(lines, "\n"))
	}
	w.awaitNoBranch(opened.Head.Ref)
	w.wantStops("1 of 10", "5 of 10")
}

// TestWithoutWebhooks: with webhooks off everything has the same result, later.
func TestWithoutWebhooks(t *testing.T) {
	w := newForgeWorld(t, step(1, pullRequest(v1alpha1.PullRequestGate{})), step("50%", commitStatus("ci/smoke", "ci")), step("100%"))
	w.startWithForge(time.Second)
	commit := w.push("web:2")
	number := w.awaitPull(0)
	w.as("grace").Merge(number, "squash")
	w.await(web.blocksAt(1))
	w.as("ci").postStatus(commit, "ci/smoke", "success")
	w.await(all(web.completed, web.serves("web:2", 10)))
	w.awaitStatus(commit, "success: ")
	w.wantStops("1 of 10", "5 of 10")
}

// TestNewCommitVoidsApproval: a new commit takes over: the pull request for the old one is closed
// with a reason, its branch goes, and approving it counts for nothing.
func TestNewCommitVoidsApproval(t *testing.T) {
	w := newForgeWorld(t, step(1, pullRequest(v1alpha1.PullRequestGate{})), step("100%"))
	w.startWithForge(never, w.withWebhooks())
	old := w.push("web:2")
	first := w.awaitPull(0)
	next := w.push("web:3")
	w.await(all(web.attempt(3), web.blocksAt(0), web.runs(pods{"web:1": 9, "web:3": 1})))
	second := w.awaitPull(0)
	if first == second {
		t.Fatalf("want another pull request for another revision, got #%d twice", first)
	}
	w.awaitStatus(old, "superseded by "+next[:7])
	w.awaitClosed(first, "web:3", next[:7])
	w.as("grace").Merge(second, "merge")
	w.await(all(web.completed, web.serves("web:3", 10)))
	w.awaitStatus(next, "success: ")
	w.awaitStatus(old, "superseded by "+next[:7])
}

// awaitClosed waits until a pull request is closed, with a comment that says one of these.
func (w *forgeWorld) awaitClosed(number int64, says ...string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		var found struct{ State string }
		w.as("ada").Do("GET", fmt.Sprintf("pulls/%d", number), nil, &found)
		if found.State != "closed" {
			return fmt.Errorf("want pull request #%d closed", number)
		}
		return nil
	})
	var comments []struct {
		Body string
		User struct{ Login string }
	}
	w.as("ada").Do("GET", fmt.Sprintf("issues/%d/comments", number), nil, &comments)
	if len(comments) != 1 || comments[0].User.Login != "sluice" ||
		!slices.ContainsFunc(says, func(text string) bool { return strings.Contains(comments[0].Body, text) }) {
		w.Errorf("want one comment of sluice that says one of %q, got %+v", says, comments)
	}
}

// TestApprovalWithoutForge: on a plain Git server the record on the branch is the approval, and the
// status says what was not checked.
func TestApprovalWithoutForge(t *testing.T) {
	w := newForgeWorld(t, step(1, pullRequest(v1alpha1.PullRequestGate{MinApprovals: 2})), step("100%"))
	w.startWithForge(time.Second, func(s *v1alpha1.ReleaseSource) { s.Spec.Forge = nil })
	w.push("web:2")
	w.await(func(s *scene) error {
		gate := s.gateOf("web", 0, v1alpha1.GatePullRequest)
		if gate == nil || gate.Status.Record == nil {
			return fmt.Errorf("want a gate that gives its record, got %+v", gate)
		}
		return nil
	})
	file := w.now().gateOf("web", 0, v1alpha1.GatePullRequest).Status.Record
	w.write("ada", "main", file.Path, []byte(strings.Replace(file.Content, "nonce: ", "nonce: x", 1)))
	w.requestSync()
	w.await(web.blocksAt(0))
	merged := w.write("ada", "main", file.Path, []byte(file.Content))
	w.await(all(web.completed, web.serves("web:2", 10)))
	w.wantEvidence("RecordMerged", "", merged)
	w.await(func(s *scene) error {
		for _, gate := range s.gates {
			if !strings.Contains(gate.Status.Message, "could be checked") {
				return fmt.Errorf("want the gate to say what was not checked, got %q", gate.Status.Message)
			}
		}
		return nil
	})
}

// TestBadTemplateIsReported: a template that the API server refuses is reported on its commit, and
// stops nothing that is in progress.
func TestBadTemplateIsReported(t *testing.T) {
	w := newForgeWorld(t, step(1, pullRequest(v1alpha1.PullRequestGate{})), step("100%"))
	w.startWithForge(never, w.withWebhooks())
	good := w.push("web:2")
	number := w.awaitPull(0)
	bad := w.write("ada", "main", "web.yaml", []byte(strings.Replace(string(w.deploymentFile("web:3")), "image:", "imaeg:", 1)))
	w.awaitStatus(bad, "failure: the API server refuses spec.template")
	w.awaitStatus(good, fmt.Sprintf("waiting for approval #%d", number))
	mended := w.push("web:3")
	w.awaitStatus(good, "superseded by "+mended[:7])
	w.awaitStatus(mended, "pending: ")
	if lines := w.statuses(bad, w.context()); len(lines) != 1 {
		t.Errorf("want one status on the bad commit, got %q", lines)
	}
	w.as("grace").Merge(w.awaitPull(0), "merge")
	w.await(all(web.completed, web.serves("web:3", 10)))
	w.awaitStatus(mended, "success: ")
}

// wantEvidence awaits a gate of the release that rests on a fact of that kind. The journal may have
// the release before its gates.
func (w *forgeWorld) wantEvidence(kind, actor, sha string) {
	w.Helper()
	w.await(func(s *scene) error {
		var seen []v1alpha1.Evidence
		for _, gate := range s.gates {
			for _, fact := range gate.Status.Evidence {
				if fact.Kind == kind && fact.Actor == actor && (sha == "" || fact.SHA == sha) && fact.Time != nil {
					return nil
				}
			}
			seen = append(seen, gate.Status.Evidence...)
		}
		return fmt.Errorf("want evidence %s by %q of %s, got %+v", kind, actor, sha, seen)
	})
}

// TestAskedAnew: a pull request that was merged in a way that the policy does not accept is
// requested again when its Gate is deleted.
func TestAskedAnew(t *testing.T) {
	w := newForgeWorld(t, step(1, pullRequest(v1alpha1.PullRequestGate{Approvers: []string{"grace"}})), step("100%"))
	w.startWithForge(never, w.withWebhooks())
	w.push("web:2")
	first := w.awaitPull(0)
	w.as("eve").Merge(first, "merge")
	w.await(gateSays(0, v1alpha1.GatePullRequest, "kubectl delete gate "))
	stuck := w.now().gateOf("web", 0, v1alpha1.GatePullRequest)
	w.kubectl("delete", "gate", stuck.Name)
	w.await(func(s *scene) error {
		gate := s.gateOf("web", 0, v1alpha1.GatePullRequest)
		if gate == nil || gate.UID == stuck.UID || gate.Status.PullRequest == nil || gate.Status.PullRequest.Number == 0 {
			return fmt.Errorf("want another gate with another pull request, got %+v", gate)
		}
		return nil
	})
	second := w.awaitPull(0)
	if first == second {
		t.Fatalf("want another pull request than #%d", first)
	}
	w.as("grace").Merge(second, "merge")
	w.await(all(web.completed, web.serves("web:2", 10)))
}
