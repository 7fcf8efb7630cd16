package gate

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// TestMergeOfWhatSluiceWrote: a merge counts only if its head is the commit that Sluice wrote, or
// has merges of the tracked branch on top of that, whatever else the forge says.
func TestMergeOfWhatSluiceWrote(t *testing.T) {
	t.Parallel()
	const other = "07e507e507e507e507e507e507e507e507e507e5"
	own := forge.Commit{SHA: olderHead, Author: sluice, Committer: sluice, Parents: []string{releaseCommit}}
	update := forge.Commit{SHA: headCommit, Author: carol, Committer: webflow, Parents: []string{olderHead, tipCommit}}
	tests := map[string]struct {
		written string
		commits []forge.Commit
		refused bool
	}{
		"the commit itself":                      {written: headCommit},
		"a gate from before the field":           {written: ""},
		"the tracked branch merged into it":      {written: olderHead, commits: []forge.Commit{own, update}},
		"another commit":                         {written: other, commits: []forge.Commit{own, update}, refused: true},
		"commits that were not read":             {written: olderHead, refused: true},
		"the same change, rebased by a button":   {written: olderHead, commits: []forge.Commit{{SHA: headCommit, Author: sluice, Committer: carol, Parents: []string{tipCommit}}}, refused: true},
		"a commit on top":                        {written: olderHead, commits: []forge.Commit{own, {SHA: headCommit, Author: carol, Parents: []string{olderHead}}}, refused: true},
		"a merge of a commit of its own":         {written: olderHead, commits: []forge.Commit{own, {SHA: tipCommit, Author: carol, Parents: []string{olderHead}}, update}, refused: true},
		"put below another, which merges it":     {written: olderHead, commits: []forge.Commit{own, {SHA: other, Author: carol, Parents: []string{tipCommit}}, {SHA: headCommit, Author: carol, Parents: []string{other, olderHead}}}, refused: true},
		"a head that follows from itself":        {written: olderHead, commits: []forge.Commit{own, {SHA: headCommit, Parents: []string{headCommit, tipCommit}}}, refused: true},
		"an update on a commit that is not told": {written: olderHead, commits: []forge.Commit{update}, refused: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := merged(v1alpha1.PullRequestGate{})
			s.gate.Status.PullRequest.Head, s.forge.Approval.Commits = tc.written, tc.commits
			got := s.evaluate().Status
			if want := strings.Contains(got.Message, "its head is not the commit that Sluice wrote, "); want != tc.refused || (got.Decision == v1alpha1.DecisionPassed) == tc.refused {
				t.Errorf("want refused %t, got %s: %s", tc.refused, got.Decision, got.Message)
			}
		})
	}
}

// TestQueryOfWhatSluiceWrote: the client is told of the commit, so that it reads the commits of a
// pull request that ends elsewhere.
func TestQueryOfWhatSluiceWrote(t *testing.T) {
	t.Parallel()
	s := merged(v1alpha1.PullRequestGate{})
	s.gate.Status.PullRequest.Head = olderHead
	if got := Query(s.gate, s.facts()); got.Written != olderHead || got.Commits {
		t.Errorf("want the commit and no commits in any case, got %+v", got)
	}
}

// TestReviewOfNoCommit: an approval of which nobody knows the commit counts for none.
func TestReviewOfNoCommit(t *testing.T) {
	t.Parallel()
	s := reviewed()
	s.gate.Status.PullRequest.Head = headCommit
	s.forge.Approval.Reviews[1].CommitID = ""
	if got := s.evaluate().Status; got.Decision == v1alpha1.DecisionPassed || !strings.Contains(got.Message, "1 of 2 approvals is missing") {
		t.Errorf("want it not to count, got %s: %s", got.Decision, got.Message)
	}
}
