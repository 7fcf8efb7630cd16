package devforge_test

import (
	"testing"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

func TestMergeIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	clone := w.cloneAs(w.tokens["ada"])
	base := git(t, clone, "rev-parse", "HEAD")
	w.open(clone, "topic")

	_, _, err := w.bob.PullRequests.Merge(w.ctx(), owner, web, 1, "", &github.PullRequestOptions{SHA: base})
	wantStatus(t, "a merge of another head than the one seen", err, 409)
	_, _, err = w.eve.PullRequests.Merge(w.ctx(), owner, web, 1, "", nil)
	wantStatus(t, "a merge by somebody who may not see the repository", err, 404)

	git(t, clone, "checkout", "--quiet", "main")
	w.push(clone, "main", "topic.txt", "something else\n")
	if pull := w.pull(1); pull.GetMergeable() || pull.GetMergeableState() != "dirty" {
		t.Errorf("a pull request with conflicts says so: got %t, %s", pull.GetMergeable(), pull.GetMergeableState())
	}
	_, _, err = w.bob.PullRequests.Merge(w.ctx(), owner, web, 1, "", nil)
	wantStatus(t, "a merge with conflicts", err, 405)

	_, _, err = w.bob.PullRequests.Edit(w.ctx(), owner, web, 1, &github.PullRequest{State: new("closed")})
	must(t, err)
	_, _, err = w.bob.PullRequests.Merge(w.ctx(), owner, web, 1, "", nil)
	wantStatus(t, "a merge of what is closed", err, 405)
	if merged, _, err := w.bob.PullRequests.IsMerged(w.ctx(), owner, web, 1); merged || err != nil {
		t.Errorf("what is closed is not merged: %t, %v", merged, err)
	}
}

func TestABaseThatIsRewrittenFromItsRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	clone := w.cloneAs(w.tokens["ada"])
	w.open(clone, "topic")
	git(t, clone, "checkout", "--quiet", "--orphan", "other")
	git(t, clone, "commit", "--quiet", "--message=another root")
	git(t, clone, "push", "--quiet", "--force", "origin", "other:main")

	if pull := w.pull(1); pull.GetState() != "open" || pull.GetMergeable() {
		t.Errorf("what has nothing in common can't be merged: got %s, %t", pull.GetState(), pull.GetMergeable())
	}
}

func TestAPushOfTheHeadIntoTheBaseMerges(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"--ff-only", "--no-ff"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, devforge.Options{})
			clone := w.cloneAs(w.tokens["ada"])
			w.open(clone, "topic")

			other := w.cloneAs(w.tokens["bob"])
			git(t, other, "merge", "--quiet", how, "-m", "by hand", "origin/topic")
			merge := git(t, other, "rev-parse", "HEAD")
			git(t, other, "commit", "--quiet", "--allow-empty", "--message=later")
			git(t, other, "push", "--quiet", "origin", "main")

			pull := w.pull(1)
			if !pull.GetMerged() || pull.GetMergedBy().GetLogin() != "bob" || pull.GetMergeCommitSHA() != merge {
				t.Errorf("the commit that brought the head in is the merge, and who pushed it merged: got %t by %s at %s, want %s",
					pull.GetMerged(), pull.GetMergedBy().GetLogin(), pull.GetMergeCommitSHA(), merge)
			}
			pulls, _, err := w.bob.PullRequests.ListPullRequestsWithCommit(w.ctx(), owner, web, pull.GetHead().GetSHA(), nil)
			must(t, err)
			if len(pulls) != 1 || pulls[0].GetNumber() != 1 {
				t.Errorf("a commit of the head leads to the pull request: got %v", pulls)
			}
		})
	}
}
