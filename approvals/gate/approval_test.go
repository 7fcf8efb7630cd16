package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/forge"
)

func TestAMergeThatKeepsEveryRulePasses(t *testing.T) {
	t.Parallel()
	mergedBy := func(who forge.Account) v1alpha1.Evidence {
		return v1alpha1.Evidence{
			Kind: EvidencePullRequestMerged, Actor: who.Login, ActorID: who.ID, ID: 12, SHA: mergeCommit, URL: pullURL,
			Time:   new(metav1.NewTime(mergedAt)),
			Detail: "put .sluice/approvals/shop/web.yaml (blob " + recordBlob + ") onto branch main",
		}
	}
	reviewBy := func(id int64, who forge.Account) v1alpha1.Evidence {
		return v1alpha1.Evidence{
			Kind: EvidenceReview, Actor: who.Login, ActorID: who.ID, ID: id, SHA: headCommit, URL: pullURL + "#pullrequestreview",
			Time: new(metav1.NewTime(made.Add(time.Duration(id) * time.Second))), Detail: "approved pull request #12",
		}
	}
	tests := map[string]struct {
		scene   approving
		message string
		facts   []v1alpha1.Evidence
	}{
		"the merge alone": {
			merged(v1alpha1.PullRequestGate{}), "pull request #12 was merged by carol", []v1alpha1.Evidence{mergedBy(carol)},
		},
		"a merge by one who may": {
			mergeAlone(), "pull request #12 was merged by carol", []v1alpha1.Evidence{mergedBy(carol)},
		},
		"reviews": {
			reviewed(), "pull request #12 was merged by ada with 2 of 2 approvals",
			[]v1alpha1.Evidence{mergedBy(ada), reviewBy(100, carol), reviewBy(101, dave)},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := Decision{Status: v1alpha1.GateStatus{
				Decision: v1alpha1.DecisionPassed, Message: tc.message, Evidence: tc.facts,
				PullRequest: tc.scene.gate.Status.PullRequest, DecidedAt: new(metav1.NewTime(made.Add(time.Hour))),
			}}
			if diff := cmp.Diff(want, tc.scene.evaluate()); diff != "" {
				t.Errorf("the status must be whole, with who, what, when and where (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatKeepsNoRuleFromHolding: what is different from one good approval to the next.
func TestWhatKeepsNoRuleFromHolding(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene  func() approving
		change func(approving)
	}{
		"a merge commit is the tip": {mergeAlone, func(s approving) { s.source.Status.ObservedCommit = mergeCommit }},
		"a squash or a rebase makes another commit": {mergeAlone, func(s approving) {
			s.pull.MergeCommit = "5905459054590545905459054590545905459054"
		}},
		"a record that was there for an earlier step is changed": {mergeAlone, func(s approving) {
			s.forge.Approval.Files[0].Status = forge.FileModified
		}},
		"records of other releases are on the branch too": {mergeAlone, func(s approving) {
			s.source.Status.Approvals = append([]v1alpha1.ApprovalRecord{{Namespace: "shop", Release: "api"}}, s.source.Status.Approvals...)
		}},
		"a source that names no branch follows main":      {mergeAlone, func(s approving) { s.source.Spec.Ref.Branch = "" }},
		"it was closed and opened again before the merge": {mergeAlone, func(s approving) { s.gate.Status.Decision = v1alpha1.DecisionRejected }},
		"somebody of the team merges":                     {mergeAlone, func(s approving) { s.pull.MergedBy = dave }},
		"an account that has another login now": {mergeAlone, func(s approving) {
			s.pull.MergedBy = forge.Account{ID: carol.ID, Login: "caroline"}
		}},
		"who is behind the release is known by its pull request alone": {mergeAlone, func(s approving) {
			s.forge.Approval.Release = originOf(forge.Account{}, forge.Account{})
			s.forge.Approval.Release.PullRequests = []forge.PullRequest{{Number: 3, Merged: true, Author: ada}}
		}},
		"nobody need be known where everybody may": {mergeAlone, func(s approving) {
			s.policy.ForbidSelfApproval, s.forge.Approval.Release = false, forge.ReleaseOrigin{}
		}},
		"those behind the release may approve where that is not forbidden": {reviewed, func(s approving) {
			s.policy.ForbidSelfApproval, s.forge.Approval.Release = false, originOf(carol, dave)
		}},
		"anybody else's review changes nothing": {reviewed, func(s approving) {
			s.also(says(200, mallory, forge.ReviewChangesRequested), says(201, forge.Account{}, forge.ReviewChangesRequested))
		}},
		"a comment takes no approval back": {reviewed, func(s approving) {
			s.also(says(200, carol, forge.ReviewCommented), says(201, carol, forge.ReviewPending))
		}},
		"an approval comes after a request for changes": {reviewed, func(s approving) {
			s.forge.Approval.Reviews = append([]forge.Review{says(90, carol, forge.ReviewChangesRequested)}, s.forge.Approval.Reviews...)
		}},
		"the ids say which review is the latest": {reviewed, func(s approving) { s.also(says(90, carol, forge.ReviewDismissed)) }},
		"more approvals than are needed":         {reviewed, func(s approving) { s.policy.MinApprovals = 1 }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene := tc.scene()
			tc.change(scene)
			if got := scene.evaluate().Status; got.Decision != v1alpha1.DecisionPassed {
				t.Errorf("it must pass, got %s: %s", got.Decision, got.Message)
			}
		})
	}
}

// broken is a way in which a whole approval breaks one rule.
type broken struct {
	scene  func() approving
	change func(approving)
	// want is the message, from behind "pull request #12 was merged, but ".
	want string
}

// brokenRules break one rule each: it alone keeps the gate shut.
func brokenRules() map[string]broken {
	const (
		anew  = ": delete this Gate to ask anew"
		still = ": approve it now, which still counts, or delete this Gate to ask anew"
		one   = "1 of 2 approvals is missing"
	)
	onBranch := func(change func(*v1alpha1.ApprovalRecord)) func(approving) {
		return func(s approving) { change(&s.source.Status.Approvals[0]) }
	}
	file := func(change func(*forge.ChangedFile)) func(approving) {
		return func(s approving) { change(&s.forge.Approval.Files[0]) }
	}
	mergedBy := func(who forge.Account) func(approving) { return func(s approving) { s.pull.MergedBy = who } }
	review := func(change func(*forge.Review)) func(approving) {
		return func(s approving) { change(&s.forge.Approval.Reviews[1]) }
	}
	by := func(who forge.Account) func(approving) { return review(func(r *forge.Review) { r.Reviewer = who }) }
	return map[string]broken{
		"wrong base branch":      {mergeAlone, func(s approving) { s.pull.Base.Ref = "staging" }, "into staging, not into main" + anew},
		"another repository":     {mergeAlone, func(s approving) { s.pull.Base.RepositoryID = 8 }, "not into the repository of the ReleaseSource" + anew},
		"the repository unknown": {mergeAlone, func(s approving) { s.pull.Base.RepositoryID, s.forge.Approval.Repository.ID = 0, 0 }, "not into the repository of the ReleaseSource" + anew},

		"opened by somebody else":   {mergeAlone, func(s approving) { s.pull.Author = mallory }, "it was opened by mallory, not by Sluice's account" + anew},
		"merged by our own account": {func() approving { return merged(v1alpha1.PullRequestGate{}) }, mergedBy(sluice), "by Sluice's own account sluice[bot], which approves nothing" + anew},
		"merged by nobody known":    {func() approving { return merged(v1alpha1.PullRequestGate{}) }, mergedBy(forge.Account{Login: "ghost"}), "it is not known by whom" + anew},

		"other file touched": {mergeAlone, func(s approving) {
			s.forge.Approval.Files = append(s.forge.Approval.Files, forge.ChangedFile{Path: "deploy/web.yaml", Status: forge.FileModified})
		}, "it touches 2 files instead of .sluice/approvals/shop/web.yaml alone" + anew},
		"another file":     {mergeAlone, file(func(f *forge.ChangedFile) { f.Path = ".sluice/approvals/shop/api.yaml" }), "it does something else than to write " + recordPath + anew},
		"the file removed": {mergeAlone, file(func(f *forge.ChangedFile) { f.Status = forge.FileRemoved }), "it does something else than to write " + recordPath + anew},
		"the file renamed": {mergeAlone, file(func(f *forge.ChangedFile) { f.PreviousPath = "old.yaml" }), "it does something else than to write " + recordPath + anew},
		"the file a link":  {mergeAlone, file(func(f *forge.ChangedFile) { f.Status = forge.FileChanged }), "it does something else than to write " + recordPath + anew},

		"a record for another release":  {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Release = "api" }), "Git does not show its record on branch main yet"},
		"a record for another revision": {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Revision = "58d4" }), "Git does not show its record on branch main yet: of the one there, it is for revision 58d4"},
		"a record for another commit":   {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Commit = "c0ffee" }), "Git does not show its record on branch main yet: of the one there, it is for commit c0ffee"},
		"a record for another step":     {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Step = 0 }), "Git does not show its record on branch main yet: of the one there, it is for step 1"},
		"a record with another nonce":   {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Nonce = "0" }), "Git does not show its record on branch main yet: of the one there, it is for another gate of this step"},
		"record changed after the review": {
			mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Blob = "another" }),
			"the record on branch main is not the file of the pull request: put that back, or delete this Gate to ask anew",
		},
		"a merge that is not on the tracked branch": {
			mergeAlone, func(s approving) { s.forge.Approval.OnTracked = false },
			"the merge is not on branch main as it was read: put it back, or delete this Gate to ask anew",
		},
		"a record that came with the release commit": {
			mergeAlone, func(s approving) { s.pull.MergeCommit = releaseCommit }, "the record came with the release commit itself" + anew,
		},
		"a merge that made nothing known": {mergeAlone, func(s approving) { s.pull.MergeCommit = "" }, "it is not known what the merge made of the branch" + anew},

		"merged by one who is not listed":          {mergeAlone, mergedBy(mallory), "by mallory, who is not one of the approvers" + anew},
		"merged by a login that changed hands":     {mergeAlone, mergedBy(forge.Account{ID: 67, Login: "carol"}), "by carol, who is not one of the approvers" + anew},
		"merged by the author of the release":      {mergeAlone, func(s approving) { s.forge.Approval.Release = originOf(carol, webflow) }, "by carol, who is behind the release" + anew},
		"merged by the committer of the release":   {mergeAlone, func(s approving) { s.forge.Approval.Release = originOf(ada, carol) }, "by carol, who is behind the release" + anew},
		"merged by who proposed the release":       {mergeAlone, func(s approving) { s.forge.Approval.Release.PullRequests = []forge.PullRequest{{Author: carol}} }, "by carol, who is behind the release" + anew},
		"nobody known behind the release":          {mergeAlone, func(s approving) { s.forge.Approval.Release = originOf(forge.Account{}, webflow) }, unknownAuthor},
		"a committer of the release who is nobody": {mergeAlone, func(s approving) { s.forge.Approval.Release = originOf(ada, forge.Account{}) }, unknownAuthor},
		"a proposal that brought nothing in": {mergeAlone, func(s approving) {
			s.forge.Approval.Release = originOf(forge.Account{}, webflow)
			s.forge.Approval.Release.PullRequests = []forge.PullRequest{{Author: ada}}
		}, unknownAuthor},
		"another commit than the released one": {mergeAlone, func(s approving) { s.forge.Approval.Release.Commit.SHA = headCommit }, "it is not known which commit is released, and so not who must not approve it"},

		"too few approvals":                {reviewed, func(s approving) { s.forge.Approval.Reviews = s.forge.Approval.Reviews[:1] }, one + still},
		"no approvals":                     {reviewed, func(s approving) { s.forge.Approval.Reviews = nil }, "2 of 2 approvals are missing" + still},
		"two approvals of one":             {reviewed, by(carol), one + still},
		"stale approval at an older head":  {reviewed, review(func(r *forge.Review) { r.CommitID = olderHead }), one + " (dave approved an older head)" + still},
		"an approval of no commit":         {reviewed, func(s approving) { s.pull.Head.SHA = ""; s.forge.Approval.Reviews[0].CommitID = "" }, "2 of 2 approvals are missing (carol approved an older head, dave approved an older head)" + still},
		"dismissed review":                 {reviewed, review(func(r *forge.Review) { r.State = forge.ReviewDismissed }), one + " (dave had the review dismissed)" + still},
		"a later review dismissed":         {reviewed, func(s approving) { s.also(says(200, dave, forge.ReviewDismissed)) }, one + " (dave had the review dismissed)" + still},
		"changes requested after approval": {reviewed, func(s approving) { s.also(says(200, dave, forge.ReviewChangesRequested)) }, one + " (dave asked for changes)" + still},
		"a review of a kind that is new":   {reviewed, review(func(r *forge.Review) { r.State = "ENDORSED" }), one + " (dave did not approve)" + still},
		"reviewer outside users and teams": {reviewed, by(mallory), one + " (mallory is not one of the approvers)" + still},
		"a reviewer who is nobody":         {reviewed, by(forge.Account{Login: "dave"}), one + still},
		"a review of our own":              {reviewed, func(s approving) { s.list(sluice); by(sluice)(s) }, one + " (sluice[bot] opened the pull request)" + still},
		"a review of one who pushed to the pull request": {reviewed, func(s approving) {
			s.forge.Approval.Commits = append(s.forge.Approval.Commits, forge.Commit{SHA: olderHead, Author: dave, Committer: webflow})
		}, one + " (dave made a commit of the pull request)" + still},
		"a review of one who committed to it": {reviewed, func(s approving) { s.forge.Approval.Commits[0].Committer = dave }, one + " (dave made a commit of the pull request)" + still},
		"commits that were not read":          {reviewed, func(s approving) { s.forge.Approval.Commits = nil }, "who made its commits is not known"},
		"self-approval where forbidden":       {reviewed, func(s approving) { s.forge.Approval.Release = originOf(dave, webflow) }, one + " (dave is behind the release)" + still},
		"self-approval by the committer":      {reviewed, func(s approving) { s.forge.Approval.Release = originOf(ada, dave) }, one + " (dave is behind the release)" + still},
		"self-approval by who proposed it": {reviewed, func(s approving) {
			s.forge.Approval.Release.PullRequests = []forge.PullRequest{{Author: dave}}
		}, one + " (dave is behind the release)" + still},
		"an approver whose account is not known": {reviewed, func(s approving) { s.forge.Approval.Approvers = []forge.Account{{Login: "carol"}} }, one + " (carol is not one of the approvers)" + still},
		"one who has left the team":              {reviewed, func(s approving) { s.forge.Approval.Teams[0].Members = nil }, one + " (dave is not one of the approvers)" + still},
	}
}

const unknownAuthor = "the forge has no account for the author or committer of 1e1001e, and they must not approve it: " +
	"release by a pull request, or with an address of an account"

// list lets somebody approve.
func (s approving) list(who forge.Account) {
	s.policy.Approvers = append(s.policy.Approvers, who.Login)
	s.forge.Approval.Approvers = append(s.forge.Approval.Approvers, who)
}

func TestEveryRuleAloneKeepsTheGateShut(t *testing.T) {
	t.Parallel()
	for name, tc := range brokenRules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene := tc.scene()
			tc.change(scene)
			got := scene.evaluate().Status
			if want := "pull request #12 was merged, but " + tc.want; got.Decision != v1alpha1.DecisionWaiting || got.Message != want {
				t.Errorf("the gate must wait, and say what is missing and what helps:\n got %s: %s\nwant Waiting: %s", got.Decision, got.Message, want)
			}
			if len(got.Evidence) != 0 || got.DecidedAt != nil || got.PullRequest == nil {
				t.Errorf("a gate that waits has no evidence, and keeps its pull request: %+v", got)
			}
		})
	}
}

// TestNoOtherRuleIsBroken: a table of rules that are broken alone must break no other.
func TestNoOtherRuleIsBroken(t *testing.T) {
	t.Parallel()
	several := map[string]int{"a record for another release": 2} // what is not there has no blob either
	for name, tc := range brokenRules() {
		scene := tc.scene()
		tc.change(scene)
		judged := approval{scene.forge.Approval, scene.forge.Self, scene.gate, scene.policy, scene.source}
		var problems []string
		for _, rule := range mergeRules {
			if problem := rule(judged); problem != "" {
				problems = append(problems, problem)
			}
		}
		if want := max(several[name], 1); len(problems) != want {
			t.Errorf("%s: want %d broken, got %d: %s", name, want, len(problems), strings.Join(problems, "; "))
		}
	}
}
