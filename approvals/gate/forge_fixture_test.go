package gate

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
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
	stableCommit  = "57ab1e57ab1e57ab1e57ab1e57ab1e57ab1e57ab"
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

// merged returns a gate with a policy whose pull request was merged by carol, as it should be.
func merged(policy v1alpha1.PullRequestGate) approving {
	g := newGate(v1alpha1.GatePolicy{PullRequest: &policy})
	g.Spec.Commit, g.Spec.StableCommit, g.Spec.Nonce = releaseCommit, stableCommit, "5e1f5e1f5e1f"
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
		Result: forge.Result{
			Commit: forge.Commit{SHA: mergeCommit, Parents: []string{releaseCommit, headCommit}},
			Files:  []forge.ChangedFile{{Path: recordPath, Status: forge.FileAdded, BlobSHA: recordBlob}},
		},
		PushesTold:  true,
		Pushes:      []forge.Push{{Before: releaseCommit, After: mergeCommit, Kind: forge.PushMerge, Actor: carol}},
		Commits:     []forge.Commit{{SHA: headCommit, Author: sluice, Committer: webflow}},
		Permissions: []forge.Permission{{Account: carol, Write: true}, {Account: dave, Write: true}},
	}}
	return approving{gate: g, policy: g.Spec.Policy.PullRequest, source: source, forge: known, pull: &known.Approval.PullRequest}
}

// mergeAlone returns a gate whose merge is the approval: carol and the team may, but not who
// contributed to the release.
func mergeAlone() approving {
	s := merged(v1alpha1.PullRequestGate{Approvers: []string{"carol"}, Teams: []string{"sre"}, ForbidSelfApproval: true})
	s.forge.Approval.Approvers = []forge.Account{carol}
	s.forge.Approval.Teams = []forge.Team{{Organization: "octo", Slug: "sre", Members: []forge.Account{dave}}}
	s.broughtBy(brought{author: ada, committer: webflow, pusher: ada})
	return s
}

// reviewed returns a gate that asks for two approvals, of carol or the team, and has carol's and
// dave's.
func reviewed() approving {
	s := mergeAlone()
	s.policy.MinApprovals = 2
	s.pull.MergedBy = ada // whoever merges: the reviews are the approval
	s.forge.Approval.Reviews = []forge.Review{
		says(100, carol, forge.ReviewApproved), says(101, dave, forge.ReviewApproved),
	}
	return s
}

// brought is the origin of a release of one commit: a push, or a pull request.
type brought struct {
	author, committer, coAuthor forge.Account
	signed                      bool
	// pusher is the account that pushed it; empty if the forge merged it, or does not know.
	pusher forge.Account
	merged bool
	// proposal is the author of its pull request; empty if there is none.
	proposal forge.Account
	// hidden: the forge does not tell of all who pushed to its branch.
	hidden bool
}

// broughtBy has the release come that way.
func (s approving) broughtBy(b brought) {
	commit := forge.Commit{
		SHA: releaseCommit, Author: b.author, Committer: b.committer, Verified: b.signed, Parents: []string{stableCommit},
		CoAuthors: []string{"Co@example.com"},
	}
	a := s.forge.Approval
	a.Release = forge.ReleaseOrigin{
		Stable: stableCommit, Head: releaseCommit, Total: 1, Commits: []forge.Commit{commit},
		Changes: []forge.Change{{SHA: releaseCommit}}, Addresses: map[string]forge.Account{"co@example.com": b.coAuthor},
	}
	a.Pushes = a.Pushes[:1:1]
	push := forge.Push{Before: stableCommit, After: releaseCommit, Kind: forge.PushPlain, Actor: b.pusher}
	if b.merged {
		push.Kind, push.Actor = forge.PushMerge, mallory
	}
	if b.merged || b.pusher.Login != "" {
		a.Pushes = append(a.Pushes, push)
	}
	if b.proposal.Login != "" {
		a.Release.Changes[0].PullRequests = []int{3}
		a.Release.Proposals = []forge.Proposal{{PullRequest: forge.PullRequest{
			Number: 3, Merged: true, Author: b.proposal, Base: forge.Branch{Ref: "main", RepositoryID: 7}, MergeCommit: releaseCommit,
		}, PushersTold: !b.hidden}}
	}
}

// says returns a review of what was merged.
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
