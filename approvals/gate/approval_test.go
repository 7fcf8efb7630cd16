package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/forge"
	"github.com/sluice-dev/sluice/approvals/record"
)

// The accounts of these tests.
var (
	sluice  = forge.Account{ID: 1, Login: "sluice[bot]", Type: forge.TypeBot}
	webflow = forge.Account{ID: 2, Login: "web-flow", Type: forge.TypeUser}
	ada     = forge.Account{ID: 10, Login: "ada", Type: forge.TypeUser}
	bob     = forge.Account{ID: 11, Login: "bob", Type: forge.TypeUser}
	carol   = forge.Account{ID: 12, Login: "carol", Type: forge.TypeUser}
	dave    = forge.Account{ID: 13, Login: "dave", Type: forge.TypeUser}
	mallory = forge.Account{ID: 66, Login: "mallory", Type: forge.TypeUser}
)

const (
	releaseCommit = "1e1001e1001e1001e1001e1001e1001e1001e100"
	headCommit    = "4ead4ead4ead4ead4ead4ead4ead4ead4ead4ead"
	olderHead     = "01d01d01d01d01d01d01d01d01d01d01d01d01d0"
	mergeCommit   = "3e663e663e663e663e663e663e663e663e663e66"
	tipCommit     = "71971971971971971971971971971971971971a0"
	recordBlob    = "b10bb10bb10bb10bb10bb10bb10bb10bb10bb10b"
	recordPath    = ".sluice/approvals/shop/web.yaml"
	pullURL       = "https://forge.test/octo/shop/pull/12"
)

var mergedAt = made.Add(20 * time.Minute)

// approving is a pullRequest gate with all that is known of it.
type approving struct {
	gate   *v1alpha1.Gate
	policy *v1alpha1.PullRequestGate
	source *v1alpha1.ReleaseSource
	forge  *ForgeFacts
	pull   *forge.PullRequest
}

func (s approving) facts() Facts {
	return Facts{Release: blockedOn(s.gate), Source: s.source, Forge: s.forge}
}

func (s approving) evaluate() Decision { return Evaluate(s.gate, s.facts(), made.Add(time.Hour)) }

// merged is a gate with a policy whose pull request was merged by carol, as it should be.
func merged(policy v1alpha1.PullRequestGate) approving {
	g := newGate(v1alpha1.GatePolicy{PullRequest: &policy})
	g.Spec.Commit, g.Spec.Nonce = releaseCommit, "5e1f5e1f5e1f"
	g.Status = v1alpha1.GateStatus{
		Decision: v1alpha1.DecisionWaiting,
		PullRequest: &v1alpha1.PullRequestReference{
			Source: v1alpha1.SourceReference{Namespace: "shop", Name: "main"},
			Branch: record.Branch(g), Number: 12, URL: pullURL, TextDigest: "d19e57",
		},
	}
	onBranch := record.Of(g)
	onBranch.Blob = recordBlob
	source := &v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "main"},
		Spec: v1alpha1.ReleaseSourceSpec{
			Ref:   v1alpha1.GitReference{Branch: "main"},
			Forge: &v1alpha1.Forge{Type: v1alpha1.ForgeGitHub, Owner: "octo", Repo: "shop"},
		},
		Status: v1alpha1.ReleaseSourceStatus{ObservedCommit: tipCommit, Approvals: []v1alpha1.ApprovalRecord{onBranch}},
	}
	known := &ForgeFacts{Self: sluice, OwnPrefix: "sluice/", Approval: &forge.Approval{
		Repository: forge.Repository{ID: 7, FullName: "octo/shop", DefaultBranch: "main"},
		Self:       sluice,
		PullRequest: forge.PullRequest{
			Number: 12, URL: pullURL, State: forge.PullClosed, Author: sluice,
			Base:   forge.Branch{Ref: "main", SHA: releaseCommit, RepositoryID: 7},
			Head:   forge.Branch{Ref: record.Branch(g), SHA: headCommit, RepositoryID: 7},
			Merged: true, MergedAt: mergedAt, MergedBy: carol, MergeCommit: mergeCommit,
		},
		Files:     []forge.ChangedFile{{Path: recordPath, Status: forge.FileAdded, BlobSHA: recordBlob}},
		OnTracked: true,
	}}
	return approving{gate: g, policy: g.Spec.Policy.PullRequest, source: source, forge: known, pull: &known.Approval.PullRequest}
}

// mergeAlone is a gate whose merge is the approval: carol and the team may, but not who is behind the release.
func mergeAlone() approving {
	s := merged(v1alpha1.PullRequestGate{Approvers: []string{"carol"}, Teams: []string{"sre"}, ForbidSelfApproval: true})
	s.forge.Approval.Approvers = []forge.Account{carol}
	s.forge.Approval.Teams = []forge.Team{{Organization: "octo", Slug: "sre", Members: []forge.Account{dave}}}
	s.forge.Approval.Release = originOf(ada, webflow)
	return s
}

// reviewed is a gate that asks for two approvals, of carol or the team, and has carol's and dave's.
func reviewed() approving {
	s := mergeAlone()
	s.policy.MinApprovals = 2
	s.pull.MergedBy = ada // whoever merges: the reviews are the approval
	s.forge.Approval.Commits = []forge.Commit{{SHA: headCommit, Author: sluice, Committer: webflow}}
	s.forge.Approval.Reviews = []forge.Review{
		says(100, carol, forge.ReviewApproved), says(101, dave, forge.ReviewApproved),
	}
	return s
}

func originOf(author, committer forge.Account) forge.ReleaseOrigin {
	return forge.ReleaseOrigin{Commit: forge.Commit{SHA: releaseCommit, Author: author, Committer: committer}}
}

// says is a review of what was merged.
func says(id int64, who forge.Account, state forge.ReviewState) forge.Review {
	return forge.Review{
		ID: id, Reviewer: who, State: state, CommitID: headCommit,
		SubmittedAt: made.Add(time.Duration(id) * time.Second), URL: pullURL + "#pullrequestreview",
	}
}

// also adds reviews.
func (s approving) also(reviews ...forge.Review) {
	s.forge.Approval.Reviews = append(s.forge.Approval.Reviews, reviews...)
}

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

		"a record for another release":  {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Release = "api" }), "its record has not been read from branch main: there is none yet"},
		"a record for another revision": {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Revision = "58d4" }), "its record has not been read from branch main: of the one there, it is for revision 58d4"},
		"a record for another commit":   {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Commit = "c0ffee" }), "its record has not been read from branch main: of the one there, it is for commit c0ffee"},
		"a record for another step":     {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Step = 0 }), "its record has not been read from branch main: of the one there, it is for step 1"},
		"a record with another nonce":   {mergeAlone, onBranch(func(r *v1alpha1.ApprovalRecord) { r.Nonce = "0" }), "its record has not been read from branch main: of the one there, it is for another gate of this step"},
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

func TestAPullRequestThatIsNotMerged(t *testing.T) {
	t.Parallel()
	closedAt := made.Add(5 * time.Minute)
	closing := v1alpha1.Evidence{
		Kind: EvidencePullRequestClosed, ID: 12, SHA: headCommit, URL: pullURL, Time: new(metav1.NewTime(closedAt)),
	}
	open := func(s approving) {
		s.pull.Merged, s.pull.MergedAt, s.pull.MergedBy, s.pull.MergeCommit = false, time.Time{}, forge.Account{}, ""
		s.pull.State = forge.PullOpen
	}
	closed := func(s approving) {
		open(s)
		s.pull.State, s.pull.ClosedAt = forge.PullClosed, closedAt
	}
	rejectedBefore := new(metav1.NewTime(made.Add(6 * time.Minute)))
	tests := map[string]struct {
		change func(approving)
		want   v1alpha1.GateStatus
	}{
		"it is open": {open, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting, Message: "waits for pull request #12 to be merged: " + pullURL,
		}},
		"it is closed": {closed, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionRejected, Message: "pull request #12 was closed without being merged: open it again to go on",
			Evidence: []v1alpha1.Evidence{closing}, DecidedAt: new(metav1.NewTime(made.Add(time.Hour))),
		}},
		"it is still closed": {func(s approving) {
			closed(s)
			s.gate.Status.Decision, s.gate.Status.DecidedAt = v1alpha1.DecisionRejected, rejectedBefore
		}, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionRejected, Message: "pull request #12 was closed without being merged: open it again to go on",
			Evidence: []v1alpha1.Evidence{closing}, DecidedAt: rejectedBefore,
		}},
		"it is open again": {func(s approving) {
			open(s)
			s.gate.Status.Decision, s.gate.Status.DecidedAt = v1alpha1.DecisionRejected, rejectedBefore
			s.gate.Status.Evidence = []v1alpha1.Evidence{closing}
		}, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting, Message: "waits for pull request #12 to be merged: " + pullURL,
		}},
		"it is another": {func(s approving) { s.pull.Number = 13 }, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting, Message: "waits for its pull request to be opened",
		}},
		"there is none": {func(s approving) { s.forge.Approval = nil }, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting, Message: "waits for its pull request to be opened",
		}},
		"it was opened from another source": {func(s approving) { s.source.Name = "fork" }, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting,
			Message: "can't pass: pull request #12 is on the forge of ReleaseSource shop/main, but the release comes from shop/fork now: " +
				"delete this Gate to ask anew",
		}},
		"the forge could not be asked": {func(s approving) { s.forge = nil }, v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting}},
		"the release has no source": {func(s approving) { s.source = nil }, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting,
			Message:  "can't pass: the release comes from no ReleaseSource, on whose branch it could be approved",
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene := mergeAlone()
			tc.change(scene)
			facts := scene.facts()
			switch name { // facts hold pointers of the scene, not the scene
			case "the forge could not be asked":
				facts.Forge = nil
			case "the release has no source":
				facts.Source = nil
			}
			tc.want.PullRequest = scene.gate.Status.PullRequest
			got := Evaluate(scene.gate, facts, made.Add(time.Hour))
			if diff := cmp.Diff(Decision{Status: tc.want}, got); diff != "" {
				t.Errorf("Evaluate(...): -want +got:\n%s", diff)
			}
			scene.gate.Status = got.Status
			again := Evaluate(scene.gate, facts, made.Add(2*time.Hour))
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("a later look at the same must say the same: -first +later:\n%s", diff)
			}
		})
	}
}
