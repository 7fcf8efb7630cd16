package gate

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// broken is a way in which a whole approval breaks one rule.
type broken struct {
	scene  func() approving
	change func(approving)
	// want is the message, from behind "pull request #12 was merged, but ".
	want string
}

const couldNow = " can approve it now, which still counts, or 'kubectl delete gate web-7f9c-3-1-0 -n shop' asks again"

// brokenRules returns changes that break one rule each, which alone keeps the gate shut.
func brokenRules() map[string]broken {
	const (
		anew  = ": 'kubectl delete gate web-7f9c-3-1-0 -n shop' asks again"
		still = ": dave" + couldNow
		few   = ": too few of the approvers can approve it: 'kubectl delete gate web-7f9c-3-1-0 -n shop' asks again, or " +
			"'sluice approve web -n shop --force --reason=...' overrides the gate's policy"
		one = "1 of 2 approvals is missing"

		another = ": another person must approve" + anew
		force   = ": 'sluice approve web -n shop --force --reason=...' overrides the gate's policy"

		program   = " by renovate[bot], a program, and nobody can tell who has it do that. Sign commits, or name it in trustedPushers"
		overrides = "; for this release" + force
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
		"merged by somebody who is named, and is gone": {
			func() approving { return merged(v1alpha1.PullRequestGate{Approvers: []string{"gone"}}) },
			func(s approving) {
				s.pull.MergedBy = forge.Account{ID: 70, Login: "gone"}
				s.forge.Approval.Approvers = []forge.Account{s.pull.MergedBy}
			},
			"by gone, who is not known to have write access to the repository" + another,
		},
		"merged by nobody known": {func() approving { return merged(v1alpha1.PullRequestGate{}) }, mergedBy(forge.Account{Login: "ghost"}), "it is not known by whom" + anew},

		"a merge of two commits of its own": {mergeAlone, func(s approving) {
			s.forge.Approval.Commits = []forge.Commit{
				{SHA: olderHead, Author: sluice, Committer: webflow}, {SHA: squashed, Author: sluice, Committer: webflow},
				{SHA: headCommit, Author: carol, Committer: webflow, Parents: []string{olderHead, squashed}},
			}
		}, "by carol, who made a commit of the pull request" + another},
		"a merge of commits that are not its own": {mergeAlone, func(s approving) {
			s.forge.Approval.Commits = []forge.Commit{
				{SHA: olderHead, Author: sluice, Committer: webflow},
				{SHA: headCommit, Author: carol, Committer: webflow, Parents: []string{stableCommit, squashed}},
			}
		}, "by carol, who made a commit of the pull request" + another},
		"pushed with commits that it merges": {mergeAlone, func(s approving) {
			s.forge.Approval.Pushes[0] = forge.Push{Before: headCommit, After: mergeCommit, Kind: forge.PushPlain, Actor: carol}
		}, "it came to branch main along with something else, by a push" + anew},
		"other file touched": {mergeAlone, func(s approving) {
			s.forge.Approval.Files = append(s.forge.Approval.Files, forge.ChangedFile{Path: "deploy/web.yaml", Status: forge.FileModified})
		}, "it touches 2 files instead of .sluice/approvals/shop/web.yaml alone" + anew},
		"another file":     {mergeAlone, file(func(f *forge.ChangedFile) { f.Path = ".sluice/approvals/shop/api.yaml" }), "it does something other than write " + recordPath + anew},
		"the file removed": {mergeAlone, file(func(f *forge.ChangedFile) { f.Status = forge.FileRemoved }), "it does something other than write " + recordPath + anew},
		"the file renamed": {mergeAlone, file(func(f *forge.ChangedFile) { f.PreviousPath = "old.yaml" }), "it does something other than write " + recordPath + anew},
		"the file a link":  {mergeAlone, file(func(f *forge.ChangedFile) { f.Status = forge.FileChanged }), "it does something other than write " + recordPath + anew},

		"a record for another release":  {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Release = "api" }), "Git does not show its record on branch main yet"},
		"a record for another revision": {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Revision = "58d4" }), "Git does not show its record on branch main yet: of the one there, it is for revision 58d4"},
		"a record for another commit":   {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Commit = "c0ffee" }), "Git does not show its record on branch main yet: of the one there, it is for commit c0ffee"},
		"a record for another step":     {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Step = 0 }), "Git does not show its record on branch main yet: of the one there, it is for step 1"},
		"a record with another nonce":   {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Nonce = "0" }), "Git does not show its record on branch main yet: of the one there, it is for another gate of this step"},
		"record changed after the review": {
			mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Blob = "another" }),
			"the record on branch main is not the file of the pull request: put that back, or 'kubectl delete gate web-7f9c-3-1-0 -n shop' asks again",
		},
		"a merge that is not on the tracked branch": {
			mergeAlone, func(s approving) { s.forge.Approval.OnTracked = false },
			"the merge is not on branch main as it was read: put it back, or 'kubectl delete gate web-7f9c-3-1-0 -n shop' asks again",
		},
		"a record that came with the release commit": {
			mergeAlone, func(s approving) { s.pull.MergeCommit = releaseCommit }, "the record came with the release commit itself" + anew,
		},
		"a merge that made nothing known": {mergeAlone, func(s approving) { s.pull.MergeCommit = "" }, "it is not known what the merge did to the branch" + anew},

		"merged by one whose name meant somebody else": {mergeAlone, func(s approving) { s.kept("carol", 99) }, "by carol, who is not one of the approvers: " +
			"carol was number 99 when the policy was first met and is number 12 now, which does not count: write carol#12 if that is meant" + another},
		"merged by one who is not listed":        {mergeAlone, mergedBy(mallory), "by mallory, who is not one of the approvers" + another},
		"merged by a login that changed hands":   {mergeAlone, mergedBy(forge.Account{ID: 67, Login: "carol"}), "by carol, who is not one of the approvers" + another},
		"merged by the author of the release":    {mergeAlone, cameBy(brought{author: carol, pusher: ada}), "by carol, who wrote the release" + another},
		"merged by the committer of the release": {mergeAlone, cameBy(brought{author: ada, committer: carol, pusher: ada}), "by carol, who committed the release" + another},
		"merged by a co-author of the release":   {mergeAlone, cameBy(brought{author: ada, coAuthor: carol, pusher: ada}), "by carol, who wrote the release with others" + another},
		"merged by a co-author of a squash":      {mergeAlone, cameBy(brought{author: ada, coAuthor: carol, merged: true, proposal: ada}), "by carol, who wrote the release with others" + another},
		"merged by who pushed the release":       {mergeAlone, cameBy(brought{author: ada, pusher: carol}), "by carol, who pushed the release" + another},
		"merged by who proposed the release":     {mergeAlone, cameBy(brought{author: ada, merged: true, proposal: carol}), "by carol, who opened pull request #3 of the release" + another},
		"merged by who made a commit of the proposal": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: ada, merged: true, proposal: ada})
			s.forge.Approval.Release.Proposals[0].Commits = []forge.Commit{{Author: carol}}
		}, "by carol, who wrote the release" + another},
		"merged by who pushed to the proposal": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: ada, merged: true, proposal: ada})
			s.forge.Approval.Release.Proposals[0].Pushers = []forge.Account{carol}
		}, "by carol, who pushed to pull request #3 of the release" + another},
		"merged by who made an earlier commit of it": {mergeAlone, func(s approving) { s.earlier(carol, ada) }, "by carol, who wrote the release" + another},
		"merged by who pushed an earlier commit":     {mergeAlone, func(s approving) { s.earlier(ada, carol) }, "by carol, who pushed the release" + another},
		"merged by who made a commit that it merged": {mergeAlone, func(s approving) {
			a := s.forge.Approval
			a.Release.Commits[0].Parents = append(a.Release.Commits[0].Parents, olderHead)
			a.Release.Commits = append([]forge.Commit{{SHA: olderHead, Author: carol, Parents: []string{stableCommit}}}, a.Release.Commits...)
			a.Release.Total = 2
		}, "by carol, who wrote the release" + another},
		"merged by who made a commit of the gate's own pull request": {mergeAlone, func(s approving) {
			s.forge.Approval.Commits = append(s.forge.Approval.Commits, forge.Commit{Author: carol})
		}, "by carol, who made a commit of the pull request" + another},
		"merged by one who may only read":        {mergeAlone, func(s approving) { s.forge.Approval.Permissions[0].Write = false }, "by carol, who has no write access to the repository" + another},
		"merged by one of whom it was not asked": {mergeAlone, func(s approving) { s.forge.Approval.Permissions = nil }, "by carol, who is not known to have write access to the repository" + another},
		"merged by a program that is not named":  {func() approving { return merged(v1alpha1.PullRequestGate{}) }, mergedBy(renovate), "by renovate[bot], who is not a person, and not named in approvers" + another},

		"a name in a commit that nobody answers for":          {mergeAlone, cameBy(brought{author: ada, committer: ada}), unattributed},
		"a proposal that somebody else than the forge merged": {mergeAlone, cameBy(brought{author: ada, committer: ada, proposal: ada}), unattributed},
		"a merge of no proposal":                              {mergeAlone, cameBy(brought{author: ada, committer: ada, merged: true}), unattributed},
		"a proposal of nobody known":                          {mergeAlone, cameBy(brought{author: ada, merged: true, proposal: forge.Account{Login: "ghost"}}), unattributed},
		"a push of nobody known":                              {mergeAlone, cameBy(brought{author: ada, pusher: forge.Account{Login: "ghost"}}), unattributed},
		"signed by the forge alone":                           {mergeAlone, cameBy(brought{author: ada, committer: webflow, signed: true}), unattributed},
		"signed for nobody known":                             {mergeAlone, cameBy(brought{author: ada, signed: true}), unattributed},
		"a proposal into another branch": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: ada, merged: true, proposal: ada})
			s.forge.Approval.Release.Proposals[0].PullRequest.Base.Ref = "dev"
		}, unattributed},
		"a push of a program":                    {mergeAlone, cameBy(brought{author: ada, pusher: renovate}), "commit 1e1001e was pushed" + program + overrides},
		"a push of a program that has signed it": {mergeAlone, cameBy(brought{author: ada, committer: renovate, signed: true, pusher: renovate}), "commit 1e1001e was pushed" + program + overrides},
		"a proposal of a program":                {mergeAlone, cameBy(brought{author: ada, merged: true, proposal: renovate}), "pull request #3 was opened" + program + overrides},
		"a proposal to which a program has pushed": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: ada, merged: true, proposal: ada})
			s.forge.Approval.Release.Proposals[0].Pushers = []forge.Account{ada, renovate}
		}, "pull request #3 was pushed to" + program + overrides},
		"a proposal that a program has signed": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: ada, merged: true, proposal: renovate})
			s.forge.Approval.Release.Proposals[0].Commits = []forge.Commit{{SHA: olderHead, Verified: true, Author: renovate, Committer: webflow}}
		}, "pull request #3 was opened" + program + overrides},
		"a push of a program whose name is another's now": {mergeAlone, func(s approving) {
			s.trust(renovate)
			s.kept("renovate[bot]", 99)
			s.broughtBy(brought{author: ada, pusher: renovate})
		}, "commit 1e1001e was pushed" + program + " (renovate[bot] was number 99 when the policy was first met and is number 20 now, " +
			"which does not count: write renovate[bot]#20 if that is meant)" + overrides},
		"a squash that the forge has signed, of who knows whose commits": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: ada, merged: true, proposal: ada, hidden: true})
			proposal := &s.forge.Approval.Release.Proposals[0]
			proposal.PullRequest.Head.RepositoryID = 7
			proposal.Commits = []forge.Commit{{SHA: olderHead, Parents: []string{stableCommit}, Verified: true, Author: ada, Committer: webflow}}
		}, unpushed},
		"a squash in a fork that the forge has signed, of who knows whose commits": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: ada, merged: true, proposal: ada, hidden: true})
			proposal := &s.forge.Approval.Release.Proposals[0]
			proposal.PullRequest.Head.RepositoryID = 8
			proposal.Commits = []forge.Commit{{SHA: olderHead, Parents: []string{stableCommit}, Verified: true, Author: ada, Committer: webflow}}
		}, unpushed},
		"a tracked branch that moved too often": {mergeAlone, func(s approving) { s.forge.Approval.PushesCut = true },
			"branch main moved so often since 57ab1e5 that the forge does not list everybody who pushed to it" + force},
		"a proposal to which nobody knows who pushed": {mergeAlone, cameBy(brought{author: ada, merged: true, proposal: ada, hidden: true}), unpushed},
		"a proposal to which nobody knows who pushed, signed in part": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: ada, merged: true, proposal: ada, hidden: true})
			s.forge.Approval.Release.Proposals[0].Commits = []forge.Commit{
				{SHA: olderHead, Verified: true, Committer: ada}, {SHA: headCommit, Author: ada, Verified: true},
			}
		}, unpushed},
		"a push that moved nothing": {mergeAlone, func(s approving) {
			s.forge.Approval.Pushes[1].Before = releaseCommit
		}, unattributed},
		"what was merged is not read":          {mergeAlone, func(s approving) { s.forge.Approval.Commits = nil }, "who made its commits is not known"},
		"another commit than the released one": {mergeAlone, func(s approving) { s.forge.Approval.Release.Head = headCommit }, "the released commit is unknown, so nobody can tell who may approve it" + force},
		"no commit that ran before":            {mergeAlone, func(s approving) { s.gate.Spec.StableCommit = "" }, "the commit that ran before is unknown, so nobody can tell who contributed since" + force},
		"another commit before":                {mergeAlone, func(s approving) { s.forge.Approval.Release.Stable = headCommit }, "it is not known who contributed to the release"},
		"too many co-authors": {mergeAlone, func(s approving) {
			s.forge.Approval.Release.Commits[0].CoAuthors = []string{"co@example.com", "one-too-many@example.com"}
			s.forge.Approval.Release.Addresses = map[string]forge.Account{"co@example.com": {}}
		}, "the release has too many co-authors: those of commit " + releaseCommit[:7] + " are" + force},
		"too many co-authors of a proposal": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: ada, merged: true, proposal: ada})
			s.forge.Approval.Release.Proposals[0].Commits = []forge.Commit{{SHA: releaseCommit, Author: ada, CoAuthors: []string{"one-too-many@example.com"}}}
		}, "the release has too many co-authors: those of commit " + releaseCommit[:7] + " are" + force},
		"too many commits": {mergeAlone, func(s approving) { s.forge.Approval.Release.Total = 251 }, "251 commits came since 57ab1e5, and the authors of at most 250 can be checked" + force},
		"no commits": {mergeAlone, func(s approving) {
			s.forge.Approval.Release.Total, s.forge.Approval.Release.Commits = 0, nil
		}, "1e1001e adds no commit to 57ab1e5, so nobody is known to have contributed to the release" + force},

		"a merge that changes more": {mergeAlone, func(s approving) {
			s.forge.Approval.Result.Files = append(s.forge.Approval.Result.Files, forge.ChangedFile{Path: "README"})
		}, "along with something else: commit 3e663e6 changes more than " + recordPath + anew},
		"a merge that changes more than is shown": {mergeAlone, func(s approving) { s.forge.Approval.Result.More = true }, "along with something else: commit 3e663e6 changes more than " + recordPath + anew},
		"a merge that was not read":               {mergeAlone, func(s approving) { s.forge.Approval.Result = forge.Result{} }, "it is not known what the merge changed"},
		"a push that brought more": {mergeAlone, func(s approving) {
			s.forge.Approval.Pushes[0].Kind, s.forge.Approval.Pushes[0].Before = forge.PushPlain, stableCommit
		}, "it came to branch main along with something else, by a push" + anew},
		"a push that went on": {mergeAlone, func(s approving) { s.forge.Approval.Pushes[0].After = tipCommit }, "the forge does not say that it came to branch main alone" + anew},
		"a forge that does not say with what the head was pushed": {mergeAlone, func(s approving) {
			s.broughtBy(brought{committer: ada, signed: true})
			a := s.forge.Approval
			s.pull.MergeCommit, a.Result.Commit.SHA, a.Pushes, a.PushesTold = headCommit, headCommit, nil, false
		}, "the forge does not say that it came to branch main alone" + anew},

		"too few approvals":                {reviewed, func(s approving) { s.forge.Approval.Reviews = s.forge.Approval.Reviews[:1] }, one + still},
		"no approvals":                     {reviewed, func(s approving) { s.forge.Approval.Reviews = nil }, "2 of 2 approvals are missing" + ": carol, dave" + couldNow},
		"two approvals of one":             {reviewed, by(carol), one + still},
		"stale approval at an older head":  {reviewed, review(func(r *forge.Review) { r.CommitID = olderHead }), one + " (dave approved an older head)" + still},
		"an approval of no commit":         {reviewed, func(s approving) { s.pull.Head.SHA = ""; s.forge.Approval.Reviews[0].CommitID = "" }, "2 of 2 approvals are missing (carol approved an older head, dave approved an older head)" + ": carol, dave" + couldNow},
		"dismissed review":                 {reviewed, review(func(r *forge.Review) { r.State = forge.ReviewDismissed }), one + " (dave had the review dismissed)" + still},
		"a later review dismissed":         {reviewed, func(s approving) { s.also(says(200, dave, forge.ReviewDismissed)) }, one + " (dave had the review dismissed)" + still},
		"changes requested after approval": {reviewed, func(s approving) { s.also(says(200, dave, forge.ReviewChangesRequested)) }, one + " (dave asked for changes)" + still},
		"a review of a kind that is new":   {reviewed, review(func(r *forge.Review) { r.State = "ENDORSED" }), one + " (dave did not approve)" + still},
		"reviewer outside users and teams": {reviewed, by(mallory), one + " (mallory is not one of the approvers)" + still},
		"a reviewer who is nobody":         {reviewed, by(forge.Account{Login: "dave"}), one + still},
		"a review of our own":              {reviewed, func(s approving) { s.list(sluice); by(sluice)(s) }, one + " (sluice[bot] opened the pull request)" + still},
		"a review of one who pushed to the pull request": {reviewed, func(s approving) {
			s.forge.Approval.Commits = append(s.forge.Approval.Commits, forge.Commit{SHA: olderHead, Author: dave, Committer: webflow})
		}, one + " (dave made a commit of the pull request)" + few},
		"a review of one who committed to it":    {reviewed, func(s approving) { s.forge.Approval.Commits[0].Committer = dave }, one + " (dave made a commit of the pull request)" + few},
		"commits that were not read":             {reviewed, func(s approving) { s.policy.ForbidSelfApproval, s.forge.Approval.Commits = false, nil }, "who made its commits is not known"},
		"self-approval where forbidden":          {reviewed, cameBy(brought{author: dave, pusher: ada}), one + " (dave wrote the release)" + few},
		"self-approval by the committer":         {reviewed, cameBy(brought{author: ada, committer: dave, pusher: ada}), one + " (dave committed the release)" + few},
		"self-approval by who pushed":            {reviewed, cameBy(brought{author: ada, pusher: dave}), one + " (dave pushed the release)" + few},
		"self-approval by who proposed it":       {reviewed, cameBy(brought{author: ada, merged: true, proposal: dave}), one + " (dave opened pull request #3 of the release)" + few},
		"reviewer who may only read":             {reviewed, func(s approving) { s.forge.Approval.Permissions[1].Write = false }, one + " (dave has no write access to the repository)" + still},
		"reviewer of whom it was not asked":      {reviewed, func(s approving) { s.forge.Approval.Permissions = s.forge.Approval.Permissions[:1] }, one + " (dave is not known to have write access to the repository)" + still},
		"a program in nobody's name":             {reviewed, by(forge.Account{ID: 14, Login: "ci[bot]", Type: forge.TypeBot}), one + " (ci[bot] is not one of the approvers)" + still},
		"an approver whose account is not known": {reviewed, func(s approving) { s.forge.Approval.Approvers = []forge.Account{{Login: "carol"}} }, one + " (carol is not one of the approvers)" + few},
		"one who has left the team":              {reviewed, func(s approving) { s.forge.Approval.Teams[0].Members = nil }, one + " (dave is not one of the approvers)" + few},
	}
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
			if refused, lags := got.Refusal != nil, strings.HasPrefix(tc.want, "Git does not show"); refused == lags {
				t.Errorf("it must be told as refused, unless Git is only late: got %+v", got.Refusal)
			}
			if len(got.Evidence) != 0 || got.DecidedAt != nil || got.PullRequest == nil {
				t.Errorf("a gate that waits has no evidence, and keeps its pull request: %+v", got)
			}
		})
	}
}
